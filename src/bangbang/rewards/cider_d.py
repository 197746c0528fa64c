"""CIDEr-D, with document frequencies from training references.

B rows · M references per row · T reference positions · N n-gram orders · K candidates, t of them tokens of z
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from bangbang.contracts import Bounds
from bangbang.errors import InputError
from bangbang.rewards.document_frequency import ABSENT, ROOT, DocumentFrequency, NgramWeights
from bangbang.rewards.ngrams import Constant, NgramMatches, ngram_counts
from bangbang.rewards.references import NOTHING, References
from bangbang.rewards.state import BaseReward, ScoredState, checked_several
from bangbang.symbols import PAD


class CiderD(BaseReward):
    """CIDEr-D as coco-caption computes it, between 0 and 10, but with document frequencies given beforehand.

        R(z | y) = 10/N Σ_n  exp(-(|z| - |y|)² / 2σ²) · Σ_g min(z_g, y_g) y_g / (‖z‖_n ‖y‖_n)

    where z_g = idf(g) · count of n-gram g in z, and ‖·‖_n is the norm over n-grams of order n; then the mean over the
    references. idf(g) = log(documents) - log max(1, document frequency of g). `</s>` is a token; `<unk>` counts in
    lengths and norms but matches nothing.

    Exact for all candidates: the tokens of the references, those z has already, and `extra_candidates`. A word outside
    these adds nothing above the fraction but lengthens ‖z‖ by its idf, so others differ: `rest` is exact for words
    whose n-grams here are in no document, and a lower bound for all others. Frequent words such as articles are
    furthest from it: name them as `extra_candidates` if that matters.
    """

    bounds = Bounds(0.0, 10.0)

    def __init__(
        self,
        frequency: DocumentFrequency | Path | str | Callable[[], DocumentFrequency],
        texts: Sequence[str],
        *,
        max_n: int = 4,
        sigma: float = 6.0,
        extra_candidates: Sequence[int] = (),
        several: Literal["mean", "best"] = "mean",
    ) -> None:
        """`frequency`: the table, the file it is in, or what counts it once the first batch asks for it.

        `texts[i]`: the text of token i.
        """
        if not isinstance(frequency, DocumentFrequency | Path | str | Callable):
            raise InputError("CiderD needs a DocumentFrequency: DocumentFrequency.count(training references)")
        self.frequency = DocumentFrequency.load(frequency) if isinstance(frequency, Path | str) else frequency
        self.texts = texts
        self.max_n = max_n
        self.sigma = sigma
        self.extra_candidates = tuple(extra_candidates)
        self.several = checked_several(several)
        if isinstance(self.frequency, DocumentFrequency):
            self.weights  # noqa: B018  a table that does not fit is told of here

    @cached_property
    def weights(self) -> NgramWeights:
        table = self.frequency if isinstance(self.frequency, DocumentFrequency) else self.frequency()
        return NgramWeights(table, self.texts, self.max_n)

    def begin(self, references: References) -> "CiderState":
        if self.extra_candidates:
            references = references.including(self.extra_candidates)
        return CiderState(self, references)


def cider_d(common: Tensor, norms: Tensor, reference_norms: Tensor, difference: Tensor, sigma: float) -> Tensor:
    """10 · exp(-δ²/2σ²) · mean over n of common / (‖z‖ ‖y‖): [B, M, N, K], [B, 1, N, K], [B, M, N, 1], [B, M, 1]"""
    norm = norms * reference_norms
    cosines = (common / norm.where(norm > 0, 1)).where(norm > 0, 0)
    return 10 * torch.exp(-(difference**2) / (2 * sigma**2)) * cosines.mean(2)


def reference_weights(tokens: Tensor, weights: NgramWeights, max_n: int) -> Tensor:
    """idf of the n-gram that ends at each position, whether or not there is one. [B, M, T] -> [B, M, N, T]"""
    nodes = torch.full_like(tokens, ROOT)
    found = []
    for _ in range(max_n):
        nodes, idf = weights.look_up(nodes, tokens)
        found.append(idf)
        nodes = torch.cat([torch.full_like(nodes[:, :, :1], ABSENT), nodes[:, :, :-1]], dim=2)
    return torch.stack(found, dim=2)


class CiderState(ScoredState):
    def __init__(self, reward: CiderD, references: References) -> None:
        super().__init__(references, reward.several)
        self.reward, self.bounds = reward, reward.bounds
        device, dtype = self.scores.device, self.scores.dtype
        rows, several, _ = references.words.shape
        orders = range(1, reward.max_n + 1)
        self.weights = reward.weights.to(device, dtype)
        self.matches = NgramMatches(references, orders, start_symbol=False)
        self.squares = reference_weights(references.tokens, self.weights, reward.max_n) ** 2  # [B, M, N, T]
        own_words = references.tokens.masked_fill(references.tokens == PAD, NOTHING)
        counts = ngram_counts(own_words, orders, start_symbol=False, pooled=False)
        self.reference_norms = (self.squares * counts).sum(3, keepdim=True).sqrt()  # [B, M, N, 1]
        self.context = Constant(torch.arange(reward.max_n, device=device))  # [N]: n - 1
        self.common = self.scores.new_zeros(rows, several, reward.max_n, 1)
        self.squared_norms = self.scores.new_zeros(rows, 1, reward.max_n, 1)
        self.nodes = torch.full((rows, reward.max_n), ABSENT, device=device)  # [B, N]: of the last n - 1 tokens of z
        self.nodes[:, 0] = ROOT
        self.known = references.candidates  # [B, K]
        self.past = self.known[:, :0]  # [B, t]: z
        self.past_slots = self.known[:, :0]  # [B, t]: where its tokens stand among the known
        self.past_contexts = self.known[:, :0]  # [B, t]: how many tokens before each are also the last ones of z

    def tokens(self) -> Tensor:
        return self.known

    def next_scores(self) -> Tensor:
        rows, several, orders, _ = self.common.shape
        width = self.known.shape[1] + 1
        gains = self.common.new_zeros(rows, several, orders, width)
        gains.scatter_add_(3, self.references.slots[:, :, None].expand(-1, -1, orders, -1), self.position_gains())
        counts = self.common.new_zeros(rows, 1, orders, width)
        repeats = self.repeats().to(counts.dtype)[:, None]
        counts.scatter_add_(3, self.past_slots[:, None, None].expand_as(repeats), repeats)
        _, idf = self.weights.look_up(self.nodes[:, :, None], self.known[:, None, :])  # [B, N, K]
        idf = torch.nn.functional.pad(idf, (0, 1), value=self.weights.unseen)
        return self.outcome(gains, counts, idf[:, None])[2]

    def follow_scores(self, tokens: Tensor) -> Tensor:
        sets = self.matches.sets()
        here = (self.references.words == tokens[:, None, None])[:, :, None]
        gains = (self.position_gains() * here).sum(3, keepdim=True)  # [B, M, N, 1]
        counts = (self.repeats() & (self.past == tokens[:, None])[:, None]).sum(2)[:, None, :, None]  # [B, 1, N, 1]
        nodes, idf = self.weights.look_up(self.nodes, tokens[:, None])  # [B, N]
        self.common, self.squared_norms, scores = self.outcome(gains, counts, idf[:, None, :, None])
        self.matches.follow(tokens, sets)
        self.nodes = torch.cat([torch.full_like(nodes[:, :1], ROOT), nodes[:, :-1]], dim=1)
        self.remember(tokens)
        return scores.squeeze(2)

    def outcome(self, gains: Tensor, counts: Tensor, idf: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What follows from next tokens that match `gains` and whose n-grams z has `counts` times already.

        A count that rises from k to k + 1 raises the squared norm by idf² (2k + 1).
        """
        exists = (self.context.tensor <= self.t)[:, None]  # [N, 1]: shorter prefixes have no such n-gram
        squared_norms = self.squared_norms + idf**2 * (2 * counts + 1) * exists
        common = self.common + gains
        difference = (self.t + 1 - self.references.lengths)[:, :, None].to(idf.dtype)
        return (
            common,
            squared_norms,
            cider_d(common, squared_norms.sqrt(), self.reference_norms, difference, self.reward.sigma),
        )

    def position_gains(self) -> Tensor:
        """What each position of a reference adds to Σ min(z_g, y_g) y_g if its token comes next. [B, M, N, T]

        y_g idf(g) = idf² · count of g in y, and each of these occurrences is a position that contributes idf².
        """
        hits = self.matches.sets()[:, :, None] >> (self.context.tensor * self.matches.field)[:, None] & 1
        return hits * self.squares

    def repeats(self) -> Tensor:
        """Whether each token of z, if it came again, would complete an n-gram again. [B, N, t]"""
        return self.past_contexts[:, None] >= self.context.tensor[:, None]

    def remember(self, tokens: Tensor) -> None:
        """Append z_t to z and, if it is new, to the candidates."""
        longer = (self.past_contexts + 1) * (self.past == tokens[:, None])
        self.past_contexts = torch.cat([torch.zeros_like(tokens)[:, None], longer], dim=1)
        self.past = torch.cat([self.past, tokens[:, None]], dim=1)
        found, slot = (self.known == tokens[:, None]).max(dim=1)
        self.past_slots = torch.cat([self.past_slots, slot.where(found, self.known.shape[1])[:, None]], dim=1)
        self.known = torch.cat([self.known, tokens.masked_fill(found | ~self.alive, PAD)[:, None]], dim=1)
