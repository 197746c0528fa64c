"""Two layers of fixed random convolutions: features for drawn shapes and for tests, with nothing to download.

Shapes: B images, C channels.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from bangbang.features.encoders import Network
from bangbang.features.images import BILINEAR, View

SIZE, GRID, CHANNELS, KERNEL, SEED = 48, 3, (32, 96), 5, 1
VIEW = View(SIZE, SIZE, None, (0.5,) * 3, (0.25,) * 3, BILINEAR)


def load(_: str) -> Network:
    """ReLU features of random filters of unit norm, averaged over each cell of a 3 x 3 grid."""
    generator = torch.Generator().manual_seed(SEED)
    layers = []
    for inputs, outputs in zip((3, *CHANNELS), CHANNELS, strict=False):
        filters = torch.randn(outputs, inputs, KERNEL, KERNEL, generator=generator)
        layers.append(filters / filters.flatten(1).norm(dim=1).view(-1, 1, 1, 1))

    def pooled(pixels: Tensor) -> Tensor:
        for filters in layers:
            pixels = F.relu(F.conv2d(pixels, filters, stride=2, padding=KERNEL // 2))
        return F.adaptive_avg_pool2d(pixels, GRID).flatten(1)  # [B, C·9]

    return Network(VIEW, pooled)
