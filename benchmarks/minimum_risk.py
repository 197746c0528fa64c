"""What minimum Bayes risk costs beside drawing its samples.

The model is untrained but ends its texts as one does that knows how long headlines are, so that nearly all samples
differ from one another: a trained one has fewer pairs to compare. `times` is the time of drawing, comparing and
choosing over that of drawing alone, and `cpu_times` the same of the processor's time, for a machine with other work.
Drawing includes the encoder. Each utility compares the same samples. Names that no reward has are metrics, which
compare texts pair by pair.

examples:
  bangbang bench mbr
  bangbang bench mbr --lines 200 --utilities rouge-l cider-d edit-distance chrf
  bangbang bench mbr --run runs/debian --temperature 0.6 --json
"""

import argparse
import math
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from bangbang.cli.numbers import whole
from bangbang.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import RenderableType

    from bangbang.contracts import Model, RewardInputs, Sources
    from bangbang.decoding import Utility
    from bangbang.decoding.minimum_risk import Pool

T = TypeVar("T")
HELP = "minimum Bayes risk against drawing its samples"
SHAPE = ("lines", "samples", "temperature", "vocab", "dim", "source_length", "max_length", "mean_length", "seed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lines", type=whole(1), default=1_000)
    parser.add_argument("--samples", type=whole(1), default=32)
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--utilities", nargs="+", default=["rouge-l", "rouge-n", "bleu", "cider-d"], metavar="NAME")
    parser.add_argument(
        "--run", dest="trained", metavar="RUN", help="a run's model and validation sources in place of random ones"
    )
    parser.add_argument("--vocab", type=whole(16), default=10_000)
    parser.add_argument("--dim", type=whole(1), default=256, help="units and features")
    parser.add_argument("--source-length", type=whole(1), default=30)
    parser.add_argument("--max-length", type=whole(1), default=15)
    parser.add_argument("--mean-length", type=float, default=8.0, help="of samples")
    parser.add_argument("--seed", type=whole(), default=1)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    import torch

    ground = TrainedGround(arguments) if arguments.trained else RandomGround(arguments)
    batches, drawing = timed(ground.draw)
    pools = [pool for batch in batches for pool in batch]
    found: dict[str, dict[str, float]] = {}
    for name in arguments.utilities:
        utility = ground.utility(name)
        choose(batches[:1], utility)  # counts document frequencies
        _, comparing = timed(partial(choose, batches, utility))
        found[name] = {
            "seconds": comparing.wall,
            "times": 1 + comparing.wall / drawing.wall,
            "cpu_times": 1 + comparing.cpu / drawing.cpu,
        }
    words = [len(each.tokens) for pool in pools for each in pool.texts]
    return {
        "drawing_seconds": drawing.wall,
        "utilities": found,
        "lines": len(pools),
        "distinct": sum(len(pool.texts) for pool in pools) / len(pools),
        "words": sum(words) / len(words),
        "shape": {name: getattr(arguments, name) for name in SHAPE},
        "run": arguments.trained,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


class Seconds(NamedTuple):
    wall: float
    cpu: float


def timed(work: "Callable[[], T]") -> "tuple[T, Seconds]":
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, Seconds(time.perf_counter() - wall, time.process_time() - cpu)


def choose(batches: "list[list[Pool]]", utility: "Utility") -> None:
    import torch

    from bangbang.decoding.minimum_risk import utilities

    for batch in batches:
        matrices = utilities(batch, utility, torch.device("cpu"))
        for pool, matrix in zip(batch, matrices, strict=True):
            pool.ranked(matrix)


def drawn(
    model: "Model[Any]", sources: "Sources", max_length: int, arguments: argparse.Namespace
) -> "list[list[Pool]]":
    import torch

    from bangbang.decoding.generation import encoded
    from bangbang.decoding.minimum_risk import pools
    from bangbang.decoding.settings import DecodingSettings

    config = DecodingSettings(method="mbr", mbr_samples=arguments.samples, temperature=arguments.temperature)
    with torch.no_grad():
        batches = encoded(model, sources, config.batch_size, "cpu")
        return [pools(model, state, lines, config, max_length, arguments.seed) for lines, state in batches]


class RandomGround:
    """An untrained model and random sources."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        import torch

        from bangbang.models import AttentionGru
        from bangbang.models.settings import AttentionGruSettings
        from bangbang.symbols import EOS

        torch.manual_seed(arguments.seed)
        self.arguments = arguments
        self.model = AttentionGru(arguments.vocab, AttentionGruSettings(layers=1, units=arguments.dim))
        with torch.no_grad():
            self.model.head.bias[EOS] += math.log(arguments.vocab / arguments.mean_length)
        size = (arguments.lines, arguments.source_length)
        self.sources: Sequence[Sequence[int]] = torch.randint(EOS + 2, arguments.vocab, size).tolist()

    def draw(self) -> "list[list[Pool]]":
        return drawn(self.model, self.sources, self.arguments.max_length, self.arguments)

    def utility(self, name: str) -> "Utility":
        from bangbang import registry
        from bangbang.decoding import RewardUtility
        from bangbang.rewards.settings import RewardSettings

        if not registry.has("rewards", name):
            raise InputError(f"--utilities {name}: is no reward; random tokens have no texts, add --run RUN")
        kind = registry.find("rewards", name, "--utilities")
        assert issubclass(kind, RewardSettings)
        return RewardUtility(kind().main(self.reward_inputs()), name)

    def reward_inputs(self) -> "RewardInputs":
        """The words of a random vocabulary; the sources stand for training references."""
        from bangbang.contracts import RewardInputs
        from bangbang.symbols import SYMBOLS

        texts = [*SYMBOLS, *(f"w{token}" for token in range(len(SYMBOLS), self.arguments.vocab))]
        return RewardInputs(texts, " ", lambda: ([[texts[token] for token in line]] for line in self.sources))


class TrainedGround:
    """A run's best checkpoint and its validation sources."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        from bangbang.training import Run

        self.arguments, self.run = arguments, Run.open(arguments.trained)
        split = self.run.corpus().split("valid")
        rows = slice(0, min(arguments.lines, len(split)))
        self.model, self.sources = (
            self.run.load_model(),
            self.run.task.inputs(split, rows, self.run.encode_sources),
        )

    def draw(self) -> "list[list[Pool]]":
        return drawn(self.model, self.sources, self.run.config.data.max_target_length, self.arguments)

    def utility(self, name: str) -> "Utility":
        from bangbang.decoding.settings import DecodingSettings
        from bangbang.training.utilities import run_utility

        found = run_utility(self.run, DecodingSettings(method="mbr", utility=name))
        assert found is not None
        return found


def table(result: dict[str, Any]) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    samples, distinct = result["shape"]["samples"], result["distinct"]
    title = (
        f"{result['lines']:,} lines x {samples} samples, {distinct:.1f} of them different, {result['words']:.1f} words"
    )
    grid = Table(title=title, title_justify="left")
    for name in ("utility", "drawing", "choosing", "times the drawing", "by CPU time"):
        grid.add_column(name, justify="left" if name == "utility" else "right")
    for name, numbers in result["utilities"].items():
        seconds = f"{result['drawing_seconds']:.1f} s", f"{numbers['seconds']:.1f} s"
        grid.add_row(Text(name), *seconds, f"{numbers['times']:.2f}", f"{numbers['cpu_times']:.2f}")
    grid.caption = f"{result['threads']} threads"
    return grid
