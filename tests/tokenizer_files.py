"""Small tokenizers of the kinds that published models have, trained on a few sentences of our own."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

TEXTS = ["the cat sat on the mat", "The dog, the cat: friends!", "a mat and a cat", "naïve café number 2"]


def byte_level(
    specials: Sequence[str] = ("<|endoftext|>",), texts: Sequence[str] = TEXTS, size: int = 300
) -> Tokenizer:
    """Byte-level pieces; by default with one token that begins, ends and pads texts, as GPT-2's."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder, tokenizer.post_processor = decoders.ByteLevel(), processors.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=size, special_tokens=list(specials), initial_alphabet=alphabet, show_progress=False
        ),
    )
    return tokenizer


def byte_fallback() -> Tokenizer:
    """Pieces with blanks as `▁`, and bytes for what has none, as Llama's."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    symbols = ["<unk>", "<s>", "</s>"]
    pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=330, special_tokens=[*symbols, *pieces], show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    table = json.loads(tokenizer.to_str())
    table["added_tokens"] = table["added_tokens"][: len(symbols)]  # bytes are tokens like others
    return Tokenizer.from_str(json.dumps(table))


def unigram() -> Tokenizer:
    """SentencePiece's likeliest pieces, as T5's."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    tokenizer.train_from_iterator(
        TEXTS,
        trainers.UnigramTrainer(
            vocab_size=60, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False
        ),
    )
    return tokenizer


def word_pieces() -> Tokenizer:
    """Words and their continuations, as BERT's."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    symbols = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=70, special_tokens=symbols, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def whole_words() -> Tokenizer:
    """One token a word, and no decoder."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordLevelTrainer(special_tokens=["<unk>", "<eos>"], show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


MAKERS: dict[str, Callable[[], Tokenizer]] = {
    "byte level": byte_level,
    "byte fallback": byte_fallback,
    "unigram": unigram,
    "word pieces": word_pieces,
    "words": whole_words,
}


def written(path: Path, tokenizer: Tokenizer, change: Callable[[dict[str, Any]], object] = lambda table: None) -> Path:
    """The tokenizer's file, with its table changed."""
    table = json.loads(tokenizer.to_str())
    change(table)
    path.write_text(json.dumps(table))
    return path
