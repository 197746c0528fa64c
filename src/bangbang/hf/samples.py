"""Inputs made up for a model, of the kind that it reads: enough to find out how it computes."""

import torch
from torch import Tensor
from transformers import PreTrainedModel

from bangbang.errors import InputError
from bangbang.hf.inputs import Inputs
from bangbang.hf.tokens import Tokens


def sample_inputs(model: PreTrainedModel, tokens: Tokens) -> Inputs:
    """Two inputs; texts have three and two tokens."""
    name = model.main_input_name
    if name == "input_ids":
        return sample_texts(tokens)
    shape = shape_of(model, name)
    if shape is None:
        raise InputError(f"{type(model).__name__}: reads {name}, of which no example can be made up here; give one")
    return Inputs({name: waves((2, *shape))})


def sample_texts(tokens: Tokens) -> Inputs:
    some = torch.tensor(tokens.ordinary(5))
    ours = tokens.alphabet.to_ours(some)
    rows = torch.zeros(2, 3, dtype=torch.long)
    rows[0], rows[1, :2] = ours[:3], ours[3:]
    return tokens.template.inputs(rows, torch.tensor([3, 2]), tokens.alphabet, tokens.filler)


def waves(shape: tuple[int, ...]) -> Tensor:
    """Numbers between -1 and 1 that no random generator is asked for."""
    return torch.arange(torch.Size(shape).numel()).mul(0.7).sin().view(shape)


def shape_of(model: PreTrainedModel, name: str) -> tuple[int, ...] | None:
    """Of one input, by what the config says of images or sounds."""
    config = model.config
    part = getattr(config, "vision_config", None) or getattr(config, "encoder", None) or config
    if name == "pixel_values" and getattr(part, "image_size", None):
        size = part.image_size
        height, width = (size, size) if isinstance(size, int) else size
        return int(getattr(part, "num_channels", 3)), int(height), int(width)
    if name == "input_features" and hasattr(config, "input_feat_per_channel"):
        return 32, int(config.input_feat_per_channel)
    if name == "input_features" and hasattr(config, "num_mel_bins"):
        return int(config.num_mel_bins), 2 * int(config.max_source_positions)
    if name == "input_values":
        return (4000,)
    if name == "flattened_patches":
        return 4, 2 + int(part.patch_embed_hidden_size)
    return None
