"""The settings of each kind of model, and how it is built. Nothing here imports torch."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from bangbang.contracts import Inputs, InputSizes
from bangbang.errors import InputError
from bangbang.settings import KindSettings

if TYPE_CHECKING:
    from bangbang.models.base import Generator


@dataclass(frozen=True)
class ModelSettings(KindSettings):
    """A kind of model."""

    group: ClassVar[str] = "models"
    table: ClassVar[str] = "model"
    reads: ClassVar[Inputs] = "tokens"
    """What it reads of a source."""

    @abstractmethod
    def build(self, sizes: InputSizes) -> "Generator[Any]":
        """The untrained model."""


@dataclass(frozen=True)
class AttentionGruSettings(ModelSettings):
    """The paper's model for texts: bidirectional GRU encoder, attention GRU decoder, one shared embedding matrix."""

    layers: int = 3
    """GRU layers of the encoder, each in both directions, and of the decoder."""
    units: int = 512
    """Size of a recurrent state and of the embeddings."""
    dropout: float = 0.2
    """Share of activations dropped on what recurrent layers read and before the output layer."""

    def __post_init__(self) -> None:
        self.require(
            layers=(1 <= self.layers <= 1_000, "at least 1 and at most 1,000"),
            units=(1 <= self.units <= 100_000, "at least 1 and at most 100,000"),
            dropout=(0 <= self.dropout < 1, "at least 0 and below 1"),
        )

    def build(self, sizes: InputSizes) -> "Generator[Any]":
        from bangbang.models.attention_gru import AttentionGru

        return AttentionGru(sizes.vocabulary, self, sizes.source_vocabulary)


@dataclass(frozen=True)
class MonotonicGruSettings(ModelSettings):
    """For strings that are read from left to right, such as letters to phones: attention that stays or moves on."""

    layers: int = 1
    """GRU layers of the encoder, each in both directions."""
    units: int = 128
    """Size of a recurrent state and of the embeddings."""
    dropout: float = 0.2
    """Share of activations dropped on what recurrent layers read and before the output layer."""
    jumps: int = 3
    """Symbols of the source that attention may move on at a step."""

    def __post_init__(self) -> None:
        self.require(
            layers=(1 <= self.layers <= 1_000, "at least 1 and at most 1,000"),
            units=(1 <= self.units <= 100_000, "at least 1 and at most 100,000"),
            dropout=(0 <= self.dropout < 1, "at least 0 and below 1"),
            jumps=(1 <= self.jumps <= 100, "at least 1 and at most 100"),
        )

    def build(self, sizes: InputSizes) -> "Generator[Any]":
        from bangbang.models.monotonic_gru import MonotonicGru

        return MonotonicGru(sizes.vocabulary, self, sizes.source_vocabulary)


@dataclass(frozen=True)
class ShowAndTellSettings(ModelSettings):
    """The paper's model for images: an LSTM that reads the image's features first and then words."""

    reads: ClassVar[Inputs] = "features"
    layers: int = 1
    """It has one LSTM layer."""
    units: int = 512
    """Size of the recurrent state and of the embeddings."""
    dropout: float = 0.2
    """Share of activations dropped on what the LSTM reads and before the output layer."""

    def __post_init__(self) -> None:
        self.require(
            layers=(self.layers == 1, f"1 for {self.kind}, which has one LSTM layer"),
            units=(1 <= self.units <= 100_000, "at least 1 and at most 100,000"),
            dropout=(0 <= self.dropout < 1, "at least 0 and below 1"),
        )

    def build(self, sizes: InputSizes) -> "Generator[Any]":
        from bangbang.models.show_and_tell import ShowAndTell

        if sizes.features is None:
            raise InputError(f"model.kind = {self.kind!r} reads images, but the sources are texts")
        return ShowAndTell(sizes.vocabulary, sizes.features, self)


@dataclass(frozen=True)
class HfSettings(ModelSettings):
    """A generator of the transformers library: a pretrained one, or a family's architecture from scratch."""

    name: str = ""
    """A pretrained model: a folder, or an id of the hub. The vocabulary must be its tokenizer.json."""
    from_scratch: Mapping[str, Any] = field(default_factory=dict)
    """Or an untrained one: `family`, such as "bart" or "gpt2", and settings of that family's config."""
    lora: Mapping[str, Any] = field(default_factory=dict)
    """Settings of peft's LoraConfig, such as r and target_modules: then adapters alone are trained. Empty for none."""
    separator: str = "\n"
    """What stands between source and target where a foreign tokenizer's model has no encoder."""

    def __post_init__(self) -> None:
        family = self.from_scratch.get("family", "")
        self.require(
            name=(not (self.name and self.from_scratch), "empty where there is model.from_scratch"),
            from_scratch=(isinstance(family, str), 'a table with a family, such as "bart", and its settings'),
        )

    def build(self, sizes: InputSizes) -> "Generator[Any]":
        from bangbang.hf.requirements import require

        require(f"model.kind = {self.kind!r}", peft=bool(self.lora))
        from bangbang.hf.building import kept, pretrained, untrained

        if sizes.source_vocabulary is not None:
            raise InputError(f"model.kind = {self.kind!r} has one vocabulary; leave [source_vocabulary] out")
        if sizes.kept is not None:
            return kept(sizes.kept, self.lora, sizes)
        if self.name:
            return pretrained(self.name, self.lora, self.separator, sizes)
        if not self.from_scratch.get("family"):
            raise InputError(f"model.kind = {self.kind!r}: set model.name, or model.from_scratch with a family")
        return untrained(self.from_scratch, self.lora, sizes)


KINDS: dict[str, type[ModelSettings]] = {
    "attention_gru": AttentionGruSettings,
    "monotonic_gru": MonotonicGruSettings,
    "show_and_tell": ShowAndTellSettings,
    "hf": HfSettings,
}
