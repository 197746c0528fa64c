"""Sound files of foreign tokenizers for `benchmarks.fuzz`, and what reads them."""

import base64
import json
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from bangbang.contracts import Vocabulary
from bangbang.data import load_vocabulary
from bangbang.data.given import GivenVocabulary
from bangbang.data.tokenizer_rules import PATTERNS
from bangbang.symbols import UNK
from benchmarks.caption_ground import Target
from benchmarks.mutations import absurd_json, damaged

TEXTS = ["", "abc ab  ä \U0001f9ab", "</s>ab<unk>", "a'b 12\n\n c" * 20]


class TokenizerGround:
    """A folder with a `tokenizer.json` of few tokens and many rules, and a copy as run folders have it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.file, self.copy = folder / "tokenizer.json", folder / "vocabulary.json"
        self.file.write_text(byte_level().to_str())
        (folder / "unigram.json").write_text(unigram())
        GivenVocabulary.of_file(folder / "unigram.json").save(self.copy)

    def targets(self) -> dict[str, Target]:
        return {
            "tokenizer": (self.file, (damaged, absurd_json), lambda: use(GivenVocabulary.of_file(self.file))),
            "copy": (self.copy, (damaged, absurd_json), lambda: use(load_vocabulary(self.copy))),
        }


def use(vocabulary: Vocabulary) -> None:
    """All that is done with a vocabulary."""
    assert len(vocabulary.texts()) == len(vocabulary)
    for ids in vocabulary.encode_batch(TEXTS):
        assert all(UNK <= index < len(vocabulary) for index in ids)
        vocabulary.decode(ids)
    assert vocabulary.joint in ("", " ") and vocabulary.fingerprint


def byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2, "Ġ": 3}, [("a", "b")]))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace("x", "a")])
    split = pre_tokenizers.Split(Regex(next(iter(PATTERNS))), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["</s>", "<pad>"])
    tokenizer.enable_truncation(2)
    return tokenizer


def unigram() -> str:
    """With SentencePiece's table of replacements: a trie that finds nothing, and one text."""
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0), ("▁", -1.0), ("a", -2.0), ("ab", -2.5)], 0, False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens(["<unk>", "</s>"])
    trie = bytes(4 * 256)
    table = json.loads(tokenizer.to_str())
    charsmap = base64.b64encode(len(trie).to_bytes(4, "little") + trie + b"a\0").decode()
    table["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": charsmap}
    return json.dumps(table)
