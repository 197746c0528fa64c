"""A whole MLE training step against its matrix products alone.

The step is the one training takes: forward, backward, clipping, optimiser. Its matrix products are recorded as they
happen and run again with nothing between them. bound_share is their time over the step's: 1 would be a step that does
nothing but multiply.

examples:
  bangbang bench train-step
  bangbang bench train-step --batch 200 --units 512 --layers 3 --vocabulary 50000 --json
"""

import argparse
from typing import TYPE_CHECKING, Any

from bangbang.cli.numbers import whole
from bangbang.models.settings import AttentionGruSettings
from bangbang.objectives.settings import Mle
from bangbang.training.settings import OptimizerSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

HELP = "a training step against its matrix products alone"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--batch", type=whole(1), default=64)
    parser.add_argument("--units", type=whole(1), default=256)
    parser.add_argument("--layers", type=whole(1), default=1)
    parser.add_argument("--vocabulary", type=whole(16), default=10_000)
    parser.add_argument("--source-length", type=whole(1), default=30)
    parser.add_argument("--target-length", type=whole(1), default=8, help="tokens, </s> included")
    parser.add_argument("--repeats", type=whole(1), default=41)
    parser.add_argument("--seed", type=whole(), default=1)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    import torch

    from benchmarks.matrix_products import medians, record

    step = training_step(arguments)
    step()  # makes the optimiser's state
    products = record(step)
    seconds = medians({"step": step, "products": products}, arguments.repeats)
    return {
        "step_ms": 1000 * seconds["step"],
        "products_ms": 1000 * seconds["products"],
        "bound_share": seconds["products"] / seconds["step"],
        "examples_per_second": arguments.batch / seconds["step"],
        "shape": {name: value for name, value in vars(arguments).items() if isinstance(value, int) and name != "json"},
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


def training_step(arguments: argparse.Namespace) -> "Callable[[], object]":
    """One training step on random tokens of the given shape; every sequence has full length."""
    import torch

    from bangbang.contracts import Batch
    from bangbang.models import AttentionGru
    from bangbang.rewards import RougeN
    from bangbang.symbols import EOS
    from bangbang.training.learner import Learner
    from bangbang.training.optimizer import build_optimizer, clipped_step, gradient_norm

    generator = torch.manual_seed(arguments.seed)
    config = OptimizerSettings()
    model = AttentionGru(arguments.vocabulary, AttentionGruSettings(layers=arguments.layers, units=arguments.units))
    objective = Mle().build(RougeN, arguments.target_length)
    learner, optimizer = Learner(model, objective), build_optimizer(model.parameters(), config)
    source = torch.randint(4, arguments.vocabulary, (arguments.batch, arguments.source_length))
    target = torch.randint(4, arguments.vocabulary, (arguments.batch, arguments.target_length))
    target[:, -1] = EOS
    source_length = torch.full((arguments.batch,), arguments.source_length)
    target_length = torch.full_like(source_length, arguments.target_length)
    batch = Batch(source, source_length, target, target_length, target.unsqueeze(1))

    def step() -> None:
        losses, *_ = learner(batch, 0, generator)
        losses.sum().backward()
        norm = gradient_norm(model.parameters(), 1 / len(losses))
        clipped_step(optimizer, 1 / len(losses), norm, config.clip_norm)
        optimizer.zero_grad(set_to_none=True)

    return step


def table(result: dict[str, Any]) -> "RenderableType":
    from rich.table import Table

    grid = Table(title="training step by maximum likelihood", title_justify="left")
    for name in ("step", "matrix products alone", "bound share", "examples/s"):
        grid.add_column(name, justify="right")
    grid.add_row(
        f"{result['step_ms']:.1f} ms",
        f"{result['products_ms']:.1f} ms",
        f"{result['bound_share']:.2f}",
        f"{result['examples_per_second']:.0f}",
    )
    return grid
