"""A text that is given, token by token: what each earns, and who would have chosen it in training."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch

from bangbang.explanation.subject import Subject
from bangbang.explanation.trace import Recording
from bangbang.rewards import Increments, arg_max_set, dense
from bangbang.symbols import BOS, PAD

NAMED = 5  # of the reward's choices, at most


class Judgement(NamedTuple):
    """Of one token, after those before it."""

    delta_r: float
    """Δr: what it adds to the reward, shaping included."""
    reward: float
    """R(z_{1:t} | y), of the main reward alone."""
    chosen_by: Literal["reward", "model"]
    """`reward` if no other token adds more: with w_t = W it can be the target. Else only the model chooses it."""
    best: list[str]
    """What the reward would choose among, a few of it."""
    best_count: int


@torch.no_grad()
def judge(subject: Subject, tokens: Sequence[int]) -> list[Judgement]:
    """What the subject's reward makes of each token, `</s>` included where it was reached."""
    recording, size = Recording(subject.reward, subject.references), len(subject.run.vocabulary)
    found = []
    for t, token in enumerate(tokens):
        recording.increments()
        recording.advance(torch.tensor([token], device=subject.device))
        increments = recording.increments_at[t]
        best = dense(Increments(increments.tokens, *arg_max_set(increments)), size)[0]
        best = best.index_fill(0, torch.tensor([PAD, BOS]), False)
        names = [subject.word(v) for v in best.nonzero().flatten()[:NAMED].tolist()]
        found.append(
            Judgement(
                delta_r=float(dense(increments, size)[0, token]),
                reward=recording.main_values[t],
                chosen_by="reward" if best[token] else "model",
                best=names,
                best_count=int(best.sum()),
            )
        )
    return found
