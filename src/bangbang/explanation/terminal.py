"""Explanations as tables in a terminal."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bangbang.explanation.subject import Subject
from bangbang.explanation.targets import Targets
from bangbang.explanation.trace import Candidate, Step, Trace
from bangbang.objectives import Sampling

STYLES = {"reward": "dark_orange", "model": "dodger_blue1", "reference": "bold"}
SHOWN = 3
WIDE = 110  # columns of a terminal that has room for everything


def texts(subject: Subject, target: Text | None = None) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_row(Text("source", style="dim"), Text(subject.source or "(empty)", style="dim"))
    grid.add_row(Text("reference", style="dim"), Text(subject.reference))
    grid.add_row(Text("model alone", style="dim"), Text(subject.output))
    if target is not None:
        grid.add_row(Text("target", style="dim"), target)
    return grid


def trace_table(subject: Subject, settings: Sampling, found: Trace, width: int) -> RenderableType:
    """The texts, one row per token, and what the whole counts for; a narrow terminal gets fewer columns."""
    target = Text()
    for step in found.steps:
        target.append(step.token, STYLES[step.chosen_by]).append(" ")
    grid = Table(header_style="dim", box=None, padding=(0, 2, 0, 0))
    for name in step_cells(found.steps[0], width):
        grid.add_column(name, justify="right" if name in ("Δr", "p", "R") else "left", overflow="fold")
    for step in found.steps:
        grid.add_row(*step_cells(step, width).values())
    inside = f"{sum(step.in_loss for step in found.steps)} of {len(found.steps)}"
    end = (
        f"R(z|y) {found.reward:.3f} · log p(z|x) {found.log_p:.2f} · {inside} tokens in the loss, "
        f"weighted by {found.loss_weight:.3f}: {found.loss:.3f} · p_drop {settings.p_drop:g}"
    )
    return Group(texts(subject, target), "", grid, "", Text(end, style="dim"))


def step_cells(step: Step, width: int) -> dict[str, RenderableType]:
    """A token's cells, by column."""
    style = STYLES[step.chosen_by]
    cells: dict[str, RenderableType] = {
        "token": Text(step.token, style=style),
        "chosen by": Text(step.chosen_by + (f" ={step.best_count}" if step.tied else ""), style=style),
        "loss": "●" if step.in_loss else "",
        "Δr": f"{step.delta_r:+.3f}",
        "p": f"{step.probability:.3f}",
    }
    if width >= WIDE:
        cells |= {"R": f"{step.reward:.3f}", "reference": Text(step.reference or "", style="dim")}
    return cells | {"best by reward, likeliest (p)": candidates(step, SHOWN if width >= WIDE else SHOWN - 1)}


def candidates(step: Step, count: int) -> Text:
    """Two lines: the tokens of the largest Δr, and the model's favourites."""
    best = [each for each in step.candidates if each.best]
    likely = sorted(step.candidates, key=lambda each: -each.probability)
    more = step.best_count - len(best[:count])
    gain = max((each.delta_r for each in best), default=step.others_delta_r)
    lines = Text(f"{gain:+.3f}  {listed(best[:count])}{f' and {more} more' if more else ''}\n", style=STYLES["reward"])
    return Text.assemble(lines, (f"        {listed(likely[:count])}", STYLES["model"]))


def listed(some: Sequence[Candidate]) -> str:
    return ", ".join(f"{each.token} {each.probability:.3f}" for each in some)


def targets_table(subject: Subject, drawn: Sequence[Targets]) -> RenderableType:
    """Where each method's targets lie, and the ones it drew most often."""
    grid = Table(header_style="dim", box=None, padding=(0, 2, 0, 0))
    grid.add_column(f"{drawn[0].samples:d} targets by", max_width=24, overflow="fold")
    for name in ("different", "R(z|y)", "log p(z|x)"):
        grid.add_column(name, justify="right", no_wrap=True)
    grid.add_column("most frequent", overflow="fold")
    for each in drawn:
        frequent = Text("\n".join(f"{target.times:>3} × {target.text}" for target in each.targets[:SHOWN]))
        means = f"{each.mean('reward'):.3f}", f"{each.mean('log_p'):.2f}"
        method = Text.assemble((each.method, "bold"), (f"\n{each.about}\n", "dim"))
        grid.add_row(method, str(len(each.targets)), *means, frequent)
    return Group(texts(subject), "", grid)
