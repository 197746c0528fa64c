"""A sound folder of a small transformers model for `benchmarks.fuzz`, and what reads it."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

from bangbang.hf.check import check
from bangbang.hf.loading import quiet
from benchmarks.caption_ground import Target
from benchmarks.mutations import absurd_json, damaged

SIZES = {"d_model": 4, "vocab_size": 262, "max_position_embeddings": 16}
SIZES |= {f"{side}_{part}": 1 for side in ("encoder", "decoder") for part in ("layers", "attention_heads", "ffn_dim")}
SPECIALS = ["<pad>", "<s>", "</s>", "<unk>"]


class ModelGround:
    """The folder, as `save_pretrained` writes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        torch.manual_seed(0)
        with quiet():
            ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
            BartForConditionalGeneration(BartConfig(**SIZES, **ids)).save_pretrained(folder)
            tokenizer().save_pretrained(folder)

    def targets(self) -> dict[str, Target]:
        files = ("config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json")
        found: dict[str, Target] = {
            f"model {name.removesuffix('.json')}": (self.folder / name, (damaged, absurd_json), self.read)
            for name in files
        }
        return {**found, "model weights": (self.folder / "model.safetensors", (damaged,), self.read)}

    def read(self) -> None:
        check(str(self.folder))


def tokenizer() -> PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({token: index for index, token in enumerate([*SPECIALS, *alphabet])}, []))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    made.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    made.add_special_tokens(SPECIALS)
    names = dict(zip(("pad_token", "bos_token", "eos_token", "unk_token"), SPECIALS, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=made, **names)
