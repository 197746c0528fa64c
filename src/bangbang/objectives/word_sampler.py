"""Bang-bang sampling by words: one coin for each word, thrown where it starts.

Where the reward chooses, it chooses a word, and the word is spelled as in the reference, token by token. Where the
model chooses, it writes tokens until one of them starts another word or is `</s>`. That token is the first of the next
word if the model chooses it too; else it is discarded. After a word of the reward's, the model draws among the tokens
that start a word, so that it stays the word that was chosen.

Shapes: B rows to sample, R of them that the rollout still holds, T time, K candidates.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from bangbang.contracts import FeatureRows, Head, Increments, Offsets, Walk
from bangbang.objectives.choice import Choice, Rules, choose
from bangbang.objectives.sampler import DONE_SHARE, FEW, Sample, SampleRecord
from bangbang.rewards import WordState
from bangbang.symbols import BOS, EOS, PAD

Ids = tuple[int, ...]


def unused_chances(coins: Tensor, p_drop: float) -> Tensor:
    """Where u ≥ p_drop, (u - p_drop) / (1 - p_drop) is uniform again, and independent of all else."""
    return ((coins - p_drop) / max(1 - p_drop, 2**-24)).clamp(0, 1 - 2**-24)


@torch.no_grad()
def draw_words(
    walk: Walk, head: Head, reward: WordState, driven: Tensor, uniform: Tensor, spare: Tensor, rules: Rules
) -> Sample:
    """One sequence per row. `driven` [B, T]: whether the reward chooses the word that starts at t, if one does.

    `uniform` [B, T] are the random numbers of the model's draws, `spare` [B, T] those of choices among spellings. The
    sample's `driven` tokens are all those of the reward's words.
    """
    rows = torch.arange(len(driven), device=driven.device)  # [R] the row of the sample that each of the rollout's is
    alive, last = torch.ones_like(rows, dtype=torch.bool), torch.full_like(rows, BOS)
    record = SampleRecord(torch.zeros_like(driven))
    writer = WordWriter(head, reward.select(rows), rules)
    for t in range(driven.shape[1]):
        chances = uniform[rows, t], spare[rows, t]
        choice, forced = writer.write(walk.step(last), alive, driven[rows, t].tolist(), *chances)
        record.noted.append(choice)
        record.driven[rows, t] = forced
        last = choice.tokens
        alive = alive & (last != EOS)
        left = int(alive.sum())
        if left == 0:
            break
        if left <= (1 - DONE_SHARE) * len(rows) and len(rows) >= FEW:
            record.file(rows, None)
            kept = alive.nonzero().squeeze(1)
            walk.keep(kept)
            writer.keep(kept)
            rows, last, alive = rows[kept], last[kept], alive[kept]
    record.file(rows, None)
    record.read_by(reward, with_earned=False)
    return record.sample()


class WordWriter:
    """Rows that are written token by token, each within a word of the reward's, within one of the model's, or between
    two words."""

    def __init__(self, head: Head, state: WordState, rules: Rules) -> None:
        self.head, self.state, self.rules = head, state, rules
        self.left: list[list[Ids]] = [[] for _ in state.prefixes]  # of the spellings that are possible, what is to come
        self.between = [True] * len(state.prefixes)
        self.continuations = torch.tensor(state.view.continuations, dtype=torch.long)

    def keep(self, rows: Tensor) -> None:
        self.state, kept = self.state.select(rows), rows.tolist()
        self.left, self.between = [self.left[row] for row in kept], [self.between[row] for row in kept]

    def write(
        self, features: FeatureRows, alive: Tensor, driven: Sequence[bool], uniform: Tensor, spare: Tensor
    ) -> tuple[Choice, Tensor]:
        """One token for each row that is `alive` [R], and whether it is of a word of the reward's [R]."""
        going = [row for row, there in enumerate(alive.tolist()) if there]
        self.ask([row for row in going if self.between[row] and driven[row]])
        tokens = torch.full_like(alive, PAD, dtype=torch.long)
        free = [row for row in going if not self.left[row]]
        if free:
            tokens[free] = self.drawn(features, free, uniform)
            begun = dict(zip(free, tokens[free].tolist(), strict=True))
            self.ask([row for row in free if not self.between[row] and driven[row] and self.starts(row, begun[row])])
        forced = torch.tensor([bool(ways) for ways in self.left], device=alive.device) & alive
        choice = self.spelled(features, forced, spare)
        choice = choice._replace(tokens=choice.tokens.where(forced, tokens))
        self.follow(choice.tokens.tolist(), forced.tolist())
        self.state.advance(choice.tokens)
        return choice, forced

    def ask(self, rows: list[int]) -> None:
        """The reward's choice of the next word, if it has one."""
        for row, ways in zip(rows, self.state.best_spellings(rows) if rows else [], strict=True):
            self.left[row] = ways

    def last(self, row: int) -> int | None:
        return self.state.prefixes[row][-1] if self.state.prefixes[row] else None

    def starts(self, row: int, token: int) -> bool:
        return self.state.view.starts_word(self.last(row), token)

    def drawn(self, features: FeatureRows, rows: list[int], uniform: Tensor) -> Tensor:
        """The model's tokens for these rows; between two words, one that starts a word."""
        tokens = torch.empty(len(rows), dtype=torch.long, device=uniform.device)
        for limited in (False, True):
            places = [place for place, row in enumerate(rows) if self.must_start(row) == limited]
            if not places:
                continue
            some = torch.tensor([rows[place] for place in places], device=uniform.device)
            offsets = self.no_continuation(features[some]) if limited else None
            drawn = self.rules.temperature, self.rules.top_k
            tokens[places] = self.head.sample(features[some], uniform[some], offsets, *drawn)
        return tokens

    def must_start(self, row: int) -> bool:
        last = self.last(row)
        return self.between[row] and last is not None and not self.state.view.ends[last]

    def no_continuation(self, features: Tensor) -> Offsets:
        tokens = self.continuations.to(features.device).expand(len(features), -1)
        return Offsets(tokens, torch.full_like(features[:, :1], -torch.inf).expand_as(tokens))

    def spelled(self, features: FeatureRows, forced: Tensor, spare: Tensor) -> Choice:
        """The next token of a spelling: the model's choice among those that are possible, or the reference's order."""
        options = [list(dict.fromkeys(way[0] for way in ways)) or [PAD] for ways in self.left]
        widest = max(map(len, options))
        table = [[*each, *[PAD] * (widest - len(each))] for each in options]
        tokens = torch.tensor(table, device=forced.device)  # [R, K]
        increments = Increments(tokens, (tokens != PAD).float(), torch.zeros_like(spare))
        order = torch.arange(widest, device=forced.device).expand_as(tokens)
        rules = Rules(ties=self.rules.ties)
        return choose(self.head, features, increments, forced, forced, spare, rules, order)

    def follow(self, tokens: list[int], forced: list[bool]) -> None:
        """What is to come after these tokens. Where one spelling begins another, the reference's first is taken."""
        for row, (token, chosen) in enumerate(zip(tokens, forced, strict=True)):
            ways = [way[1:] for way in self.left[row] if chosen and way[0] == token]
            done = bool(ways) and not ways[0]
            self.left[row], self.between[row] = [] if done else [way for way in ways if way], done
