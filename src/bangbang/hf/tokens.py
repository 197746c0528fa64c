"""What the token ids of a transformers model mean: ends, what is never generated, prefix and template."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from transformers import PreTrainedModel

from bangbang.data.hush import hushed
from bangbang.errors import InputError
from bangbang.files import read_json, write_whole
from bangbang.heads import Alphabet
from bangbang.hf.capture import output_layer
from bangbang.hf.inputs import Template
from bangbang.hf.loading import told
from bangbang.symbols import BOS, EOS, PAD
from bangbang.translation import NONE, Translation


class Tokens(NamedTuple):
    alphabet: Alphabet
    rows: int
    """Rows of the output layer: some models have more than there are tokens."""
    filler: int
    """What stands in for a token that is not to be read."""
    ends: tuple[int, ...] = ()
    """Their tokens that end a text; the first is the one that is written."""
    prefix: tuple[int, ...] = ()
    """What a decoder reads before its first token, in their ids; empty leaves it to the model."""
    template: Template = Template()
    """How texts become inputs."""

    @classmethod
    def of(cls, model: PreTrainedModel, tokenizer: Any = None, separator: str = "") -> "Tokens":
        """As the model's configs and its tokenizer say; `separator` is put behind a text that the model goes on with.

        A tokenizer's specials, and ids that it does not have, are never generated.
        """
        rows = rows_of(model)
        size = rows if tokenizer is None else min(rows, len(tokenizer))
        unknown = None if tokenizer is None else tokenizer.unk_token_id
        specials = () if tokenizer is None else tokenizer.all_special_ids
        ends, frame = ends_of(model, tokenizer), Frame.of(model, tokenizer, separator)
        return cls._known(model, size, ends, unknown, specials, frame)

    @classmethod
    def given(
        cls, model: PreTrainedModel, translation: Translation, specials: Sequence[int], frame: "Frame"
    ) -> "Tokens":
        """As a vocabulary says that was made of the model's `tokenizer.json`."""
        rows = rows_of(model)
        if translation.foreign_size > rows:
            raise InputError(
                f"the vocabulary has {translation.foreign_size} tokens, the model {rows}: vocabulary.file must be the "
                "model's own tokenizer.json"
            )
        ends, unknown = translation.ends, translation.unknown
        return cls._known(model, translation.foreign_size, ends, unknown, specials, frame)

    @classmethod
    def own(cls, model: PreTrainedModel, size: int) -> "Tokens":
        """Of a model that was made for a vocabulary of ours: its ids are ours.

        An encoder reads a text with `</s>` behind it. A model without one goes on after `<s>`.
        """
        coder = model.config.is_encoder_decoder
        return cls(Alphabet.same(size), size, PAD, (EOS,), (), Template((), (EOS,) if coder else (BOS,), not coder))

    @classmethod
    def _known(
        cls,
        model: PreTrainedModel,
        size: int,
        ends: Sequence[int],
        unknown: int | None,
        specials: Iterable[int],
        frame: "Frame",
    ) -> "Tokens":
        config = model.generation_config
        never = {*specials, *(config.suppress_tokens or [])}
        never |= {config.pad_token_id, config.bos_token_id, config.decoder_start_token_id} - {None}
        forbidden = [each for each in sorted(never) if 0 <= each < size and each not in (*ends, unknown)]
        alphabet = Alphabet(size, ends, unknown, forbidden, rows_of(model))
        filler = config.pad_token_id if config.pad_token_id is not None else ends[0]
        template = Template(frame.before, frame.after, not model.config.is_encoder_decoder)
        return cls(alphabet, rows_of(model), filler, tuple(ends), frame.prefix, template)

    def ordinary(self, count: int) -> list[int]:
        """So many of their tokens that may be generated."""
        theirs = self.alphabet.tables.theirs[len((PAD, BOS, EOS)) + 1 :]
        found: list[int] = theirs[theirs != NONE][:count].tolist()
        return (found * count)[:count]


class Frame(NamedTuple):
    """What a model's tokenizer knows that its vocabulary does not, in its own ids."""

    before: tuple[int, ...] = ()
    """Tokens before a text that is read."""
    after: tuple[int, ...] = ()
    """Tokens behind it."""
    prefix: tuple[int, ...] = ()
    """What a decoder is made to read first."""

    @classmethod
    def of(cls, model: PreTrainedModel, tokenizer: Any = None, separator: str = "") -> "Frame":
        """Without a tokenizer, an encoder's end alone; `separator` is behind a text that the model goes on with."""
        if not model.config.is_encoder_decoder:
            if tokenizer is None:
                return cls()
            before, _ = around(tokenizer)
            return cls(before, tuple(cut(tokenizer, separator, add_special_tokens=False)))
        prefix = prefix_of(model.generation_config, tokenizer)
        if tokenizer is None:
            return cls((), tuple(ends_of(model, None)[:1]), prefix)
        return cls(*around(tokenizer), prefix)

    @classmethod
    def read(cls, path: Path) -> "Frame":
        """What `write` has written."""
        table = read_json(path)
        known = set(table) == set(cls._fields) and all(isinstance(each, list) for each in table.values())
        if not known or not all(type(token) is int and token >= 0 for each in table.values() for token in each):
            raise InputError(f"{path}: damaged (it must have lists of tokens: {', '.join(cls._fields)})")
        return cls(*(tuple(table[name]) for name in cls._fields))

    def write(self, path: Path) -> None:
        write_whole(path, json.dumps(self._asdict()) + "\n")


def around(tokenizer: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The tokens that a tokenizer puts before and behind a text."""
    plain, whole = cut(tokenizer, "a", add_special_tokens=False), cut(tokenizer, "a")
    places = (at for at in range(len(whole)) if whole[at : at + len(plain)] == plain)
    place = next(places, None)
    if place is None:
        raise InputError(f"{type(tokenizer).__name__}: cuts a text otherwise when it adds special tokens to it")
    return tuple(whole[:place]), tuple(whole[place + len(plain) :])


def cut(tokenizer: Any, text: str, **options: bool) -> list[int]:
    """The ids of a text; where the tokenizer gives up on it, an InputError alone."""
    with hushed():
        return list(told(type(tokenizer).__name__, lambda: tokenizer(text, **options)["input_ids"]))


def rows_of(model: PreTrainedModel) -> int:
    layer = output_layer(model)
    found = getattr(layer, "out_features", None)
    return len(layer.get_parameter("weight")) if found is None else int(found)


def ends_of(model: PreTrainedModel, tokenizer: Any) -> list[int]:
    """Every token that ends a text, the one that is written first."""
    named = model.generation_config.eos_token_id
    ends = named if isinstance(named, list) else [] if named is None else [named]
    own = None if tokenizer is None else tokenizer.eos_token_id
    ends = [*([own] if own is not None and (own in ends or not ends) else []), *ends]
    if not ends:
        raise InputError(f"{type(model).__name__}: has no end token; set eos_token_id of its generation config")
    return list(dict.fromkeys(ends))


def prefix_of(config: Any, tokenizer: Any) -> tuple[int, ...]:
    """The decoder's start and what checkpoints force behind it: BART's `<s>`, a language code, Whisper's task."""
    start = config.decoder_start_token_id if config.decoder_start_token_id is not None else config.bos_token_id
    named = [] if tokenizer is None else list(getattr(tokenizer, "prefix_tokens", None) or [])
    if len(named) > 1 and named[0] == start:
        return tuple(named)
    return () if config.forced_bos_token_id is None else (start, config.forced_bos_token_id)
