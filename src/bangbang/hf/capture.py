"""The features of a transformers model: what its output layer is about to multiply.

Whatever a model does between its last layer and its head, such as scaling or another transform, has happened by then.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel

from bangbang.errors import InputError


class Captured:
    """One call of `forward`. The head itself sees one position of one row, so that it costs next to nothing."""

    def __init__(self, module: PreTrainedModel, last: int, whole: bool = False) -> None:
        """Keeps the features of the `last` positions. `whole` lets the head see all of them."""
        self.module, self.last, self.whole = module, last, whole
        self.calls = 0
        self.features: Tensor

    def run(self, inputs: Mapping[str, Any]) -> Any:
        head = output_layer(self.module)
        handle = head.register_forward_pre_hook(self._keep)
        try:
            with reading(self.module, inputs):
                outputs = self.module(**inputs)
        finally:
            handle.remove()
        if self.calls != 1:
            raise InputError(f"{type(self.module).__name__}: its output layer is called {self.calls} times, not once")
        return outputs

    def _keep(self, head: nn.Module, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        (found, *others) = arguments
        self.calls += 1
        self.features = found[:, -self.last :]
        return (self.features if self.whole else self.features[:1, -1:], *others)


@contextmanager
def reading(module: PreTrainedModel, inputs: Mapping[str, Any]) -> Iterator[None]:
    """Tells in one line of texts that are longer than the model has positions."""
    try:
        yield
    except IndexError as error:
        if "out of range in self" not in str(error):  # an embedding's words
            raise
        raise InputError(
            f"{type(module).__name__}: cannot read {length_of(inputs)} tokens; its max_position_embeddings may be "
            "smaller than data.max_source_length or data.max_target_length"
        ) from None


def length_of(inputs: Mapping[str, Any]) -> int:
    return max(
        (value.shape[1] for value in inputs.values() if isinstance(value, Tensor) and value.ndim == 2), default=0
    )


def output_layer(module: PreTrainedModel) -> nn.Module:
    """The layer that gives the logits."""
    found = module.get_output_embeddings() if hasattr(module, "get_output_embeddings") else None
    if not isinstance(found, nn.Module):
        raise InputError(f"{type(module).__name__}: has no output layer; it is no generator of texts")
    return found
