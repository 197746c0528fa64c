"""How a metric cuts a text to words."""

from collections.abc import Callable

from bangbang import registry
from bangbang.errors import InputError
from bangbang.metrics.settings import MetricSettings


def word_reader(name: str) -> Callable[[str], list[str]]:
    """What gives the words of a text as a metric, with its defaults, counts them."""
    settings = registry.find("metrics", name, "metric")
    assert issubclass(settings, MetricSettings)
    words: Callable[[str], list[str]] | None = getattr(settings().build(), "words", None)
    if words is None:
        raise InputError(f"metric {name!r}: does not say what its words are; choose rouge, bleu, coco or wer")
    return words
