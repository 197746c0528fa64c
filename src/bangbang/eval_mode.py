"""Models as they are for decoding, for a while."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from bangbang.contracts import Model


@contextmanager
def without_dropout(model: Model[Any]) -> Iterator[None]:
    """The model as it is for decoding, for the time of a block; parts that are so anyway stay so."""
    modules = model.modules() if isinstance(model, nn.Module) else ()
    training = [module for module in modules if module.training]
    # torch's recurrent layers stay as they are but for their dropout: cuDNN has no backward pass for decoding
    recurrent = [(module, module.dropout) for module in training if isinstance(module, nn.RNNBase)]
    model.eval()
    for module, _ in recurrent:
        module.training, module.dropout = True, 0.0
    try:
        yield
    finally:
        for module in training:
            module.training = True
        for module, rate in recurrent:
            module.dropout = rate
