"""The plot of targets: reward against the model's log-probability, from the reference's corner to the model's."""

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bangbang.explanation.targets import Targets

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Look(NamedTuple):
    marker: str
    colour: str
    name: str
    """Of its colour in the page's style sheet."""


# the paper's markers; hues go from the reward's orange to the model's blue, and the reference is black
LOOKS = {
    "MLE": Look("^", "#1f1d1a", "mle"),
    "RAML": Look("o", "#e08a00", "raml"),
    "bang-bang SPG": Look("D", "#c8328c", "bbspg"),
    "SPG": Look("p", "#7c4dd6", "spg"),
    "PG": Look("s", "#2b66d9", "pg"),
}
INK, FAINT = "#2b2a27", "#d9d6cf"
AREA = 30.0  # of a target that was drawn once, in points²; it grows with the square root of its count
REFERENCE_AREA = 80.0


def figure(drawn: Sequence[Targets], width: float, height: float, legend: bool = True) -> "Figure":
    """All methods' targets as points; a point's area shows how often the target was drawn. Sizes are in inches."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(width, height), layout="constrained")
    axes = picture.add_subplot()
    for method in reversed(drawn):  # the one point of the reference lies on top
        look = LOOKS[method.method]
        points = axes.scatter(
            [each.log_p for each in method.targets],
            [each.reward for each in method.targets],
            s=[REFERENCE_AREA if method.method == "MLE" else AREA * each.times**0.5 for each in method.targets],
            marker=look.marker,
            c=look.colour,
            alpha=1.0 if method.method == "MLE" else 0.62,
            linewidths=0,
            label=method.method,
        )
        points.set_gid(f"points-{look.name}")
    axes.margins(0.07)
    axes.grid(color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_xlabel("log p(z | x), by the model →", color=INK)
    axes.set_ylabel("R(z | y), by the reward →", color=INK)
    axes.tick_params(length=0, labelcolor=INK)
    for side in axes.spines.values():
        side.set_visible(False)
    if legend:
        add_legend(picture)
    return picture


def add_legend(picture: "Figure") -> None:
    marks, names = picture.axes[0].get_legend_handles_labels()
    box = picture.legend(
        marks[::-1],
        names[::-1],
        loc="outside upper left",
        ncols=len(names),
        frameon=False,
        handletextpad=0.1,
        labelcolor=INK,
    )
    for mark in box.legend_handles:
        if mark is not None:
            mark.set(sizes=[1.5 * AREA])


def picture_bytes(drawn: Sequence[Targets], kind: str) -> bytes:
    """The plot as a file's content: `png`, `svg` or `pdf`."""
    import matplotlib

    stream = io.BytesIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        figure(drawn, 7.2, 4.8).savefig(stream, format=kind, dpi=200)
    return stream.getvalue()


def inline_svg(drawn: Sequence[Targets], name: str, width: float, height: float) -> str:
    """The plot as part of an HTML page, in the colours of its style sheet; `name` keeps its ids apart from others'.

    A method's points are the <use> elements inside the group of its class, in the order of its targets.
    """
    import matplotlib

    stream = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        figure(drawn, width, height, legend=False).savefig(stream, format="svg", transparent=True)
    text = stream.getvalue()
    drawing = text[text.index("<svg") :]
    drawing = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", drawing, flags=re.DOTALL)
    drawing = re.sub(r' xmlns(:\w+)?="[^"]*"', "", drawing)
    drawing = re.sub(r'<svg([^>]*?) width="[^"]*" height="[^"]*"', rf'<svg class="{name}"\1', drawing)
    drawing = re.sub(r"font-family: [^;\"]*", "font-family: inherit", drawing)
    for look in LOOKS.values():
        drawing = drawing.replace(f'id="points-{look.name}"', f'class="points {look.name}"')
        drawing = drawing.replace(look.colour, f"var(--{look.name})")
    drawing = re.sub(r'( id="|href="#|url\(#)', rf"\1{name}-", drawing)
    return drawing.replace(INK, "currentColor").replace(FAINT, "var(--line)")
