"""What a run is made of, as typed dataclasses read from TOML: the only home of defaults.

A config file has one table per dataclass below. Unknown keys and wrong types are errors that name the nearest key.
Nothing here imports torch: a config can be read, checked and written in milliseconds.
"""

import dataclasses
import difflib
import math
import tomllib
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import tomli_w

from bangbang.errors import InputError

T = TypeVar("T")
# of [objective]: what the paper chooses among; its other settings, and its reward, are the defaults
PAPERS_CHOICES = {"kind", "p_drop", "reward_weight", "samples", "weight_by_reward", "tau"}
LARGEST = 2**53  # whole numbers up to here are exact in every format a setting goes through


def require(table: Any, **rules: tuple[bool, str]) -> None:
    """Raise an InputError for the first key of a table whose rule does not hold."""
    name = type(table).__name__.removesuffix("Config").lower()
    for key, (holds, rule) in rules.items():
        if not holds:
            raise InputError(f"{name}.{key} must be {rule}, not {getattr(table, key)!r}")


@dataclass(frozen=True)
class DataConfig:
    """Where the pairs come from and how they are cut to tokens."""

    corpus: str = "docstrings"
    """`docstrings`, `debian`, `shapes`, a folder or file of pairs or captions, or the name of a `datasets` data set."""
    path: str = ""
    """For the built-in corpora: the file or folder to read instead of what this machine has."""
    source_field: str = "source"
    """Column of the input text in JSONL, CSV, Parquet and `datasets` corpora."""
    target_field: str = "target"
    """Column of the output text; a column of lists gives several references."""
    features: str = ""
    """Captions: the folder of the images' features (`bangbang features`); empty if they are beside the captions."""
    held_out: int = 4_000
    """COCO's own files: how many images, of train and val together, are held out for validation (the paper: 4K)."""
    all_references: bool = False
    """Training: whether the reward sees all references of a source, or only the one that the example is made of."""
    max_source_length: int = 30
    """Input tokens kept; the rest is cut."""
    max_target_length: int = 15
    """Output tokens kept, `</s>` included."""
    valid_share: float = 0.04
    """Share of the families held out for validation where the corpus comes without splits."""
    test_share: float = 0.04
    """Share of the families held out for testing where the corpus comes without splits."""
    cache: str = "corpora"
    """Folder where prepared corpora are kept, one folder each, found again by what they were made from."""

    def __post_init__(self) -> None:
        require(
            self,
            held_out=(self.held_out >= 0, "at least 0"),
            max_source_length=(self.max_source_length >= 1, "at least 1"),
            max_target_length=(self.max_target_length >= 2, "at least 2 (a token and </s>)"),
        )


@dataclass(frozen=True)
class VocabularyConfig:
    """The tokens shared by input, output and the output layer."""

    kind: Literal["word", "bpe"] = "word"
    """`word`: one type per word, as in the paper; `bpe`: byte-level pieces, nothing is ever unknown."""
    size: int = 220_000
    """Types at most, the four special ones included."""
    min_count: int = 1
    """Words seen less often than this become `<unk>`."""
    lowercase: bool = True
    """Whether all text is lower-cased first."""
    split: Literal["words", "whitespace", "bare-words"] = "words"
    """`words` parts punctuation from words; `whitespace` is for text that is tokenised already; `bare-words` leaves
    punctuation out, but for marks inside a word (t-shirt, man's): for captions, which are scored without it."""

    def __post_init__(self) -> None:
        require(
            self,
            size=(self.size <= 10_000_000, "at most 10 million"),
            min_count=(self.min_count >= 1, "at least 1"),
        )


@dataclass(frozen=True)
class ModelConfig:
    """One of the paper's two models."""

    layers: int = 3
    """GRU layers of the encoder (each in both directions) and of the decoder; 1 for `show_and_tell`."""
    units: int = 512
    """Size of a recurrent state and of the embeddings."""
    dropout: float = 0.2
    """Share of activations dropped on what recurrent layers read and before the output layer."""
    kind: Literal["attention_gru", "show_and_tell"] = "attention_gru"
    """`attention_gru`, for text: bidirectional GRU encoder, attention GRU decoder, one shared embedding matrix.
    `show_and_tell`, for images: an LSTM that reads the image's features first and then words."""

    def __post_init__(self) -> None:
        require(
            self,
            layers=(
                1 <= self.layers <= 1_000 if self.kind == "attention_gru" else self.layers == 1,
                "at least 1 and at most 1,000"
                if self.kind == "attention_gru"
                else "1 for show_and_tell, which has one LSTM layer",
            ),
            units=(1 <= self.units <= 100_000, "at least 1 and at most 100,000"),
            dropout=(0 <= self.dropout < 1, "at least 0 and below 1"),
        )


@dataclass(frozen=True)
class ObjectiveConfig:
    """What is trained on: how a target is proposed, and how much it counts."""

    kind: Literal["mle", "raml", "pg", "spg", "bbspg"] = "mle"
    """Maximum likelihood, reward-augmented maximum likelihood, policy gradient, softmax policy gradient, or its
    bang-bang form."""
    p_drop: float = 0.4
    """bbspg: the probability that a token is left to the model."""
    p_drop_delay: int = 0
    """bbspg: p_drop is 0 for so many steps first."""
    p_drop_rise: int = 0
    """bbspg: p_drop then rises linearly from 0 over so many steps; 0 means at once."""
    reward_weight: float = math.inf
    """W of spg and bbspg. Infinite: only tokens with the largest increment are possible. spg needs a finite one."""
    weight_by_reward: bool = True
    """spg and bbspg: weigh a sample's loss by its main reward R(z | y)."""
    samples: int = 1
    """J, targets drawn for each example."""
    ties: Literal["model", "reference"] = "model"
    """bbspg: who chooses among tokens of equal increment, the model or the reference's order."""
    ends: Literal["open", "reference"] = "open"
    """spg and bbspg: how far samples go, to data.max_target_length, or no further than the reference: what is not over
    by then gets its `</s>` there."""
    temperature: float = 1.0
    """bbspg: of the model, where it chooses alone."""
    top_k: int = 0
    """bbspg: the model, where it chooses alone, draws from so many likeliest tokens; 0 means all."""
    baseline: Literal["none", "others"] = "none"
    """pg, spg and bbspg: subtract the mean reward of the example's other samples."""
    tau: float = 0.85
    """raml: temperature of the reward distribution."""
    payoff: Literal["hamming", "reward"] = "hamming"
    """raml: minus the Hamming distance as in the paper, or the [reward] table's reward, token by token."""

    def __post_init__(self) -> None:
        finite = not math.isinf(self.reward_weight)
        require(
            self,
            p_drop=(0 <= self.p_drop <= 1, "between 0 and 1"),
            p_drop_delay=(self.p_drop_delay >= 0, "at least 0"),
            p_drop_rise=(self.p_drop_rise >= 0, "at least 0"),
            reward_weight=(self.reward_weight >= 0 and (finite or self.kind != "spg"), "at least 0, for spg finite"),
            samples=(self.samples >= (2 if self.baseline == "others" else 1), "at least 1, 2 with a baseline"),
            temperature=(self.temperature > 0, "above 0"),
            top_k=(self.top_k >= 0, "at least 0"),
            tau=(self.tau > 0, "above 0"),
        )


@dataclass(frozen=True)
class RewardConfig:
    """The reward of raml (where asked), pg, spg and bbspg: a main one, and what corrects it."""

    kind: Literal["rouge-n", "rouge-l", "bleu", "gleu", "cider-d", "edit-distance"] = "rouge-n"
    """The main reward; it also weighs the loss. The paper's is the average of ROUGE-1, -2 and -3 F1."""
    min_n: int = 1
    """Shortest n-grams of rouge-n: 2, with `max_n` 2, is ROUGE-2 alone."""
    max_n: int = 3
    """Longest n-grams of rouge-n, bleu, gleu and cider-d."""
    measure: Literal["f1", "recall", "precision"] = "f1"
    """rouge-n: what is made of the matches."""
    beta: float = 1.0
    """rouge-l: how much more recall counts than precision (coco-caption: 1.2)."""
    unit: Literal["word", "character"] = "word"
    """edit-distance: what is edited."""
    start_symbol: bool = True
    """rouge-n, bleu, gleu: count one `<s>` in n-grams of order 2 and up, so that the first words come first."""
    several: Literal["mean", "best"] = "mean"
    """How the scores by several references are combined; bleu has a rule of its own."""
    dup: float = 1.0
    """Weight of DUP, which forbids the same token twice in a row."""
    dup_unless_in_reference: bool = False
    """Whether DUP leaves out repeats that the reference has."""
    eos: float = 1.0
    """Weight of EOS, which forbids an end before the reference's length."""
    length: float = 0.0
    """Weight of EOS's mirror, which from the reference's length on asks for the end."""

    def __post_init__(self) -> None:
        weights = {key: (getattr(self, key) >= 0, "at least 0") for key in ("dup", "eos", "length")}
        require(
            self,
            max_n=(self.max_n >= 1, "at least 1"),
            min_n=(1 <= self.min_n <= self.max_n, "at least 1 and at most max_n"),
            beta=(0 < self.beta < math.inf, "above 0"),
            **weights,
        )


@dataclass(frozen=True)
class OptimizerConfig:
    """How gradients become updates."""

    kind: Literal["adagrad", "adamw"] = "adagrad"
    learning_rate: float = 0.01
    weight_decay: float = 0.0
    initial_accumulator: float = 0.1
    """Adagrad only: what each accumulator starts from (the paper's TensorFlow had 0.1)."""
    clip_norm: float = 4.0
    """Gradients whose norm is larger are scaled down to it."""
    warmup_steps: int = 0
    """The rate rises linearly over these steps."""
    decay: Literal["none", "cosine"] = "none"
    """`cosine` lets the rate fall to zero at `training.max_steps`."""

    def __post_init__(self) -> None:
        require(
            self,
            learning_rate=(0 < self.learning_rate < math.inf, "above 0"),
            weight_decay=(0 <= self.weight_decay < math.inf, "at least 0"),
            initial_accumulator=(0 <= self.initial_accumulator < math.inf, "at least 0"),
            clip_norm=(self.clip_norm > 0, "above 0"),
            warmup_steps=(self.warmup_steps >= 0, "at least 0"),
        )


@dataclass(frozen=True)
class TrainingConfig:
    """How long, how often, how exactly."""

    batch_size: int = 200
    """Examples per step and process."""
    max_steps: int = 10_000_000
    max_minutes: float = 0.0
    """Wall-clock budget; 0 means none."""
    validate_every: int = 5_000
    """Steps between two validations, each followed by a checkpoint."""
    checkpoint_minutes: float = 10.0
    """A checkpoint, too, when the last one is so many minutes old; 0 means at validations alone."""
    validation_examples: int = 0
    """Use only the first so many validation examples; 0 means all."""
    metric: Literal["rouge-1", "rouge-2", "rouge-l", "cider-d", "coco-rouge-l", "bleu-4"] = "rouge-2"
    """The validation score that picks the best checkpoint. Text: rouge-1, rouge-2, rouge-l (ROUGE-1.5.5). Images:
    cider-d, coco-rouge-l, bleu-4 (coco-caption) and rouge-l (pyrouge's, as in the paper)."""
    patience: int = 0
    """Stop after so many validations without a better score; 0 means never."""
    keep_checkpoints: int = 2
    """Newest checkpoints kept beside the best one."""
    max_skipped: int = 10
    """Stop when so many steps in a row had a loss or a gradient that is not finite; each such step changes nothing."""
    log_every: int = 50
    """Steps between two lines of metrics.jsonl."""
    init: str = ""
    """A run whose best weights to start from; empty means a cold start."""
    seed: int = 1
    mixed_precision: Literal["no", "bf16"] = "no"

    def __post_init__(self) -> None:
        counts = ("batch_size", "max_steps", "validate_every", "keep_checkpoints", "max_skipped", "log_every")
        require(self, **{key: (getattr(self, key) >= 1, "at least 1") for key in counts})
        amounts = ("max_minutes", "checkpoint_minutes", "validation_examples", "patience", "seed")
        require(self, **{key: (getattr(self, key) >= 0, "at least 0") for key in amounts})


@dataclass(frozen=True)
class DecodingConfig:
    """How text is generated; the command line's options change these for one call."""

    method: Literal["greedy", "beam", "sample"] = "greedy"
    beam_size: int = 4
    length_penalty: float = 1.0
    """Beam scores are log-probability / length ** length_penalty."""
    temperature: float = 1.0
    top_k: int = 0
    """Sampling: only the so many likeliest tokens; 0 means all."""
    top_p: float = 1.0
    """Sampling: only the likeliest tokens that together have this probability."""
    dup: bool = True
    """The test-time reward W·DUP with W = ∞: no token twice in a row."""
    unknown: bool = False
    """Whether `<unk>` may be generated."""
    batch_size: int = 64

    def __post_init__(self) -> None:
        require(
            self,
            beam_size=(self.beam_size >= 1, "at least 1"),
            temperature=(self.temperature > 0, "above 0"),
            top_k=(self.top_k >= 0, "at least 0"),
            top_p=(0 < self.top_p <= 1, "above 0 and at most 1"),
            batch_size=(self.batch_size >= 1, "at least 1"),
        )


@dataclass(frozen=True)
class Config:
    """A whole run. Each field is one table of the TOML file."""

    data: DataConfig = field(default_factory=DataConfig)
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    objective: ObjectiveConfig = field(default_factory=ObjectiveConfig)
    reward: RewardConfig = field(default_factory=RewardConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)

    @property
    def is_own(self) -> bool:
        """Whether it trains by what the paper does not have: a schedule, `Length`, another reward, ..."""
        objective, defaults = self.objective, ObjectiveConfig()
        if objective.kind == "mle":
            return False
        ours = (each.name for each in dataclasses.fields(objective) if each.name not in PAPERS_CHOICES)
        rewarded = objective.kind != "raml" or objective.payoff == "reward"
        return (rewarded and self.reward != RewardConfig()) or any(
            getattr(objective, name) != getattr(defaults, name) for name in ours
        )


def read(path: Path | str, settings: Sequence[str] = ()) -> Config:
    """The config in a TOML file, changed by `settings` of the form `table.key=value`."""
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such config file") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: {error}") from None
    return override(build(Config, table, str(path)), settings)


def dumps(config: Config) -> str:
    return tomli_w.dumps(dataclasses.asdict(config))


def override(config: Config, settings: Sequence[str]) -> Config:
    """`config` with each `table.key=value` of `settings` put in; the value is TOML, or a bare word."""
    table: dict[str, Any] = dataclasses.asdict(config)
    for setting in settings:
        name, equals, text = setting.partition("=")
        keys = name.strip().split(".")
        if not equals or len(keys) != 2:
            raise InputError(f"--set {setting}: expected table.key=value, such as training.max_steps=500")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):
            value = text.strip()
        table.setdefault(keys[0], {})[keys[1]] = value
    return build(Config, table, "--set")


def build(kind: type[T], table: Mapping[str, Any], where: str) -> T:
    """An instance of dataclass `kind` from `table`; `where` starts every error message."""
    types_by_name = get_type_hints(kind)
    for key in table:
        if key not in types_by_name:
            raise InputError(f"{where}: unknown key {key!r}{suggestion(key, types_by_name)}")
    return kind(**{key: convert(value, types_by_name[key], f"{where}: {key}") for key, value in table.items()})


def suggestion(key: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else f"; known keys are {', '.join(known)}"


def convert(value: Any, kind: Any, where: str) -> Any:
    if dataclasses.is_dataclass(kind):
        if not isinstance(value, Mapping):
            raise InputError(f"{where}: expected a table")
        return build(typing.cast(type[Any], kind), value, where)
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise InputError(f"{where}: {value!r} is not one of {', '.join(map(repr, get_args(kind)))}")
        return value
    if isinstance(value, int) and abs(value) > LARGEST:
        raise InputError(f"{where}: larger than any number here may be")
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        raise InputError(f"{where}: expected {kind.__name__}, got {str(value)[:80]!r}")
    if value != value:
        raise InputError(f"{where}: is not a number")
    if isinstance(value, str) and "\0" in value:
        raise InputError(f"{where}: has a NUL character in it")
    return value


def flat(config: Config) -> dict[str, Any]:
    """Every setting by its `table.key`."""
    tables = dataclasses.asdict(config).items()
    return {f"{name}.{key}": value for name, table in tables for key, value in table.items()}


def differences(one: Config, other: Config) -> Iterator[str]:
    """The `table.key`s in which two configs differ."""
    theirs = flat(other)
    return (key for key, value in flat(one).items() if theirs[key] != value)
