"""Networks that turn images into features, by name.

Shapes: B images, F features, H height, W width of a network's input.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from bangbang.errors import InputError
from bangbang.features.images import View

if TYPE_CHECKING:
    from PIL import Image
    from torch import Tensor

# name, or the part before its colon -> the module whose `load(rest of the name)` gives the network and its view
ENCODERS = {
    "efficientnet-lite0": "bangbang.features.efficientnet",
    "untrained": "bangbang.features.untrained",
    "hf": "bangbang.features.transformers_model",
    "timm": "bangbang.features.timm_model",
}
CHOOSING = ("hf", "timm")  # the rest of the name chooses what is downloaded or loaded
KNOWN = "efficientnet-lite0, hf:<id or path>, timm:<model> such as timm:inception_v3, untrained"


class Network(NamedTuple):
    view: View
    pooled: "Callable[[Tensor], Tensor]"
    """From pixels [B, 3, H, W] to features [B, F]."""


class Encoder:
    """A pretrained network, opened by name."""

    def __init__(self, name: str, network: Network) -> None:
        self.name, self.network = name, network

    def encode(self, images: "Sequence[Image.Image]") -> "Tensor":
        """The features [B, F] of RGB images, float32."""
        import torch

        with torch.inference_mode():
            pixels = torch.stack([self.network.view.pixels(image) for image in images])
            return self.network.pooled(pixels).float().flatten(1)


def chooses_a_model(name: str) -> bool:
    """Whether to open this encoder is to load a model of somebody's choice; only the user may choose one."""
    return name.partition(":")[0] in CHOOSING


def open_encoder(name: str) -> Encoder:
    """The encoder of a name such as `efficientnet-lite0`, `hf:<id or path>` or `timm:inception_v3`."""
    kind, colon, rest = name.partition(":")
    if kind not in ENCODERS or bool(colon) != (kind in CHOOSING) or (colon and not rest):
        raise InputError(f"unknown encoder {name!r}; known are {KNOWN}")
    network: Network = import_module(ENCODERS[kind]).load(rest)
    return Encoder(name, network)
