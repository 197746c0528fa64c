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
    recurrent = [(layer, layer.dropout) for layer in training if isinstance(layer, nn.RNNBase)]
    model.eval()
    for layer, _ in recurrent:
        layer.training, layer.dropout = True, 0.0
    try:
        yield
    finally:
        for module in training:
            module.training = True
        for layer, rate in recurrent:
            layer.dropout = rate
