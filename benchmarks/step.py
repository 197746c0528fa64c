"""What a training step costs by bang-bang SPG and other methods, against maximum likelihood and the naive way.

All train the same model on the same batch, turn by turn in one run. The naive way to do bang-bang SPG keeps all
logits, draws noise of the vocabulary's size for every token, and runs the model a second time for the loss.
`positions` are the tokens that were decoded, `</s>` included: an untrained model samples more of them than references
have, and shares the encoder's cost among more; `--lengths settled` gives samples about the references' lengths, as in a
trained one. `extra_memory_mb` is the peak above parameters, gradients and optimiser state, each method measured in a
process of its own. `--samples` is J of all methods that draw several (the naive way draws one); without it each has its
own default. `lengths` are those of `--lengths`, or what is usual for the method. `ratio_per_sequence` is the time of a
step over that of as many MLE steps as it has sequences for each example: J, or the candidates of `mrt`. Rewards are
made to differ, as those of trained models do, because samples of equal reward would be left out. `bound_share` is the
time of the step's necessary matrix products alone, at the same shapes, over the step's; `gflop` is what these products
compute.

examples:
  bangbang bench step
  bangbang bench step --vocab 50000 --dim 512 --batch 64 --p-drop 0.4 --json
  bangbang bench step --model show_and_tell --vocab 8854 --dim 512 --batch 25
  bangbang bench step --lengths settled --methods mle bbspg
  bangbang bench step --methods mle rloo --samples 5 --no-memory
  bangbang bench step --ends reference --methods mle bbspg --no-memory
"""

import argparse
from typing import TYPE_CHECKING, Any

from bangbang.cli.numbers import whole

if TYPE_CHECKING:
    from rich.console import RenderableType

HELP = "a step by SPG and other methods against MLE and the naive way"
SHAPE = (
    "model",
    "vocab",
    "dim",
    "layers",
    "batch",
    "source_length",
    "max_length",
    "mean_length",
    "lengths",
    "p_drop",
    "ends",
    "samples",
    "seed",
)
METHODS = ("mle", "bbspg", "naive", "pg", "rloo", "scst", "mrt", "ocd")
USUAL = METHODS[:4]
RATIOS = ("ratio_per_step", "ratio_per_sequence", "ratio_per_position")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", choices=("attention_gru", "show_and_tell"), default="attention_gru")
    parser.add_argument("--vocab", type=whole(16), default=10_000)
    parser.add_argument("--dim", type=whole(1), default=256, help="units and features")
    parser.add_argument("--layers", type=whole(1), default=1)
    parser.add_argument("--batch", type=whole(1), default=64)
    parser.add_argument("--source-length", type=whole(1), default=30)
    parser.add_argument("--max-length", type=whole(1), default=15)
    parser.add_argument("--mean-length", type=float, default=8.0, help="of references")
    parser.add_argument(
        "--lengths",
        choices=("cold", "settled"),
        help="samples: of an untrained model, which does not know when to end, or about as long as references; "
        "settled by default for rloo, scst and mrt, which begin with trained weights, else cold",
    )
    parser.add_argument("--p-drop", type=float, default=0.4)
    parser.add_argument(
        "--ends",
        choices=("open", "reference"),
        default="open",
        help="SPG's samples: open, or with references",
    )
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=USUAL)
    parser.add_argument("--samples", type=whole(1), help="J, targets of each example; each method's own by default")
    parser.add_argument("--no-memory", action="store_true", help="measure times alone")
    parser.add_argument("--repeats", type=whole(1), default=9)
    parser.add_argument("--seed", type=whole(), default=1)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    import torch

    from benchmarks.contenders import Contender
    from benchmarks.matrix_products import medians, record
    from benchmarks.memory import extra_megabytes

    contenders = {name: Contender(name, arguments) for name in arguments.methods}
    for contender in contenders.values():
        contender.step()  # makes the optimiser's state
    steps = {name: contender.step for name, contender in contenders.items()}
    # the naive way needs no other products than ours
    products = {f"{name} products": record(steps[name]) for name in steps if name != "naive"}
    recorded = {f"{name} products": contenders[name].positions[-1] for name in steps if name != "naive"}
    seconds = medians({**steps, **products}, arguments.repeats, warmup=1)
    result: dict[str, Any] = {}
    for name, contender in contenders.items():
        needed_by = f"{'bbspg' if name == 'naive' else name} products"
        needed, positions = seconds.get(needed_by), contender.positions_per_step()
        # the products are those of one step, whose samples may be longer or shorter than the mean
        scale = positions / recorded.get(needed_by, positions)
        result[name] = {
            "seconds_per_step": seconds[name],
            "positions": positions,
            "seconds_per_position": seconds[name] / positions,
            "bound_share": None if needed is None else scale * needed / seconds[name],
            "sequences": contender.sequences,
            "lengths": contender.lengths,
            "gflop": None if needed is None else scale * products[needed_by].flops / 1e9,
            "extra_memory_mb": None if arguments.no_memory else extra_megabytes(name, arguments),
        }
    if "mle" in result:
        for row in result.values():
            row["ratio_per_step"] = row["seconds_per_step"] / result["mle"]["seconds_per_step"]
            row["ratio_per_sequence"] = row["ratio_per_step"] / row["sequences"]
            row["ratio_per_position"] = row["seconds_per_position"] / result["mle"]["seconds_per_position"]
    return {
        **result,
        "shape": {key: getattr(arguments, key) for key in SHAPE},
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


def table(result: dict[str, Any]) -> "RenderableType":
    from rich.table import Table

    shape = result["shape"]
    title = f"vocabulary {shape['vocab']:,}, {shape['dim']} units, batch {shape['batch']}, p_drop {shape['p_drop']}"
    grid = Table(title=title, title_justify="left")
    for name in (
        "method",
        "lengths",
        "ms/step",
        "positions",
        "µs/position",
        "per step",
        "per sequence",
        "per position",
        "GFLOP",
        "bound share",
        "extra MB",
    ):
        grid.add_column(name, justify="left" if name in ("method", "lengths") else "right")
    for name in METHODS:
        if name in result:
            row = result[name]
            grid.add_row(
                name,
                row["lengths"],
                f"{1000 * row['seconds_per_step']:.1f}",
                f"{row['positions']:.0f}",
                f"{1e6 * row['seconds_per_position']:.0f}",
                *(f"{row[key]:.2f}×" if key in row else "" for key in RATIOS),
                "" if row["gflop"] is None else f"{row['gflop']:.1f}",
                "" if row["bound_share"] is None else f"{row['bound_share']:.2f}",
                "" if row["extra_memory_mb"] is None else f"{row['extra_memory_mb']:.0f}",
            )
    return grid
