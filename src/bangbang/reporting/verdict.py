"""The answer in words: which row won, by how much over the baselines, how sure that is, on how many examples."""

from collections.abc import Iterator
from typing import NamedTuple

from bangbang.reporting.results import Difference, Results, Row
from bangbang.tasks import shown, title

SURE, ALMOST_SURE = 0.01, 0.05


class Verdict(NamedTuple):
    headline: str
    sentences: list[str]
    figures: list[tuple[str, str]]
    """Numbers to see at once, each with what it is."""


def verdict(results: Results) -> Verdict:
    best = max(contestants(results), key=lambda row: results.sign * row.with_dup.scores[results.main].value)
    told = Teller(results, best)
    return Verdict(told.headline(), list(told.sentences()), list(told.figures()))


def contestants(results: Results) -> list[Row]:
    """The rows that may win: of each family only the one that validation picks, so that no test score chooses it."""
    picked = picks(results)
    return [row for row in results.rows if picked.get(row.family, row) is row or row.label in results.baselines]


def picks(results: Results) -> dict[str, Row]:
    """Of each family the row with the best validation score, baselines aside.

    None of families that have fewer than two rows, or whose rows have validation scores of different kinds.
    """
    families: dict[str, list[Row]] = {}
    for row in results.rows:
        if row.label not in results.baselines:
            families.setdefault(row.family, []).append(row)
    return {
        family: (min if rows[0].runs[0].chosen_by in results.less else max)(
            rows, key=lambda row: row.mean("best_score")
        )
        for family, rows in families.items()
        if len(rows) > 1 and len({run.chosen_by for row in rows for run in row.runs}) == 1
    }


class Teller:
    def __init__(self, results: Results, best: Row) -> None:
        self.results, self.best, self.score = results, best, title(results.main)
        self.over = {label: found[results.main] for label, found in best.with_dup.against.items()}
        """Differences to the baselines, all decoded greedily."""
        self.first = results.baselines[0]
        by_best = best.best.against if len(results.decoders) > 1 else {}
        tuned = {label: found[results.main] for label, found in by_best.items()}
        self.nearest = min(tuned, key=lambda label: results.gain(tuned[label]), default="")
        """The baseline that comes nearest where each is decoded in its best way; empty if there is none."""
        self.tuned = tuned.get(self.nearest)
        others = [row for row in contestants(results) if row.label not in results.baselines and not self.is_equal(row)]
        self.rival = max(others, key=self.merit, default=None) if best.label in results.baselines else None
        """The best row that is no baseline, where a baseline won."""

    def value(self, row: Row) -> float:
        return row.with_dup.scores[self.results.main].value

    def merit(self, row: Row) -> float:
        """The value, turned so that more is better."""
        return self.results.sign * self.value(row)

    def is_equal(self, row: Row) -> bool:
        """Whether a row scores as the best one on every example: it began with those weights and kept them."""
        if self.best.label not in row.with_dup.against:
            return False
        found = row.with_dup.against[self.best.label][self.results.main]
        return found.value == found.standard_error == 0

    @property
    def more(self) -> str:
        """What the better one has."""
        return "more" if self.results.sign > 0 else "less"

    def number(self, value: float) -> str:
        return shown(self.results.main, value)

    def signed(self, value: float) -> str:
        return f"{'−' if value < 0 else '+'}{self.number(abs(value))}"

    def headline(self) -> str:
        label = self.best.label
        if self.rival is not None:
            behind = self.rival.with_dup.against[label][self.results.main]
            by = f"{self.number(abs(behind.value))} {self.score}"
            if behind.p_randomisation < ALMOST_SURE:
                return f"{label} wins: {self.rival.label} stays {by} behind"
            return f"{label} leads {self.rival.label} by {by}, which may be chance"
        if not self.over:
            return f"{label} reaches {self.number(self.value(self.best))} {self.score}"
        gained = ", ".join(f"{self.signed(found.value)} over {other}" for other, found in self.over.items())
        gained = gained.replace(" over", f" {self.score} over", 1)
        every = list(self.over.values())
        if self.tuned is not None:
            gained += f", {self.signed(self.tuned.value)} over {self.nearest} where each has its best decoder"
            every.append(self.tuned)
        if all(self.results.gain(found) > 0 and found.p_randomisation < ALMOST_SURE for found in every):
            return f"{label} wins: {gained}"
        return f"{label} leads, not surely: {gained}"

    def sentences(self) -> Iterator[str]:
        score, count = self.best.with_dup.scores[self.results.main], len(self.best.runs)
        seeds = f", the mean of {count} seeds that spread by {self.number(score.spread)}" if score.spread else ""
        yield (
            f"On {self.results.examples:,} test examples {self.best.label} has {self.number(score.value)} "
            f"± {self.number(score.standard_error)} {self.score}, decoded greedily with DUP{seeds}."
        )
        for label, found in self.over.items():
            yield self.compared(found, f"{self.more} than {label}’s", self.value(self.results.row(label)))
        if self.tuned is not None:
            yield (
                f"By the decoder that validation likes best for each, {self.best_way(self.best)} and "
                f"{self.best_way(self.results.row(self.nearest))}: {self.signed(self.tuned.value)}, "
                f"with 95% confidence between {self.signed(self.tuned.low)} and {self.signed(self.tuned.high)} "
                f"({self.results.p_text(self.tuned)}): {sureness(self.tuned)}."
            )
        if self.first in self.over:
            yield from self.beside(self.results.row(self.first))
        if self.rival is not None:
            found = self.rival.with_dup.against[self.best.label][self.results.main]
            yield (
                f"The best other row, {self.rival.label}, has {self.number(self.value(self.rival))}: "
                f"{self.signed(found.value)}, {self.results.p_text(found)}; {sureness(found)}."
            )
        yield from self.remarks()

    def compared(self, found: Difference, than: str, value: float) -> str:
        return (
            f"That is {self.number(self.results.gain(found))} {than} {self.number(value)}, with 95% confidence between "
            f"{self.signed(found.low)} and {self.signed(found.high)} ({self.results.p_text(found)}): "
            f"{sureness(found)}."
        )

    def beside(self, base: Row) -> Iterator[str]:
        """The best row and the first baseline: seed by seed, by steps and minutes."""
        main = self.results.main
        theirs = {run.seed: run.scores[main] for run in base.runs}
        gains = [run.scores[main] - theirs[run.seed] for run in self.best.runs if run.seed in theirs]
        if len(gains) > 1:
            ahead, all_of_them = sum(self.results.sign * gain > 0 for gain in gains), ", ".join(map(self.signed, gains))
            yield f"Seed by seed it is ahead of {base.label} in {ahead} of {len(gains)}: {all_of_them}."
        yield f"{self.cost(self.best)}; {self.cost(base)}."

    def best_way(self, row: Row) -> str:
        side = row.decoded[row.best.decoder]
        return f"{row.label} has {self.number(side.scores[self.results.main].value)} by {side.decoding}"

    def cost(self, row: Row) -> str:
        known = "" if row.is_whole else " and what it started from, which is gone"
        return f"{row.label} took {row.total('steps'):,.0f} steps and {row.total('seconds') / 60:.1f} minutes{known}"

    def remarks(self) -> Iterator[str]:
        cold = next((row for row in self.results.rows if row.label == "PG"), None)
        if cold is not None and cold is not self.best:
            yield f"Policy gradient from a cold start (PG) reaches {self.number(self.value(cold))}."
        for family, picked in picks(self.results).items():
            rows = [row for row in self.results.rows if row.family == family]
            top = max((row for row in rows if row.label not in self.results.baselines), key=self.merit)
            best = f"; the best of them on the test is {top.label}, with {self.number(self.value(top))}"
            yield f"Of the {family} rows validation picks {picked.label}{'' if picked is top else best}."

    def figures(self) -> Iterator[tuple[str, str]]:
        score = self.best.with_dup.scores[self.results.main]
        yield f"{self.number(score.value)} ±{self.number(score.standard_error)}", f"{self.score} of {self.best.label}"
        for label, found in self.over.items():
            yield self.signed(found.value), f"over {label}, {self.results.p_text(found)}"
        if self.tuned is not None:
            about = f"over {self.nearest}, each by its best decoder, {self.results.p_text(self.tuned)}"
            yield self.signed(self.tuned.value), about
        yield f"{self.results.examples:,}", "test examples"
        seeds = {seed for row in self.results.rows for seed in row.seeds}
        yield str(sum(len(row.runs) for row in self.results.rows)), f"trainings, {count_of(len(seeds), 'seed')}"


def sureness(found: Difference) -> str:
    """What a p-value means."""
    if found.p_randomisation < SURE:
        return "chance does not explain it"
    return "chance hardly explains it" if found.p_randomisation < ALMOST_SURE else "chance may explain it"


def count_of(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
