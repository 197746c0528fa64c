"""What a training step of a transformers model costs: maximum likelihood as transformers does it, ours, and bang-bang
SPG by each way of sampling; policy gradient beside that of TRL.

All train the same model, made from scratch, on the same random batch by the same optimiser, turn by turn in one run.
`mle_transformers` is the loss that the model gives for labels. Times are medians, by the clock and by the processor's
time of this process, which a busy machine disturbs less. `decoder_passes` are the calls of the decoder in a step, the
one for the loss included; `positions` are the tokens of the targets. `peak_memory_mb` is the peak above parameters,
gradients and optimiser state, each method in a process of its own; `large_vocabulary` has it again for --memory-vocab.
`rloo` draws --samples targets of each example. An untrained model does not know when to end: its samples are longer
than references. TRL trains models without an encoder only, so `peers` has a number with --family gpt2, where trl is
installed; else the reason.

examples:
  bangbang bench hf
  bangbang bench hf --family gpt2 --json
  bangbang bench hf --p-drop 0.2 --ties reference --methods mle bbspg_sequential bbspg_jumps bbspg_passes --no-memory
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bangbang.cli.numbers import whole
from benchmarks.memory import MEGABYTE, SOURCES, resident

if TYPE_CHECKING:
    from rich.console import RenderableType

HELP = "a step of a transformers model by each method, against transformers itself and TRL"
METHODS = ("mle_transformers", "mle", "bbspg_sequential", "bbspg_jumps", "bbspg_passes", "rloo")
LARGE = ("mle_transformers", "mle", "bbspg_jumps")  # what is measured with the large vocabulary
SHAPE = (
    "family", "vocab", "dim", "layers", "batch", "source_length", "max_length", "mean_length", "p_drop", "ties",
    "samples", "seed",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--family", choices=("bart", "marian", "t5", "gpt2"), default="bart")
    parser.add_argument("--vocab", type=whole(16), default=8_000)
    parser.add_argument("--dim", type=whole(1), default=256)
    parser.add_argument("--layers", type=whole(1), default=2, help="of the encoder and of the decoder each")
    parser.add_argument("--batch", type=whole(1), default=32)
    parser.add_argument("--source-length", type=whole(1), default=48)
    parser.add_argument("--max-length", type=whole(1), default=24)
    parser.add_argument("--mean-length", type=float, default=14.0, help="of references")
    parser.add_argument("--p-drop", type=float, default=0.2)
    parser.add_argument("--ties", choices=("model", "reference"), default="model", help="of SPG: who breaks them")
    parser.add_argument("--samples", type=whole(1), default=4, help="J of policy gradients")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--no-memory", action="store_true", help="measure times alone")
    parser.add_argument("--memory-vocab", type=whole(16), default=128_000)
    parser.add_argument("--repeats", type=whole(1), default=7)
    parser.add_argument("--seed", type=whole(), default=1)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    import torch
    import transformers

    from benchmarks.hf_contenders import Contender
    from benchmarks.trl_peer import TrlContender, missing

    contenders = {name: Contender(name, arguments) for name in arguments.methods}
    steps = {name: contender.step for name, contender in contenders.items()}
    absent = missing(arguments)
    peer = None if absent else TrlContender(arguments)
    times = in_turns({**steps, **({"trl_rloo": peer.step} if peer else {})}, arguments.repeats)
    base = times.get("mle")
    result: dict[str, Any] = {}
    for name, contender in contenders.items():
        result[name] = {
            **compared(times[name], base),
            "decoder_passes": statistics.fmean(contender.passes),
            "positions": statistics.fmean(contender.positions),
            "peak_memory_mb": None if arguments.no_memory else peak_megabytes(name, arguments),
        }
    result["peers"] = {"trl_rloo": {"missing": absent} if peer is None else trl_row(peer, base)}
    if not arguments.no_memory:
        result["large_vocabulary"] = large_vocabulary(arguments)
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    return {
        **result,
        "shape": {key: getattr(arguments, key) for key in SHAPE},
        "threads": torch.get_num_threads(),
        **versions,
    }


class Times(NamedTuple):
    """Medians of a step."""

    wall: float
    processor: float
    """Of this process alone: what others do on a busy machine is not in it, but for caches and clock rates."""


def in_turns(steps: Mapping[str, Callable[[], object]], repeats: int, warmup: int = 2) -> dict[str, Times]:
    """Seconds of each over `repeats` rounds in which each runs once."""
    found: dict[str, list[Times]] = {name: [] for name in steps}
    for _ in range(warmup + repeats):
        for name, step in steps.items():
            wall, processor = time.perf_counter(), time.process_time()
            step()
            found[name].append(Times(time.perf_counter() - wall, time.process_time() - processor))
    return {name: Times(*map(statistics.median, zip(*each[warmup:], strict=True))) for name, each in found.items()}


def compared(times: Times, base: Times | None) -> dict[str, Any]:
    return {
        "seconds_per_step": times.wall,
        "processor_seconds_per_step": times.processor,
        "ratio_to_mle": times.wall / base.wall if base else None,
        "processor_ratio_to_mle": times.processor / base.processor if base else None,
    }


def trl_row(peer: Any, base: Times | None) -> dict[str, Any]:
    import trl

    # by its own clocks, which leave out what the trainer does once a call
    own = Times(*map(statistics.median, zip(*peer.times[2:], strict=True)))
    return {**compared(own, base), "version": trl.__version__}


def large_vocabulary(arguments: argparse.Namespace) -> dict[str, Any]:
    """The memory of a step where the vocabulary is large, and over that of transformers."""
    large = argparse.Namespace(**{**vars(arguments), "vocab": arguments.memory_vocab})
    found = {name: peak_megabytes(name, large) for name in LARGE if name in arguments.methods}
    base = found.get("mle_transformers")
    rows = {
        name: {"peak_memory_mb": each, "ratio_to_transformers": each / base if base else None}
        for name, each in found.items()
    }
    return {"vocab": arguments.memory_vocab, **rows}


def peak_megabytes(name: str, arguments: argparse.Namespace) -> float:
    """The peak of a step of this method, in a process that does nothing else."""
    shape = json.dumps({key: getattr(arguments, key) for key in SHAPE})
    path = os.pathsep.join([*map(str, SOURCES), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-P", "-m", "benchmarks.hf", name, shape]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, check=True, stdout=subprocess.PIPE, text=True
    )
    return float(done.stdout)


def own_peak(name: str, arguments: argparse.Namespace) -> float:
    from benchmarks.hf_contenders import Contender

    contender = Contender(name, arguments)
    before = resident("VmRSS")  # parameters, and the program itself
    contender.step()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    contender.step()
    parameters = list(contender.model.parameters())
    tensors = [entry for each in parameters for entry in contender.optimizer.state[each].values()]
    kept = sum(each.numel() * each.element_size() for each in [*parameters, *tensors])  # gradients are as parameters
    return resident("VmHWM") - before - kept / MEGABYTE


def table(result: dict[str, Any]) -> "RenderableType":
    from rich.table import Table

    shape = result["shape"]
    grid = Table(
        title=f"{shape['family']}, vocabulary {shape['vocab']:,}, {shape['dim']} units, batch {shape['batch']}, "
        f"p_drop {shape['p_drop']}",
        caption=caption(result),
        title_justify="left",
        caption_justify="left",
    )
    for name in ("method", "ms/step", "of MLE", "CPU ms", "of MLE", "passes", "positions", "extra MB"):
        grid.add_column(name, justify="left" if name == "method" else "right", no_wrap=name == "method")
    for name in METHODS:
        if name in result:
            row = result[name]
            grid.add_row(
                name,
                f"{1000 * row['seconds_per_step']:.0f}",
                "" if row["ratio_to_mle"] is None else f"{row['ratio_to_mle']:.2f}×",
                f"{1000 * row['processor_seconds_per_step']:.0f}",
                "" if row["processor_ratio_to_mle"] is None else f"{row['processor_ratio_to_mle']:.2f}×",
                f"{row['decoder_passes']:.1f}",
                f"{row['positions']:.0f}",
                "" if row["peak_memory_mb"] is None else f"{row['peak_memory_mb']:.0f}",
            )
    return grid


def caption(result: dict[str, Any]) -> str:
    """TRL, and memory with the large vocabulary."""
    peer = result["peers"]["trl_rloo"]
    lines = [
        f"trl_rloo: {peer['missing']}"
        if "missing" in peer
        else f"trl_rloo: {1000 * peer['seconds_per_step']:.0f} ms/step"
    ]
    if "large_vocabulary" in result:
        large = dict(result["large_vocabulary"])
        vocab = large.pop("vocab")
        told = ", ".join(f"{name} {row['peak_memory_mb']:.0f} MB" for name, row in large.items())
        lines.append(f"vocabulary {vocab:,}: {told}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(own_peak(sys.argv[1], argparse.Namespace(**json.loads(sys.argv[2]))))
