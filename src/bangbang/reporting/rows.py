"""Rows of the table from evaluations: runs of one label are averaged over seeds and compared with the baselines.

A row's score is the mean of its seeds' corpus scores. Error bars and paired tests resample, or swap, examples, each for
all seeds together. They so answer whether the difference would hold on other test examples; what another seed would
give is told by the spread over seeds.

Shapes: K seeds, N examples, S statistics.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from bangbang import config as configs
from bangbang.config import Config, Leg
from bangbang.errors import InputError
from bangbang.metrics import Metric, estimates
from bangbang.metrics.metric import Array, lower_is_better
from bangbang.metrics.significance import compare_statistics
from bangbang.reporting.evaluation import GREEDY, Evaluation, LabelledRun, Outputs
from bangbang.reporting.history import read_before, read_history
from bangbang.reporting.likelihood import Likelihood
from bangbang.reporting.readability import mean_words, reading_of
from bangbang.reporting.results import Best, Difference, Row, RunFacts, Score, Side
from bangbang.tasks import RESAMPLING
from bangbang.training import Run

# settings in which two runs of one row may differ
APART = {"training.seed", "training.init", "data.cache"}
Judgements = Mapping[Path, Mapping[str, Likelihood]]
"""Of each run's outputs, by decoder."""
NOBODY: Judgements = MappingProxyType({})


def label_runs(folders: Sequence[Path]) -> list[LabelledRun]:
    """A label for each run; runs that are equal but for the seed share one."""
    opened = [Run.open(folder).config for folder in folders]
    kinds = [{"label": name_of(config), **settings(config)} for config in opened]
    firsts: dict[str, list[dict[str, Any]]] = {}
    for kind in kinds:
        known = firsts.setdefault(kind["label"], [])
        if kind not in known:
            known.append(kind)
    return [
        LabelledRun(folder, told_apart(kind, firsts[kind["label"]]))
        for folder, kind in zip(folders, kinds, strict=True)
    ]


def name_of(config: Config) -> str:
    """ "MLE", "SPG 0.4", "SPG 0.4 late + Length", or with where it started, "PG from MLE"."""
    return f"{config.label} from {origin(Path(config.training.init))}" if config.training.init else config.label


def origin(run: Path) -> str:
    """What kind of run this is, or its name where it has gone."""
    try:
        return configs.read(run / "config.toml", old=True).label
    except InputError:
        return run.name


def settings(config: Config) -> dict[str, Any]:
    """What makes two runs be of one row."""
    return {
        key: value
        for key, value in configs.flat(config).items()
        if key not in APART and not key.startswith("decoding.")
    }


def told_apart(kind: dict[str, Any], same_label: Sequence[dict[str, Any]]) -> str:
    """The label, and where runs of several kinds have it, the settings in which this one differs from the first."""
    first = same_label[0]
    others = [f"{key}={value}" for key, value in kind.items() if value != first.get(key)]
    return ", ".join([kind["label"], *others])


class Group(NamedTuple):
    """The evaluations of one label."""

    label: str
    members: list[Evaluation]
    configs: list[Config]

    @property
    def last_leg(self) -> Leg:
        """How its runs are trained in the end."""
        return self.configs[0].legs[-1]


def group(evaluations: Sequence[Evaluation]) -> list[Group]:
    """By label, in the order of their first runs."""
    groups: dict[str, Group] = {}
    for evaluation in evaluations:
        found = groups.setdefault(evaluation.run.label, Group(evaluation.run.label, [], []))
        found.members.append(evaluation)
        found.configs.append(Run.open(evaluation.run.folder).config)
    return list(groups.values())


def check_comparable(runs: Sequence[LabelledRun]) -> None:
    """An InputError if the runs cannot stand in one table; before anything is decoded."""
    if not runs:
        raise InputError("a report needs at least one run")
    seen: dict[tuple[str, int], LabelledRun] = {}
    opened = [Run.open(run.folder) for run in runs]
    for run, each in zip(runs, opened, strict=True):
        pair = f"{runs[0].folder} and {run.folder}"
        if each.config.task != opened[0].config.task:
            kinds = f"{opened[0].config.task.kind} and {each.config.task.kind}"
            raise InputError(f"{pair}: are of different tasks, {kinds}; report them apart")
        if each.corpus_facts.get("fingerprint") != opened[0].corpus_facts.get("fingerprint"):
            raise InputError(
                f"{pair}: were trained on different corpora, or with different vocabularies; report them apart"
            )
        key = run.label, each.config.training.seed
        if key in seen:
            raise InputError(
                f"{seen[key].folder} and {run.folder}: both are {run.label!r} with seed {key[1]}; give them different "
                "labels, or leave one out"
            )
        seen[key] = run


def rows(
    groups: Sequence[Group], metric: Metric, main: str, baselines: Sequence[str], judged: Judgements = NOBODY
) -> list[Row]:
    """`main`: the score that validation likes a decoder by."""
    sign = -1.0 if main in lower_is_better(metric) else 1.0
    decoders = list(groups[0].members[0].decoded)
    table = {name: decoded_sides(groups, name, metric, baselines, judged) for name in decoders}
    bare = sides_of({each.label: [member.without_dup for member in each.members] for each in groups}, metric, baselines)
    best = {each.label: best_decoder({name: table[name][each.label] for name in decoders}, sign) for each in groups}
    return [
        Row(
            label=each.label,
            extension=any(config.is_own for config in each.configs),
            objective=each.last_leg.objective.kind,
            family=each.last_leg.objective.family or each.last_leg.objective.kind.upper(),
            p_drop=getattr(each.last_leg.objective, "p_drop", None),
            with_dup=table[GREEDY][each.label],
            without_dup=bare[each.label],
            decoded={name: table[name][each.label] for name in decoders},
            best=Best(best[each.label], best_against(each, groups, best, metric, baselines)),
            runs=[run_facts(member, config) for member, config in zip(each.members, each.configs, strict=True)],
        )
        for each in groups
    ]


def decoded_sides(
    groups: Sequence[Group], decoder: str, metric: Metric, baselines: Sequence[str], judged: Judgements
) -> dict[str, Side]:
    """By label, what runs wrote by one decoder."""
    outputs = {each.label: [member.decoded[decoder] for member in each.members] for each in groups}
    sides = sides_of(outputs, metric, baselines)
    for each in groups:
        likelihoods = [judged.get(member.run.folder, {}).get(decoder) for member in each.members]
        reading = reading_of(outputs[each.label], likelihoods)
        sides[each.label] = replace(sides[each.label], reading=reading)
    return sides


def sides_of(outputs: Mapping[str, Sequence[Outputs]], metric: Metric, baselines: Sequence[str]) -> dict[str, Side]:
    statistics = {label: statistics_of(each) for label, each in outputs.items()}
    return {label: side_of(label, each, statistics, metric, baselines) for label, each in outputs.items()}


def best_decoder(sides: Mapping[str, Side], sign: float = 1.0) -> str:
    """The one that validation likes best, the first of equals; without validations, the first. `sign`: -1 where less
    is better."""
    return max(sides, key=lambda name: sign * (sides[name].validation or 0.0))


def best_against(
    own: Group, groups: Sequence[Group], best: Mapping[str, str], metric: Metric, baselines: Sequence[str]
) -> dict[str, dict[str, Difference]]:
    """A row in its best way against baselines in theirs."""

    def statistics(each: Group) -> Array:
        return statistics_of([member.decoded[best[each.label]] for member in each.members])

    others = [each for each in groups if each.label in baselines and each.label != own.label]
    return {each.label: differences(metric, statistics(own), statistics(each)) for each in others}


def statistics_of(outputs: Sequence[Outputs]) -> Array:
    """Each seed's statistics of each example.  [K, N, S]"""
    return np.stack([each.statistics for each in outputs])


def side_of(
    label: str, outputs: Sequence[Outputs], statistics: Mapping[str, Array], metric: Metric, baselines: Sequence[str]
) -> Side:
    own = statistics[label]
    validations = [each.validation for each in outputs if each.validation is not None]
    return Side(
        scores=scores_of(outputs, own, metric),
        against={
            other: differences(metric, own, statistics[other])
            for other in baselines
            if other in statistics and other != label
        },
        words=mean_words([text for each in outputs for text in each.texts]),
        reading=reading_of(outputs),
        decoding=" or ".join(dict.fromkeys(each.decoding for each in outputs)),
        validation=float(np.mean(validations)) if validations else None,
    )


def scores_of(outputs: Sequence[Outputs], statistics: Array, metric: Metric) -> dict[str, Score]:
    found = {}
    for name, bars in zip(metric.names, estimates(metric, statistics, RESAMPLING), strict=True):
        values = [each.scores[name].value for each in outputs]
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
        assert bars.standard_error is not None and bars.low is not None and bars.high is not None
        found[name] = Score(bars.value, bars.standard_error, bars.low, bars.high, spread)
    return found


def differences(metric: Metric, own: Array, other: Array) -> dict[str, Difference]:
    compared = compare_statistics(metric, own, other, RESAMPLING).scores
    found = {}
    for name, score in compared.items():
        value, error, low, high = (float(number or 0.0) for number in score.difference)
        found[name] = Difference(value, error, low, high, score.p_bootstrap, score.p_randomisation)
    return found


def run_facts(member: Evaluation, config: Config) -> RunFacts:
    history, chosen_by = read_history(member.run.folder, config), config.metric
    best = history.best(chosen_by)
    return RunFacts(
        folder=str(member.run.folder),
        seed=config.training.seed,
        checkpoint=member.checkpoint,
        chosen_by=chosen_by,
        scores={name: estimate.value for name, estimate in member.with_dup.scores.items()},
        best_score=best.scores[chosen_by],
        best_step=best.step,
        steps=history.steps,
        seconds=history.seconds,
        before=read_before(config),
        examples_per_second=history.examples_per_second,
        validations=history.validations,
        stages=history.stages,
    )
