"""Reading images, and how a network wants to see them: cut, size and scale.

Shapes: H height, W width of the network's input.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from bangbang.errors import InputError
from bangbang.plain_files import open_plain

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


ENDINGS = (".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff")
ROOM = 1024  # pixels: JPEGs are decoded no larger than needed for a short side of this


class UnreadableImageError(InputError):
    """An image file that cannot be used, and why."""


def pillow() -> Any:
    """The Pillow package."""
    try:
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageOps
    except ImportError:
        raise InputError("images need Pillow: pip install 'bangbang[captions]'") from None
    return PIL


def read_image(path: Path) -> "Image.Image":
    """The image as a person sees it: turned as its EXIF data say, on white where transparent, first frame, in RGB."""
    try:
        with open_plain(path) as file:
            return decode_image(file, str(path))
    except FileNotFoundError:
        raise UnreadableImageError(f"{path}: no such file") from None
    except OSError as error:  # a pipe, a folder, no permission
        raise UnreadableImageError(f"{path}: not an image ({error.strerror})") from None


def decode_image(
    source: BinaryIO, name: str, formats: Sequence[str] | None = None, most_pixels: int | None = None
) -> "Image.Image":
    """As `read_image`, of a file that is open already; `formats` are those of Pillow's that are tried (all)."""
    library = pillow()
    try:
        # warnings are of sizes that are large but not refused, and of odd EXIF data
        with warnings.catch_warnings(action="ignore"), library.Image.open(source, formats=formats) as image:
            width, height = image.size
            if most_pixels is not None and width * height > most_pixels:
                raise library.Image.DecompressionBombError(f"{width:,} x {height:,}")
            if min(width, height) > ROOM:
                image.draft("RGB", (width * ROOM // min(width, height), height * ROOM // min(width, height)))
            return to_rgb(library.ImageOps.exif_transpose(image), library)
    except library.Image.DecompressionBombError as error:  # Pillow's own limit, or a smaller one
        raise UnreadableImageError(f"{name}: too many pixels ({error})") from None
    except Exception as error:  # damaged files fail anywhere in Pillow's decoders: OSError, SyntaxError, struct.error
        reason = "not an image" if isinstance(error, library.UnidentifiedImageError) else f"damaged image ({error})"
        raise UnreadableImageError(f"{name}: {reason}") from None


def to_rgb(image: "Image.Image", library: Any) -> "Image.Image":
    """Any mode of Pillow's as RGB."""
    if image.mode.startswith("I"):  # 16-bit grey: Pillow's own conversion would clip it to white
        image = image.convert("I").point(lambda value: value / 256, "L")
    if image.mode == "F":
        image = image.point(lambda value: value, "L")
    if "A" in image.mode or "a" in image.mode or "transparency" in image.info:
        image = image.convert("RGBA")
        white = library.Image.new("RGBA", image.size, (255, 255, 255, 255))
        image = library.Image.alpha_composite(white, image)
    return image.convert("RGB")
