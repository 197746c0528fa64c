"""Captions of image files by one or several runs, as lines or as a gallery page that holds everything in one file."""

import argparse
import base64
import html
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bangbang.cli.runs import open_runs
from bangbang.cli.streams import print_json, print_line
from bangbang.errors import InputError

if TYPE_CHECKING:
    from PIL import Image
    from torch import Tensor

    from bangbang.decoding import Hypothesis
    from bangbang.features import Encoder
    from bangbang.training import Run


STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 16px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 1200px; padding: 0 1rem; }
h1 { font-size: 1.25rem; font-weight: 600; margin: 0 0 .25rem; }
p.note { margin: 0 0 1.5rem; opacity: .7; }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(240px, 1fr)); gap: 1.25rem; }
figure { border: 1px solid var(--line); border-radius: 8px; margin: 0; overflow: hidden; }
figure img { background: var(--line); display: block; height: 200px; object-fit: contain; width: 100%; }
figcaption { padding: .75rem .9rem 1rem; }
.file { font-size: .8rem; opacity: .65; overflow-wrap: anywhere; }
dl { margin: .5rem 0 0; }
dt { font-size: .8rem; font-weight: 600; margin-top: .5rem; opacity: .75; }
dd { margin: 0; }
"""


def page(pictures: "Sequence[Picture]", columns: Sequence[tuple[str, Sequence[Sequence[str]]]]) -> str:
    """HTML of all pictures; `columns` has each run's name and, for every picture, its captions, best first."""
    figures = "\n".join(
        figure(picture, [(name, texts[place]) for name, texts in columns]) for place, picture in enumerate(pictures)
    )
    runs = ", ".join(html.escape(name) for name, _ in columns)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Captions by {runs}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<h1>What each run says</h1>\n<p class="note">{len(pictures)} pictures, captioned by {runs}</p>\n'
        f"<main>\n{figures}\n</main>\n</body>\n</html>\n"
    )


def figure(picture: "Picture", said: Sequence[tuple[str, Sequence[str]]]) -> str:
    rows = "".join(
        f"<dt>{html.escape(name)}</dt>" + "".join(f"<dd>{html.escape(text) or '<i>nothing</i>'}</dd>" for text in texts)
        for name, texts in said
    )
    name, best = html.escape(picture.path.name), html.escape(said[0][1][0], quote=True)
    return (
        f'<figure><img src="{data_address(picture)}" alt="{best}">'
        f'<figcaption><div class="file">{name}</div><dl>{rows}</dl></figcaption></figure>'
    )


def data_address(picture: "Picture") -> str:
    """The picture as an address that holds its bytes."""
    stream = io.BytesIO()
    picture.image.save(stream, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(stream.getvalue()).decode("ascii")


PAGE_PIXELS = 480  # of a picture's longer side on the page, at most: enough for screens of double density


class Picture(NamedTuple):
    path: Path
    image: "Image.Image"
    """Made smaller, for the page."""
    features: "dict[str, Tensor]"
    """By encoder. [F]"""


class Said(NamedTuple):
    """What a run says of one picture, best first."""

    hypotheses: "list[Hypothesis]"
    texts: list[str]


def run(arguments: argparse.Namespace) -> int:
    """`bangbang generate RUN [RUN ...] --image FILE [FILE ...]`."""
    from bangbang.features import open_encoder
    from bangbang.files import check_place, write_output
    from bangbang.training import Run

    if arguments.html:
        check_place(arguments.html)
    runs = [open_runs(arguments)] if arguments.ensemble else [Run.open(folder) for folder in arguments.runs]
    encoders = {name: open_encoder(name) for name in {encoder_name(each, arguments.encoder) for each in runs}}
    pictures, unreadable = read_pictures(image_files(arguments.image), encoders)
    if pictures:
        said = [caption(each, pictures, arguments) for each in runs]
        if arguments.html:
            titles = [f"{name}: {method(each)}" for name, each in zip(names(runs), runs, strict=True)]
            columns = [(title, [one.texts for one in column]) for title, column in zip(titles, said, strict=True)]
            write_output(arguments.html, page(pictures, columns))
            print(f"{arguments.html}: {len(pictures)} pictures, {len(runs)} runs", file=sys.stderr)
        if arguments.json or not arguments.html:
            write(pictures, runs, said, arguments)
    if unreadable:
        raise InputError(f"{len(unreadable)} of {len(pictures) + len(unreadable)} images left out: {unreadable[0]}")
    return 0


def encoder_name(run: "Run", given: str | None) -> str:
    """The encoder that made the features the run was trained on; one that is loaded from elsewhere must be `given`."""
    from bangbang.features import chooses_a_model

    facts = run.image_features
    if facts is None:
        raise InputError(f"{run.folder}: reads text, not images; leave out --image")
    name = given or str(facts["encoder"])
    if not name:
        raise InputError(f"{run.folder}: its features do not say which encoder made them; add --encoder NAME")
    if not given and chooses_a_model(name):
        raise InputError(
            f"{run.folder}: its features were made by {name!r}, and a run folder does not choose what is loaded; "
            f"if you trust that model, add --encoder {name!r}"
        )
    return name


def image_files(given: Sequence[Path]) -> list[Path]:
    """Files as given; of a folder, all images below it."""
    from bangbang.features import image_names

    files: list[Path] = []
    for path in given:
        files += [path / name for name in image_names(path)] if path.is_dir() else [path]
    if not files:
        raise InputError(f"{given[0]}: no image in it")
    return files


def read_pictures(files: Sequence[Path], encoders: "dict[str, Encoder]") -> tuple[list[Picture], list[str]]:
    """The images that can be read, with their features; and why the others cannot, which stderr is told as well."""
    from rich.progress import track

    from bangbang.features import UnreadableImageError, read_image
    from bangbang.terminal import Console

    pictures, unreadable = [], []
    console = Console(stderr=True)
    for path in track(files, "reading images", console=console, transient=True, disable=not console.is_terminal):
        try:
            image = read_image(path)
        except UnreadableImageError as error:
            unreadable.append(str(error))
            if len(unreadable) > 1:  # the first is named by the error at the end
                print(f"bangbang: left out: {error}", file=sys.stderr)
            continue
        # in half precision, as `bangbang features` keeps them
        rows = {name: encoder.encode([image])[0].half().float() for name, encoder in encoders.items()}
        image.thumbnail((PAGE_PIXELS, PAGE_PIXELS))
        pictures.append(Picture(path, image, rows))
    return pictures, unreadable


def caption(run: "Run", pictures: Sequence[Picture], arguments: argparse.Namespace) -> list[Said]:
    """What a run says of each picture."""
    import torch

    from bangbang.cli.generate import decoding_config, texts_of
    from bangbang.decoding import decoding_device, generate
    from bangbang.training.utilities import run_utility

    name = encoder_name(run, arguments.encoder)
    features = torch.stack([picture.features[name] for picture in pictures])  # [N, F]
    device = decoding_device()
    model = run.load_model(arguments.checkpoint, device)
    size = (run.image_features or {})["size"]
    if features.shape[1] != size:
        raise InputError(f"{run.folder}: reads {size} features, but {name} gives {features.shape[1]}")
    decoding, length = decoding_config(run.config.decoding, arguments), run.config.data.max_target_length
    utility = run_utility(run, decoding)
    found = generate(model, features, decoding, length, arguments.nbest, arguments.seed, 0, device, utility=utility)
    text_of = texts_of(run, arguments.written or bool(arguments.html))
    return [Said(each, list(map(text_of, each))) for each in found]


def names(runs: "Sequence[Run]") -> list[str]:
    """A short name for each run: its folder's, or its path where two are called the same."""
    last = [run.folder.absolute().name for run in runs]
    return last if len(set(last)) == len(last) else [str(run.folder) for run in runs]


def method(run: "Run") -> str:
    """How a run was trained, in a word or two."""
    return run.config.label


def write(pictures: list[Picture], runs: "list[Run]", said: list[list[Said]], arguments: argparse.Namespace) -> None:
    """A line for each caption: file, run (if there are several), score (if asked for), text."""
    for place, picture in enumerate(pictures):
        for name, column in zip(names(runs), said, strict=True):
            hypotheses, texts = column[place]
            if arguments.json:
                outputs = [
                    {"text": text, "score": each.score, "log_prob": each.log_prob}
                    for text, each in zip(texts, hypotheses, strict=True)
                ]
                print_json({"image": str(picture.path), "run": name, "outputs": outputs})
                continue
            for text, each in zip(texts, hypotheses, strict=True):
                columns = [str(picture.path), *([name] if len(runs) > 1 else [])]
                columns += [f"{each.score:.4f}"] if arguments.scores else []
                print_line(*columns, text)
