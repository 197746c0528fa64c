"""A foreign vocabulary in our ids: a tokenizer and a borrowed output layer translate alike."""

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from bangbang.data.given import GivenVocabulary
from bangbang.errors import InputError
from bangbang.heads import Alphabet, BorrowedHead
from bangbang.symbols import BOS, EOS, PAD, UNK
from bangbang.translation import NONE, Translation
from tests.tokenizer_files import MAKERS, TEXTS, byte_level, written


def test_the_tables_of_a_small_vocabulary() -> None:
    table = Translation(5, ends=[3, 1], unknown=0)
    assert table.ours == [UNK, EOS, 6, EOS, 8]
    assert table.theirs == [NONE, NONE, 3, 0, NONE, NONE, 6 - 4, NONE, 8 - 4]
    assert table.size == 9


def test_an_unknown_token_that_is_an_end_stays_an_end() -> None:
    table = Translation(3, ends=[2], unknown=2)
    assert table.ours == [4, 5, EOS] and table.theirs == [NONE, NONE, 2, NONE, 0, 1, NONE]


@pytest.mark.parametrize(("ends", "unknown", "message"), [([], None, "needs an end"), ([3], None, "end token 3"),
                                                          ([0], -1, "unknown token -1")])  # fmt: skip
def test_what_is_no_translation(ends: list[int], unknown: int | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Translation(3, ends, unknown)


@st.composite
def vocabularies(draw: st.DrawFn) -> tuple[int, list[int], int | None]:
    size = draw(st.integers(1, 9))
    token = st.integers(0, size - 1)
    return size, draw(st.lists(token, min_size=1, max_size=3, unique=True)), draw(st.none() | token)


@given(vocabularies())
def test_there_and_back(facts: tuple[int, list[int], int | None]) -> None:
    """All our ids that have a counterpart come back; theirs do too, but for ends that are only read."""
    table = Translation(*facts)
    assert all(table.ours[theirs] == own for own, theirs in enumerate(table.theirs) if theirs != NONE)
    back = [table.theirs[own] for own in table.ours]
    assert all(token in (index, table.ends[0]) for index, token in enumerate(back))
    assert table.theirs[PAD] == table.theirs[BOS] == NONE and table.theirs[EOS] == table.ends[0]


@given(vocabularies())
def test_an_output_layer_translates_by_the_same_table(facts: tuple[int, list[int], int | None]) -> None:
    alphabet, table = Alphabet(*facts), Translation(*facts)
    assert alphabet.to_ours(torch.arange(facts[0])).tolist() == table.ours
    assert alphabet.to_theirs(torch.arange(table.size)).tolist() == table.theirs and alphabet.size == table.size


@pytest.mark.parametrize("name", MAKERS)
def test_what_a_borrowed_layer_samples_the_vocabulary_decodes(name: str, tmp_path: Path) -> None:
    vocabulary = GivenVocabulary.of_file(written(tmp_path / "tokenizer.json", MAKERS[name]()))
    table = vocabulary.translation
    torch.manual_seed(0)
    linear = nn.Linear(2, table.foreign_size)
    head = BorrowedHead(linear, table.ends, table.unknown, forbidden=vocabulary.specials)
    assert head.size == len(vocabulary)
    drawn = head.sample(torch.randn(9_000, 2) / 4, torch.rand(9_000)).unique().tolist()
    assert len(drawn) > 0.8 * table.foreign_size and EOS in drawn
    texts = vocabulary.texts()
    for token in drawn:
        assert token in (EOS, UNK) or texts[token]
        assert vocabulary.token(token)
        vocabulary.decode([token])


def test_a_text_goes_through_the_layers_ids_and_comes_back(tmp_path: Path) -> None:
    tokenizer = byte_level(("<pad>", "</s>", "<|im_end|>"))
    vocabulary = GivenVocabulary.of_file(written(tmp_path / "tokenizer.json", tokenizer), ["<|im_end|>", "</s>"])
    head = BorrowedHead(nn.Linear(2, tokenizer.get_vocab_size()), vocabulary.translation.ends)
    for text in TEXTS:
        ids = torch.tensor([*vocabulary.encode(text), EOS])
        theirs = head.to_layer(ids)
        assert theirs.tolist() == [*tokenizer.encode(text, add_special_tokens=False).ids, 2]
        assert vocabulary.decode(head.from_layer(theirs).tolist()) == text
    assert head.from_layer(torch.tensor([1, 2])).tolist() == [EOS, EOS]
