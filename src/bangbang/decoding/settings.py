"""How text is generated. Nothing here imports torch."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from bangbang.settings import Settings


@dataclass(frozen=True)
class DecodingSettings(Settings):
    """How text is generated; the command line's options change these for one call."""

    table: ClassVar[str] = "decoding"

    method: Literal["greedy", "beam", "sample"] = "greedy"
    """The likeliest token at each step, the best of several prefixes, or random draws."""
    beam_size: int = 4
    """Prefixes that a beam holds."""
    length_penalty: float = 1.0
    """Beam scores are log-probability / length ** length_penalty."""
    temperature: float = 1.0
    """Sampling: below 1 prefers likely tokens."""
    top_k: int = 0
    """Sampling: only the so many likeliest tokens; 0 means all."""
    top_p: float = 1.0
    """Sampling: only the likeliest tokens that together have this probability."""
    dup: bool = True
    """The test-time reward W·DUP with W = ∞: no token twice in a row."""
    unknown: bool = False
    """Whether `<unk>` may be generated."""
    batch_size: int = 64
    """Lines decoded together."""

    def __post_init__(self) -> None:
        self.require(
            beam_size=(1 <= self.beam_size <= 100_000, "at least 1 and at most 100,000"),
            length_penalty=(abs(self.length_penalty) <= 100, "between -100 and 100"),
            temperature=(1e-6 <= self.temperature <= 1e6, "at least a millionth and at most a million"),
            top_k=(self.top_k >= 0, "at least 0"),
            top_p=(0 < self.top_p <= 1, "above 0 and at most 1"),
            batch_size=(1 <= self.batch_size <= 1_000_000, "at least 1 and at most a million"),
        )
