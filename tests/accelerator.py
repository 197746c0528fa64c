"""An accelerator that is none: its tensors say they are elsewhere, are computed on the CPU, and refuse to meet others.

So a machine without one sees whether every tensor follows the model. `lazy` is a device that CPU builds of torch know.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = torch.device("lazy")
COPIES = (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)


class Elsewhere(torch.Tensor):
    """A tensor on the accelerator; `here` has its numbers."""

    here: torch.Tensor

    @staticmethod
    def __new__(cls, here: torch.Tensor) -> "Elsewhere":
        strides, kind = here.stride(), here.dtype
        made = torch.Tensor._make_wrapper_subclass(cls, here.shape, strides=strides, dtype=kind, device=DEVICE)
        made.here = here
        return made

    def tolist(self) -> Any:
        return self.here.tolist()

    def new_tensor(self, data: Any, **options: Any) -> torch.Tensor:
        return Elsewhere(self.here.new_tensor(data, **options))

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return compute(function, args, kwargs or {})


def compute(function: Any, args: Any, kwargs: Any) -> Any:
    """The operation on the CPU; its outcome is where its inputs are, or where `device` says."""
    tensors = [each for each in tree_flatten((args, kwargs))[0] if isinstance(each, torch.Tensor)]
    far = [each for each in tensors if isinstance(each, Elsewhere)]
    # as on a real one, a single number may come from the CPU, and so may indices
    near = [each for each in tensors if not isinstance(each, Elsewhere) and each.dim() > 0]
    if far and near and function not in (*COPIES, torch.ops.aten.index.Tensor):
        raise RuntimeError(f"{function}: some tensors are on the accelerator, some on the CPU")
    device = kwargs.get("device")
    goes_far = bool(far) if device is None else torch.device(device).type == DEVICE.type
    kwargs = {name: "cpu" if name == "device" and value is not None else value for name, value in kwargs.items()}
    args, kwargs = tree_map(lambda each: each.here if isinstance(each, Elsewhere) else each, (args, kwargs))
    outcome = function(*args, **kwargs)
    if function._schema.is_mutable and far:
        return far[0]
    return tree_map(lambda each: Elsewhere(each) if isinstance(each, torch.Tensor) and goes_far else each, outcome)


class Mode(TorchDispatchMode):
    """Sees the operations that make tensors, too."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return compute(function, args, kwargs or {})


@contextmanager
def accelerator() -> Iterator[torch.device]:
    """Within this the machine has such a device."""
    plain = torch.tensor

    def tensor(data: Any, *, device: Any = None, **options: Any) -> torch.Tensor:
        """torch's own would ask the device itself for memory."""
        made = plain(data, **options)
        return made if made.is_meta else made.to(device or "cpu")  # an outline of a model is nowhere

    with (
        Mode(),
        mock.patch.object(torch, "tensor", tensor),
        # of these torch has one for each real device
        mock.patch.object(torch, "autocast", lambda *_, **__: nullcontext()),
        mock.patch.object(torch, "is_autocast_enabled", lambda kind: False),
        mock.patch.object(torch.accelerator, "is_available", lambda: True),
        mock.patch.object(torch.accelerator, "current_accelerator", lambda: DEVICE),
    ):
        yield DEVICE
