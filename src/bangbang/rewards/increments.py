"""What every possible next token would add to a reward, sparse over the vocabulary.

B rows of a batch · K candidate slots · V vocabulary
"""

from typing import NamedTuple

from torch import Tensor

from bangbang.errors import InputError


class Increments(NamedTuple):
    """Δr(v) = R(z_{1:t-1} v | y) - R(z_{1:t-1} | y) for every token v.

    A row's candidates differ from one another: no token stands in two slots. Unused slots hold `<pad>` and the row's
    `rest`, so they lead nobody astray: `<pad>` is never generated. Tokens with the same reward have values that are
    equal to the last bit, among candidates as against `rest` (values are computed in double precision where there is
    one and rounded to 1e-9), so the arg-max set is `values == maximum(values.amax(1), rest)[:, None]`, with all other
    tokens in it where `rest` is that maximum.
    """

    tokens: Tensor  # [B, K] the candidates
    values: Tensor  # [B, K] what each would add
    rest: Tensor  # [B] what any other token would add


def dense(increments: Increments, vocabulary_size: int) -> Tensor:
    """The increments of all tokens 0 ... V-1, written out: for tests and for people. [B, V]"""
    tokens, values, rest = increments
    if tokens.numel() and int(tokens.max()) >= vocabulary_size:
        raise InputError(f"candidate {int(tokens.max())} is outside a vocabulary of {vocabulary_size} tokens")
    return rest[:, None].repeat(1, vocabulary_size).scatter_(1, tokens, values)


def look_up(increments: Increments, tokens: Tensor) -> Tensor:
    """The increments of given tokens. [B, Q] -> [B, Q]"""
    found, slot = (tokens[:, :, None] == increments.tokens[:, None, :]).max(dim=2)  # [B, Q, K] -> [B, Q]
    return increments.values.gather(1, slot).where(found, increments.rest[:, None])
