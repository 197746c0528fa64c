"""From a folder of images to a table of features: resumable, and without what cannot be read."""

import json
import resource
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bangbang.cli.main import main
from bangbang.errors import InputError
from bangbang.features import FeatureTable, extract, open_encoder
from bangbang.features import extraction as module
from tests.features.pictures import gradient, save_pictures


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PART_IMAGES", 4)
    monkeypatch.setattr(module, "BATCH", 3)


def rows(folder: Path) -> dict[str, bytes]:
    table = FeatureTable.open(folder)
    return {name: table.array[row].tobytes() for row, name in enumerate(table.names)}


def test_a_table_of_all_readable_images(tmp_path: Path, small_parts: None) -> None:
    names = save_pictures(tmp_path / "in/deep", 11)
    (tmp_path / "in/bad.jpg").write_bytes(b"no image")
    (tmp_path / "in/.hidden.png").write_bytes(b"no image")
    (tmp_path / "in/notes.txt").write_text("not looked at")
    told: list[str] = []
    steps: list[tuple[int, int]] = []
    outcome = extract(
        tmp_path / "in",
        tmp_path / "out",
        open_encoder("untrained"),
        done=lambda done, total: steps.append((done, total)),
        tell=told.append,
    )
    assert (outcome.computed, outcome.found) == (11, 0)
    assert outcome.skipped == told and len(told) == 1 and "bad.jpg" in told[0]
    assert steps == [(0, 12), (4, 12), (8, 12), (12, 12)]
    table = FeatureTable.open(tmp_path / "out")
    assert table.names == [f"deep/{name}" for name in names] and table.encoder == "untrained"
    assert isinstance(table.array, np.memmap) and table.array.dtype == np.float16
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["encoder.json", "features.npy", "names.txt"]
    # each row belongs to its own image
    encoder = open_encoder("untrained")
    for name in names[::5]:
        alone = encoder.encode([Image.open(tmp_path / "in/deep" / name)])[0].numpy()
        row = table.row(f"deep/{name}")
        assert row is not None
        np.testing.assert_allclose(table.take([row])[0], alone, rtol=2e-3, atol=1e-4)


def test_an_interrupted_call_goes_on(tmp_path: Path, small_parts: None, monkeypatch: pytest.MonkeyPatch) -> None:
    save_pictures(tmp_path / "in", 11)
    encoder = open_encoder("untrained")
    extract(tmp_path / "in", tmp_path / "whole", encoder)
    read = module.read_image
    seen: list[str] = []

    def cut_off(path: Path) -> Image.Image:
        if path.name == "009.png":
            raise KeyboardInterrupt
        seen.append(path.name)
        return read(path)

    monkeypatch.setattr(module, "read_image", cut_off)
    with pytest.raises(KeyboardInterrupt):
        extract(tmp_path / "in", tmp_path / "out", encoder)
    assert not FeatureTable.recognises(tmp_path / "out")
    monkeypatch.setattr(module, "read_image", lambda path: (seen.append(path.name), read(path))[1])
    seen.clear()
    outcome = extract(tmp_path / "in", tmp_path / "out", encoder)
    assert seen == ["008.png", "009.png", "010.png"]  # the two whole parts of four were kept
    assert (outcome.computed, outcome.found) == (3, 8)
    assert rows(tmp_path / "out") == rows(tmp_path / "whole")


def test_images_added_later_are_added(tmp_path: Path, small_parts: None) -> None:
    save_pictures(tmp_path / "in", 5)
    encoder = open_encoder("untrained")
    extract(tmp_path / "in", tmp_path / "out", encoder)
    before = rows(tmp_path / "out")
    again = extract(tmp_path / "in", tmp_path / "out", encoder)
    assert (again.computed, again.found) == (0, 5) and rows(tmp_path / "out") == before
    gradient().save(tmp_path / "in/000a.png")
    outcome = extract(tmp_path / "in", tmp_path / "out", encoder)
    assert (outcome.computed, outcome.found) == (1, 5)
    after = rows(tmp_path / "out")
    assert list(after) == sorted(after) and {name: after[name] for name in before} == before and len(after) == 6


def test_another_encoder_needs_another_folder(tmp_path: Path) -> None:
    save_pictures(tmp_path / "in", 2)
    extract(tmp_path / "in", tmp_path / "out", open_encoder("untrained"))
    (tmp_path / "out/encoder.json").write_text('{"encoder": "efficientnet-lite0"}')
    with pytest.raises(InputError, match="made by efficientnet-lite0, not untrained"):
        extract(tmp_path / "in", tmp_path / "out", open_encoder("untrained"))


def test_features_of_another_size_are_not_mixed(tmp_path: Path) -> None:
    save_pictures(tmp_path / "in", 2)
    encoder = open_encoder("untrained")
    extract(tmp_path / "in", tmp_path / "out", encoder)
    np.save(tmp_path / "out/features.npy", np.load(tmp_path / "out/features.npy")[:, :-1])
    save_pictures(tmp_path / "in", 3)
    with pytest.raises(InputError, match="863 and 864 features an image, all by untrained; choose another folder"):
        extract(tmp_path / "in", tmp_path / "out", encoder)


def test_nothing_readable_is_an_error(tmp_path: Path) -> None:
    encoder = open_encoder("untrained")
    with pytest.raises(InputError, match="no such folder"):
        extract(tmp_path / "none", tmp_path / "out", encoder)
    (tmp_path / "in").mkdir()
    with pytest.raises(InputError, match="no image in it"):
        extract(tmp_path / "in", tmp_path / "out", encoder)
    (tmp_path / "in/bad.png").write_bytes(b"")
    with pytest.raises(InputError, match=r"none of its 1 images can be read; .*bad\.png"):
        extract(tmp_path / "in", tmp_path / "out", encoder)


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_pictures(tmp_path / "in", 3)
    (tmp_path / "in/bad.png").write_bytes(b"")
    arguments = ["features", str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--encoder", "untrained"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert "3 images" in captured.out and "1 skipped" in captured.out
    assert "bad.png" in captured.err
    assert main([*arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["found"] == 3 and report["computed"] == 0 and len(report["skipped"]) == 1
    assert main([*arguments[:4], "--encoder", "resnet"]) == 2
    assert "known are efficientnet-lite0" in capsys.readouterr().err


@pytest.mark.parametrize(("limit", "found"), [(1_000, 0), (10_000, 11)])
def test_a_full_disk_is_a_clear_error_and_the_next_call_goes_on(
    tmp_path: Path, small_parts: None, limit: int, found: int, capsys: pytest.CaptureFixture[str]
) -> None:
    save_pictures(tmp_path / "in", 11)
    arguments = ["features", str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--encoder", "untrained"]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))  # a part, or the whole array, does not fit
    try:
        assert main(arguments) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    error = capsys.readouterr().err
    assert error.startswith("bangbang: error: ") and "features.npy: File too large" in error and error.count("\n") == 1
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["found"] == found
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["encoder.json", "features.npy", "names.txt"]


def damage(folder: Path, what: str) -> None:
    array = np.load(folder / "features.npy")
    if what == "rows":
        np.save(folder / "features.npy", array[:-1])
    elif what == "integers":
        np.save(folder / "features.npy", array.astype(np.int32))
    elif what == "cube":
        np.save(folder / "features.npy", array[:, :, None])
    elif what == "cut off":
        data = (folder / "features.npy").read_bytes()
        (folder / "features.npy").write_bytes(data[:-10])
    elif what == "twice":
        names = (folder / "names.txt").read_text().splitlines()
        (folder / "names.txt").write_text("\n".join([*names[:-1], names[0]]))
    elif what == "pickle":
        np.save(folder / "features.npy", np.array([{}] * len(array), dtype=object), allow_pickle=True)
    elif what == "zip":
        np.savez(folder / "features.npz", array)
        (folder / "features.npz").rename(folder / "features.npy")
    elif what == "header":
        data = (folder / "features.npy").read_bytes()
        (folder / "features.npy").write_bytes(data.replace(b"}", b"("))
    elif what == "nested":
        (folder / "encoder.json").write_text("[" * 100_000)
    elif what == "number":
        (folder / "encoder.json").write_text('{"encoder": 3}')
    elif what == "surrogate":
        (folder / "encoder.json").write_text('{"encoder": "\\ud800"}')
    elif what == "no names":
        (folder / "names.txt").unlink()


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("rows", "2 rows, but names.txt has 3 names"),
        ("integers", "expected floating-point features"),
        ("cube", "expected floating-point features"),
        ("cut off", "damaged features"),
        ("twice", "'000.png' is in it twice"),
        ("pickle", "damaged features"),
        ("zip", "damaged features"),
        ("header", "damaged features"),
        ("nested", r"encoder\.json: damaged"),
        ("number", r"encoder\.json: damaged"),
        ("surrogate", r"encoder\.json: damaged"),
        ("no names", "make them: bangbang features"),
    ],
)
def test_tables_that_do_not_fit_are_named(tmp_path: Path, what: str, message: str) -> None:
    save_pictures(tmp_path / "in", 3)
    extract(tmp_path / "in", tmp_path / "out", open_encoder("untrained"))
    damage(tmp_path / "out", what)
    with pytest.raises(InputError, match=message):
        FeatureTable.open(tmp_path / "out")


def test_numbers_that_are_none_are_named(tmp_path: Path) -> None:
    save_pictures(tmp_path / "in", 3)
    table = extract(tmp_path / "in", tmp_path / "out", open_encoder("untrained")).table
    table.check_finite()
    array = np.load(tmp_path / "out/features.npy")
    array[1, 5] = np.nan
    np.save(tmp_path / "out/features.npy", array)
    with pytest.raises(InputError, match=r"row 1 \(001.png\)"):
        FeatureTable.open(tmp_path / "out").check_finite()


def test_an_image_is_found_by_whole_name_or_by_a_file_name_that_is_unique() -> None:
    names = ["a/one.jpg", "b/one.jpg", "b/two.jpg"]
    table = FeatureTable(Path(), Path(), np.zeros((3, 1), np.float32), names, "")
    assert [table.row(name) for name in ("b/one.jpg", "two.jpg", "x/two.jpg", "one.jpg", "three.jpg")] == [
        1,
        2,
        2,
        None,
        None,
    ]
