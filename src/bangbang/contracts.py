"""What the rooms promise each other, in one place: a guest who keeps these contracts fits in everywhere.

Ids 0 to 3 are the special tokens of the core, whatever vocabulary is outside (`symbols`): `<pad>`, `<s>`, `</s>`,
`<unk>`. A vocabulary and a head translate; nothing between them sees another numbering.

Shapes: B batch, R rows still going, S source length, T time, M references, K candidates or targets of a position,
D features, F image features, N positions in the loss, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

from bangbang.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    import torch
    from torch import Tensor

    from bangbang.metrics.metric import Metric
    from bangbang.translation import Translation


class Batch(NamedTuple):
    """A training batch. Token ids are int64."""

    source: Tensor
    """[B, S] padded with `<pad>`; an empty source is the single token `<unk>`. Of images: features [B, F], float32."""
    source_length: Tensor
    """[B]; 1 for an image."""
    target: Tensor
    """[B, T] one reference each, ends in `</s>`, padded with `<pad>`."""
    target_length: Tensor
    """[B] `</s>` included."""
    references: Tensor
    """[B, M, T'] what the reward compares with: the target alone, or all references of its source, `<pad>` for none."""


# vocabularies


class Vocabulary(Protocol):
    """Texts to token ids and back. Ids 0 to 3 are the special tokens, whatever tokenizer is inside."""

    @property
    def fingerprint(self) -> str:
        """A hash of the tokens, their ids and the rules that cut text to them."""
        ...

    @property
    def joint(self) -> str:
        """What stands between two tokens of a text: a blank, or nothing where tokens are pieces of words."""
        ...

    def __len__(self) -> int:
        """V, the special tokens included."""
        ...

    def encode(self, text: str) -> list[int]: ...

    def encode_batch(self, texts: list[str]) -> list[list[int]]:
        """The ids of each text: of the special ones, only ever `<unk>`."""
        ...

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids up to the first `</s>`."""
        ...

    def token(self, index: int) -> str:
        """The name of a token; an IndexError if there is none."""
        ...

    def texts(self) -> list[str]:
        """What each token writes, by id. Bytes that are no whole character stay lone surrogates ("surrogateescape")."""
        ...

    def save(self, path: Path) -> None:
        """Write the file that `data.load_vocabulary` reads."""
        ...


# models and heads


class Offsets(NamedTuple):
    """What is added to some of a row's logits; -inf forbids a token. A token named twice gets both, -1 is no token."""

    tokens: Tensor  # [N, K]
    values: Tensor  # [N, K]


class Scored(NamedTuple):
    log_prob: Tensor  # [N] Σ_k c_k · log p(token_k)
    entropies: Tensor  # [E] of p in nats, at a few of the positions; no gradient


class Head(Protocol):
    """The vocabulary layer: the distribution of the next token given the model's features."""

    @property
    def size(self) -> int:
        """V, the special tokens included."""
        ...

    def score(self, features: Tensor, tokens: Tensor, weights: Tensor | None = None, smoothing: float = 0.0) -> Scored:
        """Σ_k c_k · log p(token_k) of each position, for tokens [N], or [N, K] with `<pad>` in unused slots.

        With a `smoothing` ε, log p(token_k) gives way to (1 - ε) · log p(token_k) + ε · the mean log p of all tokens
        that can be generated.
        """
        ...

    def score_sets(self, features: Tensor, tokens: Tensor, weights: Tensor | None = None) -> Scored:
        """c · log Σ_k p(token_k) of each position, for sets of tokens [N, K] with `<pad>` in unused slots."""
        ...

    def log_prob(self, features: Tensor, tokens: Tensor, weights: Tensor | None = None) -> Tensor:
        """`score` without the entropies. [N]"""
        ...

    def logits(self, features: Tensor) -> Tensor:
        """All logits [N, V], for decoding a step of a few rows."""
        ...

    def candidate_logits(self, features: Tensor, tokens: Tensor) -> Tensor:
        """The logits [N, K] of a few tokens [N, K] of each row."""
        ...

    def top_k(self, features: Tensor, k: int, forbidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The k largest log p of each row, best first, and their tokens [N, k]; `forbidden` [N, F] tokens have -inf."""
        ...

    def sample(
        self,
        features: Tensor,
        uniform: Tensor,
        offsets: Offsets | None = None,
        temperature: float = 1.0,
        top_k: int = 0,
    ) -> Tensor:
        """One token of each row [N] from softmax((logits + offsets) / temperature), at the row's uniform number [N]."""
        ...


class DecoderState(Protocol):
    """What a decoder knows of its inputs and of the tokens so far. Every tensor has the batch in front."""

    @property
    def rows(self) -> int: ...

    @property
    def device(self) -> torch.device: ...

    def select(self, rows: Tensor) -> Self:
        """The state of the given rows, in that order; rows may repeat."""
        ...


State = TypeVar("State", bound=DecoderState)


class FeatureRows(Protocol):
    """Features [R, D], of which some rows are asked for: a tensor, or what computes them only then."""

    def __getitem__(self, rows: Tensor, /) -> Tensor: ...


class Walk(Protocol):
    """A decoder that goes step by step over tokens chosen on the way."""

    def step(self, tokens: Tensor) -> FeatureRows:
        """Reads one token of each row [R]; the features [R, D] from which the head scores the next one."""
        ...

    def keep(self, rows: Tensor) -> None:
        """Goes on with these rows alone, in this order."""
        ...


class Walked(Protocol):
    """What is trained on: steps that were taken."""

    def features(self) -> Tensor:
        """The features of all rows of all steps, one step after the other [N, D], as part of the graph."""
        ...


class Rollout(Walk, Walked, Protocol):
    """A decoder that goes step by step over tokens chosen on the way, and is trained on the steps it took."""


class Model(Protocol[State]):
    """A sequence generator. `models.base.Generator` gives all but `head`, `encode` and `step` a default."""

    @property
    def head(self) -> Head: ...

    def encode(self, source: Tensor, source_length: Tensor) -> State:
        """The state before the first token, from token ids [B, S] and their lengths, or from image features [B, F]."""
        ...

    def step(self, state: State, tokens: Tensor) -> tuple[State, Tensor]:
        """After the tokens [B]: the next state, and the features [B, D] from which the head scores the next token."""
        ...

    def unroll(self, state: State, tokens: Tensor) -> Tensor:
        """The features [B, T, D] of T steps over known tokens [B, T]: `step` in a loop, perhaps done faster."""
        ...

    def rollout(self, state: State, max_length: int) -> Rollout:
        """At most `max_length` steps from the state on."""
        ...

    def begin(self, source: Tensor, source_length: Tensor) -> Decoder:
        """A decoder for these inputs, encoded once: what objectives work with."""
        ...

    def greedy(self, source: Tensor, source_length: Tensor, max_length: int) -> Tensor:
        """The likeliest token time after time, without a graph and without dropout: [B, T], `<pad>` after `</s>`."""
        ...

    def prepare(self, split: TrainingSplit) -> None:
        """Called once, before training and before the first checkpoint is read."""
        ...

    def keep(self, folder: Path) -> None:
        """Called once, before the first checkpoint is written: makes the folder, if the model needs one."""
        ...

    def train(self, mode: bool = True) -> Self: ...

    def eval(self) -> Self: ...


class Decoder(Protocol):
    """A decoder before its first token, for a batch of inputs: a model without its input's kind."""

    @property
    def head(self) -> Head: ...

    def unroll(self, tokens: Tensor) -> Tensor:
        """The features [B, T, D] of reading known tokens [B, T]."""
        ...

    def rollout(self, max_length: int) -> Rollout:
        """At most `max_length` steps over tokens chosen on the way."""
        ...

    def repeat(self, times: int) -> Decoder:
        """Each input `times` times, next to one another."""
        ...


@runtime_checkable
class ReadingDecoder(Decoder, Protocol):
    """A decoder that need not sample step by step."""

    def jumps(self) -> Rollout:
        """A rollout that reads several tokens at once where nobody asks for the features between them."""
        ...

    def read(self, tokens: Tensor) -> Tensor:
        """The features of `unroll`, without a graph and without dropout, as sampling sees them."""
        ...

    def select(self, rows: Tensor) -> ReadingDecoder:
        """Some of the inputs, in that order."""
        ...


class InputSizes(NamedTuple):
    """What a model's settings are built with."""

    vocabulary: int
    """Tokens of the output."""
    source_vocabulary: int | None
    """Tokens of the input, where the sources are texts with a vocabulary of their own; None if it is the output's."""
    features: int | None
    """Numbers that an image is given by, where the sources are images."""
    translation: Translation | None = None
    """How the output's ids are those of a tokenizer that was made elsewhere, where it was."""
    specials: tuple[int, ...] = ()
    """The ids, in that tokenizer, of its tokens that are no text."""
    kept: Path | None = None
    """Of a run that has checkpoints: where it keeps what else its model is (`Generator.keep`). Nothing is to be loaded
    from elsewhere then."""


# rewards


class Increments(NamedTuple):
    """Δr(v) = R(z_{1:t-1} v | y) - R(z_{1:t-1} | y) for every token v: a gain, and a penalty where there is shaping.

    A row's candidates differ from one another: no token stands in two slots. Unused slots hold `<pad>` and what any
    other token would get; `<pad>` is never generated. Tokens of the same reward have values that are equal to the last
    bit, among candidates as against `rest`, so that ties are found by `==`.
    """

    tokens: Tensor  # [B, K] the candidates
    values: Tensor  # [B, K] what each would gain
    rest: Tensor  # [B] what any other token would gain
    penalties: Tensor | None = None  # [B, K] what shaping adds to each gain: 0 or less; None is 0 everywhere
    rest_penalty: Tensor | None = None  # [B] the same of any other token

    @property
    def total(self) -> Increments:
        """Δr with gains and penalties in one number, as a finite W weighs it."""
        if self.penalties is None or self.rest_penalty is None:
            return self
        return Increments(self.tokens, self.values + self.penalties, self.rest + self.rest_penalty)


@dataclass(frozen=True)
class Bounds:
    """What a reward lies between: where it weighs the loss, `low` counts 0 and `high` counts 1."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InputError(f"a reward's bounds must rise: {self.low} and {self.high} do not")

    def share(self, values: Tensor) -> Tensor:
        """(R - low) / (high - low), and 0 or 1 for what lies outside."""
        return ((values - self.low) / (self.high - self.low)).clamp(0, 1)


class PlainState(Protocol):
    """The least that a state of a reward written elsewhere must have: see `RewardState`."""

    def increments(self) -> Increments:
        """What each possible next token would add, exactly."""
        ...

    def advance(self, tokens: Tensor) -> None:
        """Append the chosen tokens z_t [B]."""
        ...

    def value(self) -> Tensor:
        """R(z_{1:t} | y), which is 0 for the empty prefix. [B]"""
        ...

    def select(self, rows: Tensor) -> Self:
        """A new, independent state of the given rows: indices, which may repeat, or a mask."""
        ...


@runtime_checkable
class RewardState(PlainState, Protocol):
    """A batch of rewards underway: holds each row's prefix z_{1:t} implicitly.

    A row is finished once it was advanced with `</s>`: its increments are zero from then on, further tokens for it are
    ignored and its value stays.
    """

    def main_value(self) -> Tensor:
        """R(z_{1:t} | y) of the main reward, without its shaping, in its own scale: what is reported. [B]"""
        return self.value()

    def loss_weight(self) -> Tensor:
        """The main value as a share of its bounds, between 0 and 1: what weighs the loss. [B]"""
        return Bounds().share(self.main_value())


@runtime_checkable
class CompletionState(Protocol):
    """A state of a reward that knows how its prefixes can end best."""

    def completions(self) -> Tensor:
        """The tokens that begin a completion of the highest final R [B, K]: different ones, then `<pad>`.

        Where every token does, `<unk>` stands for those that are not listed. A finished row has none.
        """
        ...


@runtime_checkable
class ReadingState(Protocol):
    """A state of a reward that reads whole sequences at once."""

    def read(self, tokens: Tensor) -> Tensor:
        """Append tokens [B, T]; the loss weight that counts as earned before each of them [B, T].

        That of a token must depend on the tokens before it alone.
        """
        ...


class Reward(Protocol):
    """A reward R(z | y) that can be taken token by token."""

    def start(self, references: Tensor) -> PlainState:
        """The state of empty prefixes. `references` are token ids, [B, T] or, several per row, [B, M, T]."""
        ...


class RewardInputs(NamedTuple):
    """What a reward's settings are built with."""

    texts: Sequence[str]
    """The vocabulary's tokens, by id."""
    separator: str
    """What stands between two tokens of a text: a blank, or nothing where tokens are pieces of words."""
    training_references: Callable[[], Iterable[list[list[str]]]]
    """The tokens of each training example's references, one example after the other."""

    writing: Writing | None = None
    """How tokens are texts, for rewards of words; None where there are no texts."""


class Writing(NamedTuple):
    """How tokens are texts, and texts are words."""

    decode: Callable[[list[list[int]]], list[str]]
    """The texts of sequences of ids, up to their ends."""
    encode: Callable[[str], list[int]]
    """The ids of a text, no special ones added."""
    word_reader: Callable[[str], Callable[[str], list[str]]]
    """What gives the words of a text as the metric of that name counts them."""


# objectives


class Diagnostics(NamedTuple):
    """Sums over a batch, each with what it is a sum over: means of many batches and processes come out exact."""

    samples: int
    sample_tokens: int
    reference_tokens: int
    reward: float = 0.0  # Σ R(z | y) over samples
    rewarded: int = 0  # samples whose R was computed
    driven_tokens: int = 0  # chosen by the reward
    tied_tokens: int = 0  # of these, with several tokens as good
    model_tokens: int = 0  # chosen by the model alone
    entropy: float = 0.0  # Σ of the model's entropies, in nats
    measured: int = 0  # positions in the loss whose entropy was taken
    compared: int = 0  # examples whose samples were weighed against a baseline
    equal: int = 0  # of these, with all weights 0: the samples earned the same, and there is nothing to learn


class Proposal(NamedTuple):
    """Target sequences z, as the positions of theirs that are in the loss."""

    tokens: Tensor  # [N] z_t, or [N, K] several targets of a position, `<pad>` in unused slots
    features: Tensor  # [N, D] the model's features before z_t
    coefficients: Tensor  # [N] or [N, K] the loss weight of z_t
    diagnostics: Diagnostics
    divisor: float | None = None
    """What the sum of the losses is divided by; None means the number of positions."""
    sets: bool = False
    """Whether the targets [N, K] of a position are a set, whose probability is raised, with one weight [N] each."""
    temperature: float = 1.0
    """T of the distribution softmax(logits / T) that is trained."""
    smoothing: float = 0.0
    """ε, the share of each weight that goes evenly to all tokens that can be generated; not of sets."""


class Objective(Protocol):
    """A training method: proposes the targets of a batch, and says how much each of their tokens counts."""

    def propose(self, model: Model[Any], batch: Batch, step: int, generator: torch.Generator) -> Proposal:
        """Targets of this step, counted from the start of its stage. All randomness is the generator's."""
        ...


@runtime_checkable
class AnchoredObjective(Objective, Protocol):
    """A method that compares the model with what it was when the stage began. Its settings say so: `needs_start`."""

    def begin_stage(self, start: Model[Any]) -> None:
        """Takes a frozen copy of the model at the stage's start, in eval mode, before the first step of a sitting."""
        ...


# tasks


class TrainingSplit(Protocol):
    """A split of a corpus, as tasks and models read it. Rows are sources with all their references."""

    @property
    def has_images(self) -> bool: ...

    def __len__(self) -> int: ...

    def spread(self, count: int) -> Any:
        """At most `count` rows, evenly spread over the split."""
        ...

    def sources(self, rows: Any) -> list[str]:
        """The text of each row's source, or the name of its image."""
        ...

    def references(self, rows: Any) -> list[list[str]]:
        """The texts of all references of each row."""
        ...

    def features(self, rows: Any) -> Tensor:
        """The images' features [N, F] of these rows."""
        ...


Inputs = Literal["tokens", "features"]
"""What a model reads of a source: token ids, or an image's features."""


Sources: TypeAlias = "Sequence[Sequence[int]] | Tensor"
"""Inputs of a model, one after the other: token ids of each, or features [N, F]."""


class Task(Protocol):
    """What one kind of task differs in from another: its inputs, its scores, and its simplest baseline."""

    @property
    def reads(self) -> Inputs: ...

    @property
    def metric(self) -> Metric:
        """All scores that are reported."""
        ...

    @property
    def main(self) -> str:
        """The score that the task is judged by."""
        ...

    def inputs(self, split: TrainingSplit, rows: Any, encode: Callable[[list[str]], list[list[int]]]) -> Sources:
        """The inputs of some rows of a split, as decoding takes them; `encode` gives the token ids of texts."""
        ...

    def baselines(self, train: TrainingSplit, sources: Sequence[str]) -> dict[str, list[str]]:
        """Outputs for some sources that need no training, by name; none where there is no such thing."""
        ...
