"""What is compared: the rows of the paper's tables, then rows of our own. This file is the one place to change them."""

from typing import NamedTuple

from bangbang.config import Config


class Method(NamedTuple):
    """A row of the table: the settings in which its runs differ from all others."""

    name: str
    """As run folders and `--methods` name it."""
    label: str
    """As the table names it."""
    settings: tuple[str, ...]
    starts_from: str = ""
    """The method whose weights it starts from; empty means a cold start."""
    late: bool = False
    """Whether p_drop is 0 first."""

    def changes(self, config: Config) -> list[str]:
        """Its settings for runs that are otherwise `config`."""
        if not self.late:
            return list(self.settings)
        return [*self.settings, f"objective.p_drop_delay={round(LATE[config.model.kind] * config.training.max_steps)}"]


LATE = {"attention_gru": 1 / 2, "show_and_tell": 3 / 8}  # of the steps, by model: what validation liked best


def spg(p_drop: float, *settings: str) -> tuple[str, ...]:
    return ("objective.kind=bbspg", f"objective.p_drop={p_drop}", *settings)


PAPER = (
    Method("mle", "MLE", ("objective.kind=mle",)),
    Method("raml", "RAML", ("objective.kind=raml",)),
    Method("pg", "PG", ("objective.kind=pg",)),
    Method("pg-mle", "PG from MLE", ("objective.kind=pg",), starts_from="mle"),
    *(Method(f"spg-{p_drop}", f"SPG {p_drop}", spg(p_drop)) for p_drop in (0.2, 0.4, 0.6, 0.8)),
)
EXTENSIONS = (
    Method("spg-0.4-late", "SPG 0.4 late", spg(0.4), late=True),
    Method("spg-0.4-late-length", "SPG 0.4 late + Length", spg(0.4, "reward.length=1"), late=True),
)
METHODS = {method.name: method for method in (*PAPER, *EXTENSIONS)}
