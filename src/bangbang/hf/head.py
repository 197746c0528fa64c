"""The output layer of a transformers model as our vocabulary layer: in closed form, or through the layer itself.

Shapes: N positions, n of them in a chunk, K tokens per position, D features, V own ids, V' rows of the layer.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from typing import NamedTuple, Self

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from bangbang.contracts import Scored
from bangbang.heads import Alphabet, LinearHead, OutputLayer
from bangbang.heads.linear_head import check_whole
from bangbang.heads.log_prob import ENTROPIES, check_possible
from bangbang.heads.output_layer import chunk_rows
from bangbang.heads.sampling import top_k_rows
from bangbang.symbols import PAD


class Form(NamedTuple):
    """What a model makes of its output layer's numbers o: softcap(scale · (o + bias))."""

    closed: bool
    """Whether o = W f + b of a plain linear layer, so that it need not be called."""
    scale: float = 1.0
    cap: float | None = None
    bias: str | None = None
    """The name of the bias that is added after the layer."""

    def at_temperature(self, temperature: float) -> "Form":
        """softcap(s · x) / T = softcap'((s / T) · x) with cap' = cap / T."""
        cap = None if self.cap is None else self.cap / temperature
        return self._replace(scale=self.scale / temperature, cap=cap)

    def __str__(self) -> str:
        parts = "closed" if self.closed else "open"
        parts += f", scale {self.scale:g}" if self.scale != 1 else ""
        parts += f", soft-cap {self.cap:g}" if self.cap is not None else ""
        return parts + (f", + {self.bias}" if self.bias else "")


Parts = Callable[[], tuple[nn.Module, Tensor | None]]
"""The output layer and the bias [V'] that is added after it, looked up at each use: wrappers may replace them."""


class HfHead(LinearHead):
    """softmax over all rows of a foreign output layer, as transformers itself trains it, in our ids.

    What is never generated takes part in the softmax, so that training makes it unlikely: others who decode with the
    model do not know what we forbid. Sampling and decoding leave it out; `logits` shows its whole mass at `<pad>`.
    """

    def __init__(self, parts: Parts, form: Form, alphabet: Alphabet) -> None:
        self.parts, self.form, self.alphabet = parts, form, alphabet
        self.never = torch.tensor(alphabet.forbidden, dtype=torch.long)

    @property
    def size(self) -> int:
        return self.alphabet.size

    def tempered(self, temperature: float) -> Self:
        """The same head over logits / T; it has no weights of its own."""
        head = copy(self)
        head.form = self.form.at_temperature(temperature)
        return head

    def never_on(self, device: torch.device) -> Tensor:
        """Their tokens that are never generated."""
        self.never = self.never.to(device)
        return self.never

    @abstractmethod
    def scored_layer(self) -> OutputLayer:
        """The layer with all its rows."""

    @abstractmethod
    def layer(self) -> OutputLayer:
        """The same without what is never generated."""

    def to_layer(self, tokens: Tensor) -> Tensor:
        return self.alphabet.on(tokens.device).read[tokens]

    def from_layer(self, tokens: Tensor) -> Tensor:
        return self.alphabet.to_ours(tokens)

    def logits(self, features: Tensor) -> Tensor:
        """All logits [N, V] in our ids, for decoding a step of a few rows."""
        all_logits = self.scored_layer().logits(features)
        theirs = self.alphabet.to_theirs(torch.arange(self.size, device=features.device))
        logits = all_logits.index_select(1, theirs.clamp(min=0)).masked_fill(theirs < 0, -torch.inf)
        return logits.index_copy(
            1,
            torch.tensor([PAD], device=features.device),
            all_logits.index_select(1, self.never_on(features.device)).logsumexp(1, keepdim=True),
        )

    @torch.no_grad()
    def top_k(self, features: Tensor, k: int, forbidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The k largest log p of each row, best first, and their tokens [N, k]."""
        excluded = self.never_on(features.device).expand(len(features), -1)
        if forbidden is not None:
            excluded = torch.cat((excluded, self.to_layer(forbidden)), 1)
        best, tokens = top_k_rows(self.scored_layer(), features, k, excluded)
        return best, self.from_layer(tokens)


class ClosedHead(HfHead):
    """By the weights of a plain linear layer, which is not called: nothing of size [N, V] is kept."""

    def scored_layer(self) -> OutputLayer:
        linear, added = self.parts()
        assert isinstance(linear, nn.Linear)
        bias = linear.bias if added is None else added.view(-1) + (0.0 if linear.bias is None else linear.bias)
        return OutputLayer(linear.weight, bias, self.form.scale, self.form.cap)

    def layer(self) -> OutputLayer:
        layer = self.scored_layer()
        return layer._replace(forbidden=self.never_on(layer.weight.device))


class OpenLayer(OutputLayer):
    """A layer that is called. Its `weight` [V', 0] only says how many rows it has, and where."""

    head: "OpenHead"
    forbids: bool

    @classmethod
    def of(cls, head: "OpenHead", forbids: bool) -> "OpenLayer":
        module, _ = head.parts()
        layer = cls(torch.empty(head.rows, 0, device=next(module.parameters()).device))
        layer.head, layer.forbids = head, forbids
        return layer

    def for_products(self) -> "OpenLayer":
        return self

    def chunk_logits(self, features: Tensor, out: Tensor, slopes: Tensor | None = None) -> Tensor:
        return out.copy_(self.logits(features))

    def logits(self, features: Tensor) -> Tensor:
        head, (module, added) = self.head, self.head.parts()
        found = module(features.to(next(module.parameters()).dtype).unsqueeze(0)).squeeze(0)
        found = found.to(torch.promote_types(found.dtype, torch.float32))
        form = self._replace(scale=head.form.scale, cap=head.form.cap)
        shaped = OutputLayer.scaled_and_capped(form, found if added is None else found + added.view(-1))
        return shaped.index_fill(1, head.never_on(shaped.device), -torch.inf) if self.forbids else shaped


class OpenHead(HfHead):
    """The layer itself, chunk of rows by chunk of rows, which the backward pass computes anew.

    For wrappers such as a LoRA layer, whose `weight` is not all that they multiply by.
    """

    def __init__(self, parts: Parts, form: Form, alphabet: Alphabet, rows: int) -> None:
        super().__init__(parts, form, alphabet)
        self.rows = rows

    def scored_layer(self) -> OutputLayer:
        return OpenLayer.of(self, forbids=False)

    def layer(self) -> OutputLayer:
        return OpenLayer.of(self, forbids=True)

    def candidate_logits(self, features: Tensor, tokens: Tensor) -> Tensor:
        """The logits [N, K] of a few tokens [N, K] per row."""
        theirs, layer = self.to_layer(tokens), self.layer()
        parts = [layer.logits(features[rows]).gather(1, theirs[rows].clamp(min=0)) for rows in self.chunks(features)]
        return torch.cat(parts).masked_fill(theirs < 0, -torch.inf)

    def score(self, features: Tensor, tokens: Tensor, weights: Tensor | None = None, smoothing: float = 0.0) -> Scored:
        check_whole(tokens)
        slots = tokens.view(len(tokens), -1)
        given = torch.ones_like(slots, dtype=torch.float) if weights is None else weights.view_as(slots).float()
        return self._scored(features, slots, given, False, smoothing)

    def score_sets(self, features: Tensor, tokens: Tensor, weights: Tensor | None = None) -> Scored:
        check_whole(tokens)
        given = torch.ones_like(tokens[:, 0], dtype=torch.float) if weights is None else weights.float()
        return self._scored(features, tokens, given.unsqueeze(1), True, 0.0)

    def _scored(self, features: Tensor, tokens: Tensor, c: Tensor, as_set: bool, smoothing: float) -> Scored:
        theirs, scores, entropies = self.to_layer(tokens), [], []
        stride = max(1, math.ceil(len(features) / ENTROPIES))
        for rows in self.chunks(features):
            log_p, entropy = self._chunk(features[rows], theirs[rows], as_set, smoothing)
            if torch.is_grad_enabled():
                check_possible(log_p, c[rows])
            scores.append((log_p.masked_fill(c[rows] == 0, 0.0) * c[rows]).sum(1))
            entropies.append(entropy[-rows.start % stride :: stride])
        return Scored(torch.cat(scores), torch.cat(entropies).detach())

    def _chunk(self, features: Tensor, theirs: Tensor, as_set: bool, smoothing: float) -> tuple[Tensor, Tensor]:
        """log p of a chunk's tokens [n, K], or of its sets [n, 1], and the entropies [n]."""

        def work(features: Tensor) -> tuple[Tensor, Tensor]:
            log_p = self.scored_layer().logits(features).log_softmax(1)
            entropy = torch.special.entr(log_p.detach().exp()).sum(1)
            found = log_p.gather(1, theirs.clamp(min=0)).masked_fill(theirs < 0, -torch.inf)
            if as_set:
                found = found.logsumexp(1, keepdim=True)
            return (1 - smoothing) * found + smoothing * log_p.mean(1, keepdim=True) if smoothing else found, entropy

        if not torch.is_grad_enabled():
            return work(features)
        result: tuple[Tensor, Tensor] = checkpoint(work, features, use_reentrant=False)
        return result

    def chunks(self, features: Tensor) -> list[slice]:
        """Rows that go through the layer together; at least once, so that no rows are no error."""
        size = chunk_rows(self.rows)
        return [slice(start, min(start + size, len(features))) for start in range(0, max(1, len(features)), size)]


def head_of(parts: Parts, form: Form, alphabet: Alphabet, rows: int) -> "ClosedHead | OpenHead":
    return ClosedHead(parts, form, alphabet) if form.closed else OpenHead(parts, form, alphabet, rows)
