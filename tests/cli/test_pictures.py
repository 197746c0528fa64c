"""`bangbang generate --image`: captions of files, odd files, and the gallery."""

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from bangbang import features
from bangbang.cli.main import main
from bangbang.features import open_encoder
from bangbang.training import Run
from bangbang.training.evaluation import decode_run


def test_a_file_is_captioned_as_in_evaluation(shapes_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run.open(shapes_run)
    decoded = decode_run(run, run.corpus().split("test"), run.config.decoding, limit=6)
    scenes = shapes_run.parent / "scenes"
    files = [str(scenes / name) for name in decoded.sources]
    assert main(["generate", str(shapes_run), "--image", *files]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == files
    assert [row[1] for row in rows] == decoded.outputs
    assert len(set(decoded.outputs)) > 1
    for file, output in zip(files[:3], decoded.outputs, strict=False):
        assert main(["generate", str(shapes_run), "--image", file]) == 0
        assert capsys.readouterr().out == f"{file}\t{output}\n"


def odd_images(folder: Path, scene: Path) -> list[Path]:
    image = Image.open(scene).convert("RGB")
    exif = Image.Exif()
    exif[0x0112] = 3
    image.convert("L").save(folder / "grey.png")
    image.convert("CMYK").save(folder / "cmyk.jpg")
    image.convert("RGBA").save(folder / "alpha.png")
    image.save(folder / "turned.jpg", exif=exif)
    image.resize((1, 1)).save(folder / "pixel.png")
    image.resize((3, 2000)).save(folder / "thin.png")
    image.resize((5000, 4000)).save(folder / "large.jpg")
    return sorted(folder.iterdir())


def test_odd_images_are_captioned_and_bad_ones_named(
    shapes_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = odd_images(tmp_path, next((shapes_run.parent / "scenes").glob("*.png")))
    (tmp_path / "bad.png").write_bytes(b"no image")
    assert main(["generate", str(shapes_run), "--image", str(tmp_path), str(tmp_path / "none.jpg")]) == 2
    captured = capsys.readouterr()
    rows = [line.split("\t") for line in captured.out.splitlines()]
    assert [Path(row[0]) for row in rows] == files and all(len(row) == 2 and row[1] for row in rows)
    assert "bad.png: not an image" in captured.err and "none.jpg: no such file" in captured.err
    assert "2 of 9 images left out" in captured.err


def test_nbest_scores_and_json(shapes_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(next((shapes_run.parent / "scenes").glob("*.png")))
    assert main(["generate", str(shapes_run), "--image", file, "--nbest", "3", "--scores"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 3 and float(rows[0][1]) >= float(rows[1][1]) >= float(rows[2][1])
    assert main(["generate", str(shapes_run), str(shapes_run), "--image", file, "--nbest", "3", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["run"] for record in records] == [str(shapes_run)] * 2  # told apart by path: both are called run
    assert [each["text"] for each in records[0]["outputs"]] == [row[2] for row in rows]


def test_the_gallery(shapes_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "<b>other"
    other.symlink_to(shapes_run)
    pictures = tmp_path / "in"
    pictures.mkdir()
    for number, scene in enumerate(sorted((shapes_run.parent / "scenes").glob("*.png"))[:3]):
        Image.open(scene).save(pictures / f"{number}&.png")
    page = tmp_path / "page.html"
    assert main(["generate", str(shapes_run), "--image", str(pictures)]) == 0
    said = [line.split("\t")[1] for line in capsys.readouterr().out.splitlines()]
    assert main(["generate", str(shapes_run), str(other), "--image", str(pictures), "--html", str(page)]) == 0
    text = page.read_text()
    assert text.count("data:image/jpeg;base64,") == 3 and text.count("<figure>") == 3
    assert re.findall(r'alt="([^"]*)"', text) == said
    assert re.findall(r"<dd>([^<]*)</dd>", text) == [each for each in said for _ in range(2)]
    assert "0&amp;.png" in text and "0&.png" not in text
    assert text.count("<dt>&lt;b&gt;other: MLE</dt>") == 3 and text.count("<dt>run: MLE</dt>") == 3
    assert "http" not in text.replace("http-equiv", "")  # nothing is loaded from elsewhere


def test_a_page_that_cannot_be_written_is_named(
    shapes_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, page = next((shapes_run.parent / "scenes").glob("*.png")), tmp_path / "missing/page.html"
    assert main(["generate", str(shapes_run), "--image", str(file), "--html", str(page)]) == 2
    message = f"bangbang: error: {page}: cannot be written; {page.parent} is not a folder, or is read-only\n"
    assert capsys.readouterr().err == message


def test_options_that_do_not_go_together(
    shapes_run: Path, tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    file = str(next((shapes_run.parent / "scenes").glob("*.png")))
    for arguments, message in (
        ([str(shapes_run)], "reads images, not text: add --image"),
        ([str(tiny_run), "--image", file], "reads text, not images"),
        ([str(tiny_run), str(tiny_run)], "add --image"),
        ([str(tiny_run), "--html", "x.html"], "add --image"),
        ([str(shapes_run), "--image", str(tmp_path / "empty")], "no image in it"),
        ([str(shapes_run), "--image", file, "--encoder", "nothing"], "unknown encoder"),
    ):
        assert main(["generate", *arguments]) == 2
        assert message in capsys.readouterr().err


def run_that_names(encoder: str, original: Path, folder: Path) -> Path:
    """A copy of a run whose features claim to be of another encoder."""
    folder.mkdir()
    for path in original.iterdir():
        if path.name != "corpus.json":
            (folder / path.name).symlink_to(path)
    facts = json.loads((original / "corpus.json").read_text())
    facts["features"]["encoder"] = encoder
    (folder / "corpus.json").write_text(json.dumps(facts))
    return folder


@pytest.mark.parametrize("name", ["hf:nobody/nothing", "timm:inception_v3", "timm:hf-hub:nobody/nothing"])
def test_a_run_folder_does_not_choose_what_is_loaded(
    shapes_run: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_that_names(name, shapes_run, tmp_path / "run")
    file = str(next((shapes_run.parent / "scenes").glob("*.png")))
    opened: list[str] = []
    monkeypatch.setattr(features, "open_encoder", lambda name: opened.append(name) or open_encoder("untrained"))
    assert main(["generate", str(run), "--image", file]) == 2
    assert f"if you trust that model, add --encoder {name!r}" in capsys.readouterr().err and opened == []
    assert main(["generate", str(run), "--image", file, "--encoder", name]) == 0
    assert opened == [name]


def test_features_that_do_not_say_their_encoder(
    shapes_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_that_names("", shapes_run, tmp_path / "run")
    file = str(next((shapes_run.parent / "scenes").glob("*.png")))
    assert main(["generate", str(run), "--image", file]) == 2
    assert "add --encoder NAME" in capsys.readouterr().err
    assert main(["generate", str(run), "--image", file, "--encoder", "untrained"]) == 0
