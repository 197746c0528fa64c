"""How text is generated. Nothing here imports torch."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from bangbang.settings import Settings

Method = Literal["greedy", "beam", "sample", "mbr"]


@dataclass(frozen=True)
class DecodingSettings(Settings):
    """How text is generated; the command line's options change these for one call."""

    table: ClassVar[str] = "decoding"

    method: Method = "greedy"
    """The likeliest token at each step, the best of several prefixes, random draws, or minimum Bayes risk: of many
    random draws the one that the others resemble most."""
    beam_size: int = 4
    """Prefixes that a beam holds."""
    length_penalty: float = 1.0
    """Beam scores are log-probability / length ** length_penalty."""
    temperature: float = 1.0
    """Sampling, and minimum Bayes risk: below 1 prefers likely tokens."""
    top_k: int = 0
    """Sampling: only the so many likeliest tokens; 0 means all."""
    top_p: float = 1.0
    """Sampling: only the likeliest tokens that together have this probability."""
    mbr_samples: int = 32
    """Minimum Bayes risk: random draws of each line, which are the candidates and what these are compared with."""
    mbr_beam: int = 0
    """Minimum Bayes risk: what a beam of so many prefixes finds are candidates too; 0 means none."""
    utility: str = ""
    """Minimum Bayes risk: the reward or metric that says how alike two texts are; empty means the task's main score."""
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
            mbr_samples=(1 <= self.mbr_samples <= 4096, "at least 1 and at most 4,096"),
            mbr_beam=(0 <= self.mbr_beam <= 100_000, "at least 0 and at most 100,000"),
            batch_size=(1 <= self.batch_size <= 1_000_000, "at least 1 and at most a million"),
        )


MBR_TEMPERATURE = 0.6  # where none is chosen: at 1, sampling's own default, samples are too unlike one another


def by_method(settings: DecodingSettings, method: Method) -> DecodingSettings:
    """The settings with another method; minimum Bayes risk gets a temperature of its own if they have none."""
    turned = method == "mbr" and settings.method != "mbr"
    if turned and settings.temperature == DecodingSettings.temperature:
        settings = replace(settings, temperature=MBR_TEMPERATURE)
    return replace(settings, method=method)


def describe(settings: DecodingSettings) -> str:
    """A way of decoding as tables name it: "greedy +DUP", "beam 4", "mbr 32 rouge-l T=0.6"."""
    words: list[str] = [settings.method]
    if settings.method == "beam":
        words += [str(settings.beam_size), *changed("length", settings.length_penalty, 1.0, "^")]
    elif settings.method == "mbr":
        beam = [f"+beam {settings.mbr_beam}"] if settings.mbr_beam else []
        words += [str(settings.mbr_samples), *beam, *filter(None, [settings.utility]), f"T={settings.temperature:g}"]
    elif settings.method == "sample":
        words += changed("T", settings.temperature, 1.0)
    if settings.method in ("mbr", "sample"):
        words += [*changed("top-k", settings.top_k, 0), *changed("top-p", settings.top_p, 1.0)]
    return " ".join([*words, *(["+DUP"] if settings.dup else [])])


def changed(name: str, value: float, default: float, sign: str = "=") -> list[str]:
    """A setting by its value, unless that is the default."""
    return [] if value == default else [f"{name}{sign}{value:g}"]
