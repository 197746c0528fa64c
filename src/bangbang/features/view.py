"""How a network wants to see an image: cut, size and scale.

Shapes: H height, W width of the network's input.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from PIL import Image
    from torch import Tensor

BILINEAR, BICUBIC = 2, 3  # Pillow's numbers


class View(NamedTuple):
    height: int
    width: int
    share: float | None
    """The share of the image's shorter side that is kept around its middle; None: the whole image, squeezed."""
    mean: tuple[float, ...]
    """Of each colour, on a scale from 0 to 1; taken off."""
    deviation: tuple[float, ...]
    """Of each colour; divided by."""
    resample: int = BICUBIC

    def pixels(self, image: "Image.Image") -> "Tensor":
        """The image as the network's input, [3, H, W].

        Cut and size change in one step: a long, thin image is never blown up before it is cut.
        """
        import torch

        seen = image.resize((self.width, self.height), self.resample, box=self.box(*image.size))
        colours = torch.from_numpy(np.array(seen)).permute(2, 0, 1).float() / 255
        mean, deviation = (torch.tensor(values).view(3, 1, 1) for values in (self.mean, self.deviation))
        return ((colours - mean) / deviation).contiguous()

    def box(self, width: int, height: int) -> tuple[float, float, float, float]:
        """What is kept of an image: left, top, right, bottom."""
        if self.share is None:
            return 0, 0, width, height
        scale = self.share * min(width / self.width, height / self.height)
        kept_width, kept_height = self.width * scale, self.height * scale
        left, top = (width - kept_width) / 2, (height - kept_height) / 2
        return left, top, left + kept_width, top + kept_height
