"""A run of a small model from scratch, and a folder with a model and its tokenizer, as transformers saves them."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from bangbang.cli.main import main
from bangbang.hf.loading import quiet
from tests.conftest import sentence, write_corpus
from tests.hf.families import BART

CONFIG = """
[data]
corpus = "{corpus}"
cache = "{corpus}/cache"
max_source_length = 40
max_target_length = 16

[vocabulary]
kind = "bpe"
size = 300
lowercase = false

[model]
kind = "hf"

[model.from_scratch]
family = "bart"
d_model = 16
encoder_layers = 1
decoder_layers = 1
encoder_attention_heads = 2
decoder_attention_heads = 2
encoder_ffn_dim = 16
decoder_ffn_dim = 16
max_position_embeddings = 64

[optimizer]
kind = "adamw"
learning_rate = 0.01

[training]
batch_size = 8
max_steps = 6
validate_every = 3
validation_examples = 4
metric = "rouge-l"

[[stages]]
steps = 3
objective = {{kind = "mle"}}

[[stages]]
steps = 3
objective = {{kind = "bbspg"}}
"""


@pytest.fixture(scope="session")
def hf_config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small encoder-decoder from scratch, in two stages of three steps."""
    corpus = write_corpus(tmp_path_factory.mktemp("hf"), {"train": 40, "valid": 4, "test": 4})
    path = corpus / "config.toml"
    path.write_text(CONFIG.format(corpus=corpus))
    return path


@pytest.fixture(scope="session")
def hf_run(hf_config: Path) -> Path:
    folder = hf_config.parent / "run"
    assert main(["train", str(hf_config), "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="session")
def hf_tokenizer() -> Any:
    """A byte-level tokenizer like BART's: `<s>` before a text and `</s>` behind it."""
    specials = ["<pad>", "<s>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=specials, initial_alphabet=alphabet)
    tokenizer.train_from_iterator([text for number in range(30) for text in sentence(number)], trainer)
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    names = dict(zip(("pad_token", "bos_token", "eos_token", "unk_token", "mask_token"), specials, strict=True))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


@pytest.fixture(scope="session")
def hf_folder(tmp_path_factory: pytest.TempPathFactory, hf_tokenizer: Any) -> Path:
    """A "pretrained" BART with more rows than its tokenizer has tokens, which begins with a forced `<s>`."""
    folder = tmp_path_factory.mktemp("models") / "bart"
    torch.manual_seed(0)
    sizes = {**BART, "vocab_size": 328, "max_position_embeddings": 64, "decoder_start_token_id": 2}
    with quiet():
        model = transformers.BartForConditionalGeneration(transformers.BartConfig(**sizes))
        model.generation_config.forced_bos_token_id, model.generation_config.num_beams = 1, 4
        model.save_pretrained(folder)
        hf_tokenizer.save_pretrained(folder)
    return folder
