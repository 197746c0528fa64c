"""What the token ids of a transformers model mean: ends, what is never generated, prefix and template."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from transformers import PreTrainedModel

from bangbang.errors import InputError
from bangbang.heads import Alphabet
from bangbang.hf.capture import output_layer
from bangbang.hf.inputs import Template
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
        return cls._known(model, tokenizer, size, ends_of(model, tokenizer), unknown, specials, separator)

    @classmethod
    def given(
        cls, model: PreTrainedModel, tokenizer: Any, translation: Translation, specials: Sequence[int], separator: str
    ) -> "Tokens":
        """As a vocabulary says that was made of the model's `tokenizer.json`."""
        rows = rows_of(model)
        if translation.foreign_size > rows:
            raise InputError(
                f"the vocabulary has {translation.foreign_size} tokens, the model {rows}: vocabulary.file must be the "
                "model's own tokenizer.json"
            )
        ends, unknown = translation.ends, translation.unknown
        return cls._known(model, tokenizer, translation.foreign_size, ends, unknown, specials, separator)

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
        tokenizer: Any,
        size: int,
        ends: Sequence[int],
        unknown: int | None,
        specials: Iterable[int],
        separator: str,
    ) -> "Tokens":
        config, coder = model.generation_config, model.config.is_encoder_decoder
        never = {*specials, *(config.suppress_tokens or [])}
        never |= {config.pad_token_id, config.bos_token_id, config.decoder_start_token_id} - {None}
        forbidden = [each for each in sorted(never) if 0 <= each < size and each not in (*ends, unknown)]
        alphabet = Alphabet(size, ends, unknown, forbidden, rows_of(model))
        filler = config.pad_token_id if config.pad_token_id is not None else ends[0]
        template = template_of(model, tokenizer, ends[0], separator)
        prefix = prefix_of(config, tokenizer) if coder else ()
        return cls(alphabet, rows_of(model), filler, tuple(ends), prefix, template)

    def ordinary(self, count: int) -> list[int]:
        """So many of their tokens that may be generated."""
        theirs = self.alphabet.tables.theirs[len((PAD, BOS, EOS)) + 1 :]
        found: list[int] = theirs[theirs != NONE][:count].tolist()
        return (found * count)[:count]


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


def template_of(model: PreTrainedModel, tokenizer: Any, end: int, separator: str) -> Template:
    """The tokens that the tokenizer puts around a text; an encoder's `</s>` without one, nothing for other models."""
    coder = model.config.is_encoder_decoder
    if tokenizer is None:
        return Template((), (end,) if coder else (), not coder)
    plain = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    place = next(at for at in range(len(whole)) if whole[at : at + len(plain)] == plain)
    before, after = tuple(whole[:place]), tuple(whole[place + len(plain) :])
    if coder:
        return Template(before, after)
    return Template(before, tuple(tokenizer(separator, add_special_tokens=False)["input_ids"]), left=True)
