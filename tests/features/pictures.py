"""Pictures for the tests, drawn on the spot."""

from pathlib import Path

import numpy as np
from PIL import Image


def gradient(width: int = 40, height: int = 30) -> Image.Image:
    """A picture that differs in all four corners: red grows to the right, green downwards, blue is even."""
    red, green = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return Image.fromarray(np.stack([red, green, np.full_like(red, 60)], -1).astype(np.uint8))


def save_pictures(folder: Path, count: int) -> list[str]:
    """Pictures of different colours and sizes; their names, in order."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for number in range(count):
        colour = tuple(int(part) for part in np.random.default_rng(number).integers(0, 256, 3))
        picture = gradient(30 + number, 50 - number)
        Image.blend(picture, Image.new("RGB", picture.size, colour), 0.6).save(folder / f"{number:03d}.png")
        names.append(f"{number:03d}.png")
    return names
