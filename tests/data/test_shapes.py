"""The synthetic corpus: the same for everyone, captions that are true, and labelled as synthetic."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bangbang.cli.main import main
from bangbang.consent import FULL
from bangbang.corpora import shapes
from bangbang.corpora.settings import Shapes
from bangbang.errors import InputError
from bangbang.features import FeatureTable


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drawn") / "scenes"
    shapes.draw_corpus(folder, {"train": 30, "valid": 10, "test": 10})
    return folder


def entries(folder: Path) -> list[dict[str, object]]:
    images: list[dict[str, object]] = json.loads((folder / "captions.json").read_text())["images"]
    return images


def test_pictures_captions_and_features_belong_together(drawn: Path) -> None:
    images = entries(drawn)
    assert len(images) == 50 and all(len(image["raw"]) == 5 for image in images)  # type: ignore[arg-type]
    table = FeatureTable.open(drawn)
    assert table.encoder == "untrained" and set(table.names) == {image["filename"] for image in images}


def test_the_same_scenes_every_time(drawn: Path, tmp_path: Path) -> None:
    shapes.draw_corpus(tmp_path / "again", {"train": 30, "valid": 10, "test": 10})
    assert entries(tmp_path / "again") == entries(drawn)
    name = str(entries(drawn)[3]["filename"])
    assert (tmp_path / "again" / name).read_bytes() == (drawn / name).read_bytes()
    # the number of scenes does not change what the first ones are, and splits differ
    shapes.draw_corpus(tmp_path / "fewer", {"train": 3, "valid": 2})
    assert entries(tmp_path / "fewer")[:3] == entries(drawn)[:3]
    texts = [str(image["raw"]) for image in entries(drawn)]
    assert texts[:10] != texts[30:40]


def test_what_the_captions_say_is_in_the_picture() -> None:
    rng = np.random.default_rng(5)
    for relation, (x, y) in shapes.RELATIONS.items():
        one, two = shapes.Thing("large", "red", "circle"), shapes.Thing("large", "blue", "square")
        picture = np.asarray(shapes.draw(shapes.Scene("white", (one, two), relation), rng), dtype=np.int64)
        centres = []
        for colour in ("red", "blue"):
            near = np.abs(picture - np.array(shapes.COLOURS[colour])).sum(2) < 30
            assert near.sum() > 100
            centres.append([axis.mean() for axis in near.nonzero()][::-1])  # x, y
        offset = np.subtract(*centres)
        assert offset @ (x, y) > 20 and abs(offset @ (y, x)) < 15
        sentences = list(shapes.sentences(shapes.Scene("white", (one, two), relation)))
        assert f"a large red circle {relation} a large blue square" in sentences and len(set(sentences)) == 5
        (turned,) = [text for text in sentences if text.startswith("a large blue square")]
        other = turned.removeprefix("a large blue square ").removesuffix(" a large red circle")
        assert shapes.RELATIONS[other] == (-x, -y)


def test_every_shape_and_size_looks_different() -> None:
    seen = {}
    for shape in shapes.SHAPES:
        for size in shapes.SIZES:
            scene = shapes.Scene("white", (shapes.Thing(size, "green", shape),), "")
            seen[shape, size] = np.asarray(shapes.draw(scene, np.random.default_rng(0)), dtype=np.int64)
            assert len(set(shapes.sentences(scene))) == 5
    pictures = list(seen.values())
    distances = [np.abs(a - b).mean() for i, a in enumerate(pictures) for b in pictures[:i]]
    assert min(distances) > 1


def test_it_is_labelled_as_synthetic(drawn: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "synthetic" in json.loads((drawn / "captions.json").read_text())
    assert all(str(image["filename"]).startswith("synthetic-") for image in entries(drawn))
    assert Image.open(drawn / str(entries(drawn)[0]["filename"])).size == (shapes.SIZE, shapes.SIZE)
    arguments = ["data", "shapes", "--path", str(drawn), "--out", str(tmp_path / "cache")]
    assert main(arguments) == 0
    assert "synthetic" in capsys.readouterr().out


def test_a_folder_with_other_things_is_not_drawn_into(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    assert main(["data", "shapes", "--path", str(tmp_path)]) == 2
    assert "not empty" in capsys.readouterr().err and (tmp_path / "mine.txt").read_text() == "precious"
    with pytest.raises(InputError, match="not empty"):
        shapes.draw_missing(Shapes(path=str(tmp_path)), FULL)
