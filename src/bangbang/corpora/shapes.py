"""`shapes`: drawn scenes of one or two coloured shapes, and captions made by rule. Synthetic, and labelled so.

The corpus is a folder like any other of captioned images: pictures, `captions.json` and features, made once.
"""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bangbang.consent import CACHE, PATH, Consent
from bangbang.corpora.captions import DRAWN
from bangbang.corpora.captions import reader as captions_reader
from bangbang.corpora.pairs import Reader
from bangbang.corpora.settings import Shapes
from bangbang.errors import InputError
from bangbang.features import extract, open_encoder
from bangbang.features.images import pillow
from bangbang.files import new_file, whole_folder, write_whole
from bangbang.progress import ProgressBars

if TYPE_CHECKING:
    import PIL.ImageDraw
    from PIL import Image

VERSION = 1  # raised when the same options draw other scenes
SCENES = f"shapes-scenes-{VERSION}"
SIZE, SCALE = 96, 3  # pixels of a picture's side; drawn larger and made smaller, for smooth edges
CAPTIONS = 5
COUNTS = {"train": 3_000, "valid": 300, "test": 300}
COLOURS = {
    "red": (214, 39, 40),
    "green": (44, 160, 44),
    "blue": (31, 119, 180),
    "yellow": (240, 200, 0),
    "purple": (148, 103, 189),
    "orange": (255, 127, 14),
}
SHAPES = ("circle", "square", "triangle", "star", "cross")
SIZES = {"small": 0.10, "large": 0.19}  # radius as a share of the side
GROUNDS = {"white": (255, 255, 255), "black": (20, 20, 20), "grey": (150, 150, 150)}
RELATIONS = {"left of": (-1, 0), "right of": (1, 0), "above": (0, -1), "below": (0, 1)}


class Thing(NamedTuple):
    size: str
    colour: str
    shape: str

    def __str__(self) -> str:
        return f"{self.size} {self.colour} {self.shape}"


class Scene(NamedTuple):
    ground: str
    things: tuple[Thing, ...]
    relation: str
    """How the first thing lies to the second; empty for one thing alone."""


def scenes_folder(data: Shapes) -> Path:
    return Path(data.path) if data.path else Path(data.cache) / SCENES


def are_drawn(folder: Path) -> bool:
    return (folder / "captions.json").is_file()


def reader(data: Shapes) -> Reader:
    return captions_reader(scenes_folder(data))


def draw_missing(data: Shapes, consent: Consent) -> None:
    """Draw the scenes into `data.path`, or else `data.cache`, unless they are there already."""
    folder = scenes_folder(data)
    if are_drawn(folder):
        return
    place = consent.required(PATH, data.path) if data.path else consent.required(CACHE, data.cache) / SCENES
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder}: is not empty; give an empty or new folder for the scenes as data.path")
    with ProgressBars(shown=True) as shown, shown.task("drawing shapes") as progress:
        draw_corpus(place, COUNTS, progress)


def draw_corpus(
    folder: Path, counts: dict[str, int], progress: Callable[[int, int], object] = lambda done, total: None
) -> None:
    """Pictures, captions and features of so many scenes per split; `progress` is told (scenes done, of how many)."""
    with whole_folder(folder) as draft:
        entries = []
        for split, count in counts.items():
            for number in range(count):
                rng = np.random.default_rng([VERSION, list(counts).index(split), number])
                scene = random_scene(rng)
                name = f"{DRAWN}{split}-{number:05d}.png"
                with new_file(draft / name) as file:
                    draw(scene, rng).save(file, "PNG")
                entries.append({"filename": name, "split": split, "raw": describe(scene, rng)})
                progress(len(entries), sum(counts.values()))
        extract(draft, draft, open_encoder("untrained"))
        album = {"synthetic": "drawn scenes and captions made by rule", "images": entries}
        write_whole(draft / "captions.json", json.dumps(album, indent=0) + "\n")


def random_scene(rng: np.random.Generator) -> Scene:
    def pick(options: object) -> str:
        return str(rng.choice(list(options)))  # type: ignore[call-overload]

    first, second = (Thing(pick(SIZES), pick(COLOURS), pick(SHAPES)) for _ in range(2))
    if rng.random() < 0.3 or first == second:
        return Scene(pick(GROUNDS), (first,), "")
    return Scene(pick(GROUNDS), (first, second), pick(RELATIONS))


def describe(scene: Scene, rng: np.random.Generator) -> list[str]:
    """Different captions of a scene, as different people might put it."""
    return [str(text) for text in rng.permutation(list(sentences(scene)))[:CAPTIONS]]


def sentences(scene: Scene) -> Iterator[str]:
    first = scene.things[0]
    on = f"on a {scene.ground} background"
    if not scene.relation:
        yield f"a {first}"
        yield f"a {first} {on}"
        yield f"there is a {first}"
        yield f"there is a {first} {on}"
        yield f"a picture of a {first}"
        return
    second = scene.things[1]
    opposite = dict(zip(RELATIONS, ("right of", "left of", "below", "above"), strict=True))[scene.relation]
    yield f"a {first} {scene.relation} a {second}"
    yield f"a {first} {scene.relation} a {second} {on}"
    yield f"there is a {first} {scene.relation} a {second}"
    yield f"a {second} {opposite} a {first}"
    yield f"a {first} and a {second} {on}"


def draw(scene: Scene, rng: np.random.Generator) -> "Image.Image":
    """The scene as a picture: one thing near the middle, two on opposite sides of it."""
    library = pillow()
    side = SIZE * SCALE
    picture = library.Image.new("RGB", (side, side), GROUNDS[scene.ground])
    pen = library.ImageDraw.Draw(picture)
    towards = RELATIONS.get(scene.relation, (0, 0))
    for thing, sign in zip(scene.things, (1, -1), strict=False):
        jitter = rng.uniform(-0.05, 0.05, 2)
        x, y = (0.5 + 0.25 * sign * way + shift for way, shift in zip(towards, jitter, strict=True))
        outline(pen, thing, x * side, y * side, SIZES[thing.size] * side)
    drawn: Image.Image = picture.resize((SIZE, SIZE), library.Image.Resampling.BOX)
    return drawn


def outline(pen: "PIL.ImageDraw.ImageDraw", thing: Thing, x: float, y: float, radius: float) -> None:
    fill = COLOURS[thing.colour]
    if thing.shape == "circle":
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)
    elif thing.shape == "cross":
        arm = radius / 3
        pen.rectangle((x - radius, y - arm, x + radius, y + arm), fill=fill)
        pen.rectangle((x - arm, y - radius, x + arm, y + radius), fill=fill)
    else:
        pen.polygon(list(corners(thing.shape, x, y, radius)), fill=fill)


def corners(shape: str, x: float, y: float, radius: float) -> Iterator[tuple[float, float]]:
    """The corners of a square (4), triangle (3) or star (10, every other one further in), the first on top."""
    count = {"square": 4, "triangle": 3, "star": 10}[shape]
    turn = math.pi / 4 if shape == "square" else 0.0
    for corner in range(count):
        reach = radius * (0.45 if shape == "star" and corner % 2 else 1.0) * (1.15 if shape == "square" else 1.0)
        angle = 2 * math.pi * corner / count + turn
        yield x + reach * math.sin(angle), y - reach * math.cos(angle)
