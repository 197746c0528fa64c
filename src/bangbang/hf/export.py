"""A trained model as a folder that transformers opens by itself: weights, tokenizer, decoding, a model card."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from tokenizers import Tokenizer, processors
from transformers import PreTrainedModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from bangbang.decoding.settings import DecodingSettings
from bangbang.errors import InputError
from bangbang.files import whole_folder, write_whole
from bangbang.folders import named
from bangbang.hf.loading import quiet
from bangbang.hf.policy import Policy
from bangbang.symbols import SYMBOLS

CARD = "README.md"
# what a pretrained model may have been decoded with, and what was trained here was not
LEFT_OUT = (
    "max_length",
    "min_length",
    "min_new_tokens",
    "no_repeat_ngram_size",
    "encoder_no_repeat_ngram_size",
    "repetition_penalty",
    "forced_eos_token_id",
    "early_stopping",
    "length_penalty",
    "temperature",
    "top_k",
    "top_p",
)


def check_free(folder: Path) -> Path:
    """The place that is meant; an InputError if something is there."""
    place = named(folder)
    if place.exists() or place.is_symlink():
        raise InputError(f"{folder}: is there already; choose another folder, or remove it")
    return place


def export(policy: Policy, tokenizer: PreTrainedTokenizerBase, card: str, folder: Path) -> None:
    """Write the folder, whole or not at all. Adapters are merged into the weights they belong to."""
    place = check_free(folder)
    model = merged(policy)
    try:
        with whole_folder(place) as draft, quiet():
            model.save_pretrained(draft)
            tokenizer.save_pretrained(draft)
            write_whole(draft / CARD, card)
    except Exception as error:
        # a full disk is an error of their own for safetensors, and a bare Exception for tokenizers
        if not isinstance(error, OSError | SafetensorError) and type(error) is not Exception:
            raise
        raise InputError(f"{folder}: cannot be written ({getattr(error, 'strerror', None) or error})") from None


def merged(policy: Policy) -> PreTrainedModel:
    """The transformers model alone."""
    whole: Any = policy.model
    return whole.merge_and_unload() if hasattr(whole, "merge_and_unload") else whole


def set_decoding(policy: Policy, decoding: DecodingSettings, max_length: int) -> None:
    """What `generate` does by default: greedy search or the run's beam, as long as targets may be, and no more."""
    config, tokens = policy.inner.generation_config, policy.tokens
    for name in LEFT_OUT:
        setattr(config, name, None)
    config.eos_token_id = list(tokens.ends) if len(tokens.ends) > 1 else tokens.ends[0]
    config.pad_token_id = tokens.filler
    config.max_new_tokens, config.do_sample = max_length, False
    beam = decoding.method == "beam"
    config.num_beams = decoding.beam_size if beam else 1
    if beam:
        config.early_stopping, config.length_penalty = True, decoding.length_penalty


def tokenizer_of(content: str, policy: Policy, max_length: int) -> PreTrainedTokenizerBase:
    """The tokenizer of a vocabulary file of ours, which puts around a text what the model was trained to read."""
    table: dict[str, Any] = json.loads(content)
    tokenizer = Tokenizer.from_str(json.dumps(table.get("tokenizer", table)))
    template = policy.template
    around = [*(name_of(tokenizer, token) for token in template.before), "$A"]
    around += [name_of(tokenizer, token) for token in template.after]
    special = [(name_of(tokenizer, token), token) for token in {*template.before, *template.after}]
    tokenizer.post_processor = processors.TemplateProcessing(" ".join(around), special_tokens=special)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        **special_names(table, name_of(tokenizer, policy.tokens.filler)),
        padding_side="left" if template.left else "right",
        model_max_length=max_length + len(template.before) + len(template.after),
        clean_up_tokenization_spaces=False,
    )


def name_of(tokenizer: Tokenizer, token: int) -> str:
    return str(tokenizer.id_to_token(token))


def special_names(table: Mapping[str, Any], filler: str) -> dict[str, str]:
    """The tokens that transformers knows by a role."""
    if "tokenizer" not in table:
        return dict(zip(("pad_token", "bos_token", "eos_token", "unk_token"), SYMBOLS, strict=True))
    unknown = {} if table["unknown"] is None else {"unk_token": table["unknown"]}
    return {"pad_token": filler, "eos_token": table["ends"][0], **unknown}
