"""The settings of each task, and how it is built. Nothing here imports torch."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from bangbang.contracts import Inputs
from bangbang.settings import KindSettings

if TYPE_CHECKING:
    from bangbang.contracts import Task


@dataclass(frozen=True)
class TaskSettings(KindSettings):
    """What is generated from what, and by which scores it is judged."""

    group: ClassVar[str] = "tasks"
    table: ClassVar[str] = "task"
    reads: ClassVar[Inputs] = "tokens"
    """What its models read of a source. A config without a [task] has the first task that reads what its model does."""
    chosen_by: ClassVar[str] = ""
    """The validation score that picks a checkpoint, unless training.metric names another."""

    metrics: tuple[str, ...] = ()
    """Further metrics to report, by the names that `bangbang plugins` lists."""

    @abstractmethod
    def build(self) -> "Task": ...


@dataclass(frozen=True)
class Headlines(TaskSettings):
    """A short text from a longer one, judged by ROUGE-1.5.5."""

    chosen_by: ClassVar[str] = "rouge-2"

    def build(self) -> "Task":
        from bangbang.tasks.headlines import HeadlineTask

        return HeadlineTask(self)


@dataclass(frozen=True)
class Captions(TaskSettings):
    """What an image shows, judged by coco-caption's scores."""

    reads: ClassVar[Inputs] = "features"
    chosen_by: ClassVar[str] = "cider-d"

    def build(self) -> "Task":
        from bangbang.tasks.captions import CaptionTask

        return CaptionTask(self)


@dataclass(frozen=True)
class Transduction(TaskSettings):
    """A string from a string, such as a pronunciation from a word: judged by the share that is not exactly right."""

    chosen_by: ClassVar[str] = "wer"

    symbols: Literal["between-blanks", "characters"] = "between-blanks"
    """What an output is made of: symbols with blanks between them, or characters."""

    def build(self) -> "Task":
        from bangbang.tasks.transduction import TransductionTask

        return TransductionTask(self)


@dataclass(frozen=True)
class Translation(TaskSettings):
    """A text in another language, judged by sacrebleu's BLEU and chrF."""

    chosen_by: ClassVar[str] = "bleu"

    tokenizer: Literal["13a", "intl", "zh", "char", "none"] = "13a"
    """How BLEU parts words: zh for Chinese, char for other texts without blanks, none for tokenised ones."""

    def build(self) -> "Task":
        from bangbang.tasks.translation import TranslationTask

        return TranslationTask(self)


KINDS: dict[str, type[TaskSettings]] = {
    "headlines": Headlines,
    "captions": Captions,
    "transduction": Transduction,
    "translation": Translation,
}
