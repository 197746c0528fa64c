"""A vocabulary as corpora and runs keep it: `vocabulary.json`, made from their texts or taken from a tokenizer."""

from pathlib import Path

from bangbang.contracts import Vocabulary
from bangbang.data.given import GivenVocabulary
from bangbang.data.tokenizer_json import read_table
from bangbang.data.trained import TrainedVocabulary


def load_vocabulary(path: Path) -> Vocabulary:
    """The vocabulary that `save` has written to a file, checked: whoever made the file, it only cuts texts."""
    table = read_table(path)
    if isinstance(table, dict) and "tokenizer" in table:
        return GivenVocabulary.of_copy(table, path)
    return TrainedVocabulary.of(table, path)
