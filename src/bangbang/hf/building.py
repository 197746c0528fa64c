"""The [model] table's `hf` kind, built: a pretrained model, or a family's architecture made anew; perhaps with LoRA."""

import difflib
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, GenerationConfig, PreTrainedConfig, PreTrainedModel

from bangbang.contracts import InputSizes
from bangbang.errors import InputError
from bangbang.hf.loading import check_ids, check_sizes, load_config, load_model, load_tokenizer, model_of, quiet, told
from bangbang.hf.policy import FRAME, Policy
from bangbang.hf.tokens import Frame, Tokens
from bangbang.symbols import BOS, EOS, PAD

# how attention is computed: a setting of every family, which transformers keeps in no config.json, so that ours has it
ATTENTION, KEPT_ATTENTION = "attn_implementation", "attention"
ATTENTIONS = ("eager", "sdpa")  # the others are packages, or code of the hub


def pretrained(name: str, lora: Mapping[str, Any], separator: str, sizes: InputSizes) -> Policy:
    """A model of a folder or the hub, whose tokenizer is the vocabulary."""
    if sizes.translation is None:
        raise InputError(
            f'model.name = {name!r}: the vocabulary must be the model\'s own; set vocabulary.kind = "tokenizer" and '
            "vocabulary.file to its tokenizer.json"
        )
    model = model_of(load_config(name), name) if is_outline() else load_model(name)
    frame = Frame.of(model, load_tokenizer(name), separator)
    return Policy(adapted(model, lora), tokens=tokens_of(model, frame, sizes))


def untrained(table: Mapping[str, Any], lora: Mapping[str, Any], sizes: InputSizes) -> Policy:
    """A family's architecture with the weights that it is initialised with, for the corpus's vocabulary."""
    model = model_of(config_of(table, sizes), "model.from_scratch")
    return Policy(adapted(model, lora), tokens=tokens_of(model, None, sizes))


def kept(folder: Path, lora: Mapping[str, Any], sizes: InputSizes) -> Policy:
    """What a run has kept of its model; all weights are in its checkpoints."""
    config = load_config(str(folder), weights=False)
    if getattr(config, KEPT_ATTENTION, None) in ATTENTIONS:
        config._attn_implementation = config.attention
    model = model_of(config, str(folder))
    model.generation_config = told(str(folder), lambda: GenerationConfig.from_pretrained(folder))
    check_ids(str(folder), model.generation_config)
    return Policy(adapted(model, lora), tokens=tokens_of(model, Frame.read(folder / FRAME), sizes))


def tokens_of(model: PreTrainedModel, frame: Frame | None, sizes: InputSizes) -> Tokens:
    with torch.device("cpu"):
        if sizes.translation is None:
            return Tokens.own(model, sizes.vocabulary)
        return Tokens.given(model, sizes.translation, sizes.specials, frame or Frame.of(model))


def is_outline() -> bool:
    """Whether names and shapes alone are asked for."""
    return torch.empty(0).device.type == "meta"


def config_of(table: Mapping[str, Any], sizes: InputSizes) -> PreTrainedConfig:
    """The config of [model.from_scratch]: a `family` and settings of its own."""
    given = dict(table)
    family = given.pop("family")
    attention = given.get(ATTENTION)
    if attention not in (None, *ATTENTIONS):
        raise InputError(f"model.from_scratch: {ATTENTION} = {attention!r} is none of {', '.join(ATTENTIONS)}")
    with quiet():
        known = told(f"model.from_scratch: family = {family!r}", lambda: AutoConfig.for_model(family))
        for key in given:
            if key != ATTENTION and not hasattr(known, key):
                near = difflib.get_close_matches(key, [*known.to_dict(), *known.attribute_map], n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise InputError(f"model.from_scratch: {family} has no setting {key!r}{hint}")
        if sizes.translation is None:
            ids = {"vocab_size": sizes.vocabulary, "pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS}
        else:
            end = sizes.translation.ends[0]
            ids = {"vocab_size": sizes.translation.foreign_size} | dict.fromkeys(
                ("pad_token_id", "bos_token_id", "eos_token_id"), end
            )
        if known.is_encoder_decoder:
            ids["decoder_start_token_id"] = ids["bos_token_id"]
        config = told("model.from_scratch", lambda: AutoConfig.for_model(family, **{**ids, **given}))
    if attention is not None:
        setattr(config, KEPT_ATTENTION, attention)
    check_sizes("model.from_scratch", config.to_dict())
    return config


def adapted(model: PreTrainedModel, lora: Mapping[str, Any]) -> Any:
    """The model with low-rank adapters, which alone are trained; as it is without settings for them."""
    if not lora:
        return model
    from peft import LoraConfig, get_peft_model

    known = list(inspect.signature(LoraConfig).parameters)
    for key in lora:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            raise InputError(f"model.lora: peft knows no {key!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    return told("model.lora", lambda: get_peft_model(model, LoraConfig(**lora)))
