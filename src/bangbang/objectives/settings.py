"""The settings of each training method, and how it is built. Nothing here imports torch."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from bangbang.objectives.candidate_settings import Mrt as Mrt
from bangbang.objectives.candidate_settings import Ocd as Ocd
from bangbang.objectives.curriculum_settings import Mixer as Mixer
from bangbang.objectives.curriculum_settings import ScheduledSampling as ScheduledSampling
from bangbang.objectives.method_settings import Normalizer, linear_rise
from bangbang.objectives.method_settings import ObjectiveSettings as ObjectiveSettings
from bangbang.objectives.method_settings import check_units as check_units

if TYPE_CHECKING:
    from bangbang.contracts import Objective
    from bangbang.rewards import Reward


@dataclass(frozen=True)
class Mle(ObjectiveSettings):
    """Maximum likelihood: the target is the reference."""

    papers_choices: ClassVar[frozenset[str] | None] = frozenset()
    label_smoothing: float = 0.0
    """ε, the share of each target that goes evenly to all tokens that can be generated; 0 is maximum likelihood."""

    def __post_init__(self) -> None:
        self.require(label_smoothing=(0 <= self.label_smoothing < 1, "at least 0 and below 1"))

    @property
    def label(self) -> str:
        return f"MLE smoothed {self.label_smoothing:g}" if self.label_smoothing else "MLE"

    def build(self, reward: "Callable[[], Reward]", max_length: int) -> "Objective":
        from bangbang.objectives.likelihood import MaximumLikelihood

        return MaximumLikelihood(self, max_length)


@dataclass(frozen=True)
class Gold(ObjectiveSettings):
    """GOLD: the target is the reference, each token weighed by the model's own probability of it."""

    gamma: float = 1.0
    """γ of the weight p(y_t)^γ; 0 is maximum likelihood."""

    def __post_init__(self) -> None:
        self.require(gamma=(0 <= self.gamma < math.inf, "at least 0 and finite"))

    def build(self, reward: "Callable[[], Reward]", max_length: int) -> "Objective":
        from bangbang.objectives.confident_likelihood import ConfidentLikelihood

        return ConfidentLikelihood(self, max_length)


@dataclass(frozen=True)
class ExpectedMatch(ObjectiveSettings):
    """The expected exact match of samples with the reference, p(y), exactly and without samples."""

    temperature: float = 1.0
    """T of the policy softmax(logits / T) that is trained; below 1 it is nearer to what greedy decoding writes."""

    def __post_init__(self) -> None:
        self.require(temperature=(0.01 <= self.temperature <= 100, "at least 0.01 and at most 100"))

    @property
    def label(self) -> str:
        return "Expected match" + (f" T={self.temperature:g}" if self.temperature != 1 else "")

    def build(self, reward: "Callable[[], Reward]", max_length: int) -> "Objective":
        from bangbang.objectives.match_probability import ExpectedMatchObjective

        return ExpectedMatchObjective(self, max_length)


@dataclass(frozen=True)
class Raml(ObjectiveSettings):
    """Reward-augmented maximum likelihood: targets drawn around the reference, the model left out."""

    papers_choices: ClassVar[frozenset[str] | None] = frozenset({"tau", "samples"})
    tau: float = 0.85
    """Temperature of the reward distribution."""
    samples: int = 1
    """J, targets drawn for each example."""
    payoff: Literal["hamming", "reward"] = "hamming"
    """Minus the Hamming distance as in the paper, or the [reward] table's reward, token by token."""

    def __post_init__(self) -> None:
        self.require(tau=(self.tau > 0, "above 0"), samples=(self.samples >= 1, "at least 1"))

    @property
    def is_rewarded(self) -> bool:
        return self.payoff == "reward"

    @property
    def asks_increments(self) -> bool:
        return self.is_rewarded

    def build(self, reward: "Callable[[], Reward]", max_length: int) -> "Objective":
        from bangbang.objectives.reward_augmented import RewardAugmented

        return RewardAugmented(self, reward() if self.is_rewarded else None, max_length)


@dataclass(frozen=True)
class SampledSettings(ObjectiveSettings):
    """A method whose targets are sampled from a mixture of the reward and the model."""

    samples: int = 1
    """J, targets drawn for each example."""
    baseline: Literal["none", "others"] = "none"
    """`others` subtracts the mean reward of the example's other samples."""

    def __post_init__(self) -> None:
        least = 2 if self.baseline == "others" else 1
        self.require(samples=(self.samples >= least, "at least 1, 2 with a baseline"))

    @property
    def is_rewarded(self) -> bool:
        return True


@dataclass(frozen=True)
class Pg(SampledSettings):
    """Policy gradient: targets sampled from the model, weighed by their reward."""

    papers_choices: ClassVar[frozenset[str] | None] = frozenset({"samples"})
    normalizer: Normalizer = "constant"

    def build(self, reward: "Callable[[], Reward]", max_length: int) -> "Objective":
        from bangbang.objectives.policy_gradients import PolicyGradient

        return PolicyGradient(self, reward(), max_length)


@dataclass(frozen=True)
class RegularizedSettings(ObjectiveSettings):
    """A policy gradient that can be held near the references and near its start, so that texts stay readable."""

    normalizer: Normalizer = "constant"
    samples: int = 1
    """J, targets drawn for each example."""
    likelihood: float = 0.0
    """λ, the share of maximum likelihood on the references: (1 - λ) of the loss is the policy gradient's."""
    temperature: float = 1.0
    """T of the policy softmax(logits / T) that is sampled and trained. Below 1 its samples are nearer to what it writes
    greedily, which T does not change, so that what they teach shows there sooner."""
    dropout: bool = True
    """Whether the model's dropout is on while it is sampled and trained. Off, what is trained is the very policy that
    decodes; it learns its training examples sooner, and validation liked it less."""
    kl: float = 0.0
    """β of the penalty β·KL(p || p of the weights that the stage started from), in nats, on rewards between 0 and 1."""

    def __post_init__(self) -> None:
        self.require(
            likelihood=(0 <= self.likelihood < 1, "at least 0 and below 1"),
            temperature=(0.01 <= self.temperature <= 100, "at least 0.01 and at most 100"),
            kl=(0 <= self.kl < math.inf, "at least 0 and finite"),
        )

    @property
    def is_rewarded(self) -> bool:
        return True

    @property
    def needs_start(self) -> bool:
        return self.kl > 0

    @property
    def label(self) -> str:
        parts = (("MLE", self.likelihood), ("KL", self.kl))
        heat = f" T={self.temperature:g}" if self.temperature != 1 else ""
        return self.kind.upper() + heat + "".join(f" + {name} {weight:g}" for name, weight in parts if weight)


@dataclass(frozen=True)
class Rloo(RegularizedSettings):
    """REINFORCE leave-one-out: targets sampled from the model, each weighed against the example's other samples."""

    samples: int = 5
    credit: Literal["sequence", "token"] = "token"
    """What a token is weighed by: the whole sequence's reward, or what it and the tokens after it still earn."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(samples=(self.samples >= 2, "at least 2"))

    def build(self, reward: "Callable[[], Reward]", max_length: int) -> "Objective":
        from bangbang.objectives.leave_one_out import LeaveOneOut

        return LeaveOneOut(self, reward(), max_length)


@dataclass(frozen=True)
class Scst(RegularizedSettings):
    """Self-critical training: targets sampled from the model, weighed against what it would write greedily."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(samples=(self.samples >= 1, "at least 1"))

    def build(self, reward: "Callable[[], Reward]", max_length: int) -> "Objective":
        from bangbang.objectives.self_critical import SelfCritical

        return SelfCritical(self, reward(), max_length)


@dataclass(frozen=True)
class SoftmaxSettings(SampledSettings):
    """What SPG and its bang-bang form share."""

    family: ClassVar[str] = "SPG"
    weight_by_reward: bool = True
    """Whether a sample's loss is weighed by its main reward R(z | y)."""
    ends: Literal["open", "reference"] = "open"
    """How far samples go: to data.max_target_length, or no further than the reference, where `</s>` is put."""

    @property
    def asks_increments(self) -> bool:
        return True

    @property
    def suffix(self) -> str:
        return " + Ends" if self.ends == "reference" else ""


@dataclass(frozen=True)
class Spg(SoftmaxSettings):
    """Softmax policy gradient: every token drawn from q̃ ∝ exp(log p + W·Δr)."""

    papers_choices: ClassVar[frozenset[str] | None] = frozenset({"reward_weight", "samples", "weight_by_reward"})
    reward_weight: float = 30.0
    """W, which is finite."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(reward_weight=(0 <= self.reward_weight < math.inf, "at least 0 and finite"))

    @property
    def label(self) -> str:
        return f"SPG W={self.reward_weight:g}{self.suffix}"

    def build(self, reward: "Callable[[], Reward]", max_length: int) -> "Objective":
        from bangbang.objectives.policy_gradients import SoftmaxPolicyGradient

        return SoftmaxPolicyGradient(self, reward(), max_length)


@dataclass(frozen=True)
class BangBang(SoftmaxSettings):
    """Bang-bang SPG: each token is chosen by the reward, or, with probability p_drop, by the model alone."""

    papers_choices: ClassVar[frozenset[str] | None] = frozenset(
        {"p_drop", "reward_weight", "samples", "weight_by_reward"}
    )
    p_drop: float = 0.4
    """The probability that a token is left to the model."""
    p_drop_delay: int = 0
    """p_drop is 0 for so many steps first."""
    p_drop_rise: int = 0
    """p_drop then rises linearly from 0 over so many steps; 0 means at once."""
    reward_weight: float = math.inf
    """W. Infinite: only tokens with the largest increment are possible."""
    ties: Literal["model", "reference"] = "model"
    """Who chooses among tokens of equal increment, the model or the reference's order."""
    temperature: float = 1.0
    """Of the model, where it chooses alone."""
    top_k: int = 0
    """The model, where it chooses alone, draws from so many likeliest tokens; 0 means all."""
    positions: Literal["driven", "all"] = "driven"
    """Where the loss is: where the reward chose, or at every position, on what the reward would choose there."""
    exact_ties: bool = False
    """Whether tokens of equal increment are taught as a set, -log Σ p, instead of by one that is drawn."""
    sampling: Literal["sequential", "jumps", "passes"] = "sequential"
    """How targets are drawn. `jumps`: all examples of a step throw the same coins, and the model reads several tokens
    at once where the reward chooses for all; fewest with ties = "reference". `passes`: the model reads whole targets,
    from the references on, until they do not change; no cache is needed. Models of transformers gain by both."""
    max_passes: int = 0
    """Passes at most; 0 means until nothing changes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(
            exact_ties=(
                not self.exact_ties or (math.isinf(self.reward_weight) and self.ties == "model"),
                'false unless reward_weight is inf and ties is "model"',
            ),
            max_passes=(
                self.max_passes == 0 or (self.sampling == "passes" and self.max_passes > 0),
                'at least 0, and 0 unless sampling is "passes"',
            ),
            p_drop=(0 <= self.p_drop <= 1, "between 0 and 1"),
            p_drop_delay=(self.p_drop_delay >= 0, "at least 0"),
            p_drop_rise=(self.p_drop_rise >= 0, "at least 0"),
            reward_weight=(self.reward_weight >= 0, "at least 0"),
            temperature=(self.temperature > 0, "above 0"),
            top_k=(self.top_k >= 0, "at least 0"),
        )

    @property
    def label(self) -> str:
        schedule = (" late" if self.p_drop_delay else "") + (" rising" if self.p_drop_rise else "")
        lessons = (" + All" if self.positions == "all" else "") + (" + Sets" if self.exact_ties else "")
        way = f" by {self.sampling}" if self.sampling != "sequential" else ""
        return f"SPG {self.p_drop:g}{schedule}{self.suffix}{lessons}{way}"

    @property
    def words_fault(self) -> str:
        plain = {"positions": "driven", "exact_ties": False, "sampling": "sequential", "ends": "open"}
        for key, value in {**plain, "reward_weight": math.inf}.items():
            if getattr(self, key) != value:
                return f"must have {key} = {str(value).lower()}"
        return ""

    def p_drop_at(self, step: int) -> float:
        """0 for `p_drop_delay` steps, then linearly up to p_drop over `p_drop_rise` steps."""
        return self.p_drop * linear_rise(step, self.p_drop_delay, self.p_drop_rise)

    def build(self, reward: "Callable[[], Reward]", max_length: int) -> "Objective":
        from bangbang.objectives.policy_gradients import BangBangPolicyGradient

        return BangBangPolicyGradient(self, reward(), max_length)


KINDS: dict[str, type[ObjectiveSettings]] = {
    "mle": Mle,
    "raml": Raml,
    "pg": Pg,
    "spg": Spg,
    "bbspg": BangBang,
    "rloo": Rloo,
    "scst": Scst,
    "gold": Gold,
    "expected-match": ExpectedMatch,
    "scheduled-sampling": ScheduledSampling,
    "mixer": Mixer,
    "mrt": Mrt,
    "ocd": Ocd,
}
