"""What every possible next token would add to a reward, sparse over the vocabulary.

B rows of a batch · K candidate slots · V vocabulary
"""

from torch import Tensor

from bangbang.contracts import Increments
from bangbang.errors import InputError


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
