"""Captioned images as corpora: every format, what is dropped, and features that fit or do not."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from bangbang import config
from bangbang.corpora.caption_files import coco_album, listed_album, token_album
from bangbang.corpora.settings import Files
from bangbang.data import Corpus, prepare
from bangbang.data.settings import Words
from bangbang.errors import InputError
from bangbang.symbols import EOS, PAD
from tests.features.pictures import save_pictures

ANIMALS = ("cat", "dog", "fish", "bird", "horse")
Prepare = Callable[..., Corpus]


def save_features(folder: Path, names: list[str], size: int = 4) -> None:
    """Features of which an image's name can be read off: its number, in every column."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = np.array([int("".join(filter(str.isdigit, Path(name).name))) for name in names], dtype=np.float16)
    np.save(folder / "features.npy", np.repeat(numbers[:, None], size, 1))
    (folder / "names.txt").write_text("".join(name + "\n" for name in names))


def captions_of(number: int, count: int = 2) -> list[str]:
    animal = ANIMALS[number % 5]
    return [f"A {animal} that looks at picture {number}.", f"One {animal}!", f"the man's {animal} in a t-shirt"][:count]


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    """A plain list of 30 images with 1 to 3 captions, in three splits, and their features in another order."""
    folder = tmp_path / "listed"
    names = [f"{number:02d}.jpg" for number in range(30)]
    save_features(folder, names[::-1])
    splits = ["train"] * 20 + ["val"] * 5 + ["test"] * 5
    entries = [
        {"filename": name, "split": split, "raw": captions_of(number, 1 + number % 3)}
        for number, (name, split) in enumerate(zip(names, splits, strict=True))
    ]
    (folder / "captions.json").write_text(json.dumps(entries))
    return folder


def test_each_example_is_an_image_and_one_caption(listed: Path, prepared: Prepare) -> None:
    corpus = prepared(listed, Words(split="bare-words"))
    assert {name: counts["rows"] for name, counts in corpus.manifest["splits"].items()} == {
        "train": 20,
        "valid": 5,
        "test": 5,
    }
    train = corpus.split("train")
    assert train.examples == sum(1 + number % 3 for number in range(20)) and train.has_images
    batch = train.batch(np.arange(train.examples))
    assert batch.source.shape == (train.examples, 4) and batch.source.dtype == torch.float32
    assert (batch.source_length == 1).all() and torch.equal(batch.references, batch.target.unsqueeze(1))
    # the features belong to the caption: the image's number is both in the features and in its first caption
    for features, target in zip(batch.source, batch.target, strict=True):
        words = corpus.vocabulary.decode(target.tolist()).split()
        assert ANIMALS[int(features[0]) % 5] in words
    assert train.sources(slice(0, 2)) == ["00.jpg", "01.jpg"]
    assert train.references(slice(1, 2)) == [captions_of(1, 2)]
    assert torch.equal(corpus.split("test").features(slice(1, 3))[:, 0], torch.tensor([26.0, 27.0]))


def test_all_references_of_an_image_in_a_batch(listed: Path, prepared: Prepare) -> None:
    corpus = prepared(listed)
    train = corpus.split("train")
    alone = corpus.split("train")
    numbers = np.array([0, 1, 3, 4, 5])  # images 0 (1 caption), 1 (2, its first), 2 (3)
    batch, plain = train.batch(numbers, all_references=True), alone.batch(numbers)
    assert torch.equal(batch.target, plain.target) and torch.equal(batch.source, plain.source)
    assert batch.references.shape[:2] == (5, 3)
    images = [0, 1, 2, 2, 2]
    for row, image in enumerate(images):
        texts = [corpus.vocabulary.decode(ids.tolist()) for ids in batch.references[row] if (ids != PAD).any()]
        encoded = [corpus.vocabulary.encode(text)[:14] for text in captions_of(image, 1 + image % 3)]
        assert texts == [corpus.vocabulary.decode(ids) for ids in encoded]
        assert any(
            torch.equal(ids[: len(row_target)], row_target)
            for ids in batch.references[row]
            for row_target in [batch.target[row][batch.target[row] != PAD]]
        )
    assert all((ids == EOS).sum() == (1 if (ids != PAD).any() else 0) for row in batch.references for ids in row)


def test_all_references_works_for_text_too(parallel: Path, prepared: Prepare) -> None:
    split = prepared(parallel).split("test")
    batch = split.batch(np.arange(4), all_references=True)
    assert batch.references.shape[:2] == (4, 3)
    assert all((batch.references[row, row % 3, : batch.target.shape[1]] == batch.target[row]).all() for row in range(3))


def test_bare_words_leave_out_punctuation_but_not_inside_words(listed: Path, prepared: Prepare) -> None:
    vocabulary = prepared(listed, Words(split="bare-words")).vocabulary
    ids = vocabulary.encode("The man's cat, in a T-shirt!")
    assert vocabulary.decode(ids) == "the man's cat in a t-shirt"
    with pytest.raises(InputError, match="bare-words"):
        config.override(config.Config(), ["vocabulary.kind=bpe", "vocabulary.split=bare-words"])


def test_images_have_no_vocabulary(listed: Path, tmp_path: Path) -> None:
    data = Files(corpus=str(listed), cache=str(tmp_path / "cache"))
    with pytest.raises(InputError, match=r"source_vocabulary: the sources of .* are images, not texts"):
        prepare(data, Words(), Words(), progress=False)


def test_the_vocabulary_and_the_fingerprint(listed: Path, prepared: Prepare) -> None:
    corpus = prepared(listed)
    assert not {"jpg", "00"} & set(corpus.vocabulary.texts())  # names of images are no words
    assert corpus.manifest["features"] == {"folder": str(listed.resolve()), "encoder": "", "size": 4}
    again = prepared(listed)
    assert again.fingerprint == corpus.fingerprint and again.folder == corpus.folder
    array = np.load(listed / "features.npy")
    np.save(listed / "features.npy", array + 1)
    assert prepared(listed).fingerprint != corpus.fingerprint


def test_a_corpus_is_found_again_after_its_features_were_moved(listed: Path, prepared: Prepare, tmp_path: Path) -> None:
    corpus = prepared(listed)
    (tmp_path / "moved").mkdir()
    moved = listed.rename(tmp_path / "moved/listed")
    again = prepared(moved)
    assert again.folder == corpus.folder and len(again.split("train").features(slice(None))) == 20
    assert len(Corpus.open(corpus.folder).split("test").features(slice(None))) == 5


def test_features_that_grew_stay_those_of_their_images(listed: Path, prepared: Prepare) -> None:
    corpus = prepared(listed)
    before = corpus.split("test").features(slice(None))
    names = (listed / "names.txt").read_text().split()
    save_features(listed, sorted([*names, *(f"more/{number}.jpg" for number in range(100, 140))], reverse=True))
    split = Corpus.open(corpus.folder).split("test")
    assert torch.equal(split.features(slice(None)), before)
    assert (split.batch(np.arange(2)).source == 25).all()  # both captions of image 25


def test_images_whose_features_went_away_are_named(listed: Path, prepared: Prepare) -> None:
    corpus = prepared(listed)
    names = (listed / "names.txt").read_text().split()
    save_features(listed, [name if name != "26.jpg" else "260.jpg" for name in names])
    assert len(Corpus.open(corpus.folder).split("train")) == 20
    with pytest.raises(InputError, match=r"listed: '26\.jpg', an image of the corpus, is not in it.* again"):
        Corpus.open(corpus.folder).split("test")


def test_features_of_another_encoder_are_refused(listed: Path, prepared: Prepare) -> None:
    (listed / "encoder.json").write_text('{"encoder": "untrained"}')
    corpus = prepared(listed)
    (listed / "encoder.json").write_text('{"encoder": "efficientnet-lite0"}')
    with pytest.raises(InputError, match=r"features by efficientnet-lite0, but .* with those by untrained; remove"):
        Corpus.open(corpus.folder).split("train")


def karpathy(numbers: range) -> dict[str, object]:
    splits = ["train", "restval", "val", "test"]
    return {
        "dataset": "coco",
        "images": [
            {
                "filepath": "val2014",
                "filename": f"{number}.jpg",
                "split": splits[number % 4],
                "sentences": [{"raw": text, "tokens": text.split()} for text in captions_of(number)],
            }
            for number in numbers
        ],
    }


def test_karpathys_json(tmp_path: Path, prepared: Prepare) -> None:
    save_features(tmp_path / "k", [f"val2014/{number}.jpg" for number in range(40)])
    (tmp_path / "k/dataset_coco.json").write_text(json.dumps(karpathy(range(40))))
    corpus = prepared(tmp_path / "k")
    assert {name: counts["rows"] for name, counts in corpus.manifest["splits"].items()} == {
        "train": 20,  # train and restval
        "valid": 10,
        "test": 10,
    }


def coco(numbers: range) -> dict[str, object]:
    images = [{"id": 1000 + number, "file_name": f"COCO_{number}.jpg"} for number in numbers]
    captions = [(1000 + number, text) for number in numbers for text in captions_of(number)]
    annotations = [{"image_id": key, "id": place, "caption": text} for place, (key, text) in enumerate(captions)]
    return {"info": {}, "images": images, "annotations": annotations}


@pytest.mark.parametrize("year", ["2014", "2017"])
def test_cocos_own_files_are_joined_and_images_held_out(tmp_path: Path, prepared: Prepare, year: str) -> None:
    folder = tmp_path / "annotations"
    save_features(tmp_path / "f", [f"train/COCO_{number}.jpg" for number in range(60)])
    folder.mkdir()
    (folder / f"captions_train{year}.json").write_text(json.dumps(coco(range(40))))
    (folder / f"captions_val{year}.json").write_text(json.dumps(coco(range(40, 60))))
    options = {"features": str(tmp_path / "f"), "held_out": 12, "test_share": 0.0}
    corpus = prepared(folder, **options)
    counts = {name: counts["rows"] for name, counts in corpus.manifest["splits"].items()}
    assert counts == {"train": 48, "valid": 12}
    held = set(corpus.split("valid").sources(slice(None)))
    assert any(int(name[5:-4]) >= 40 for name in held) and any(int(name[5:-4]) < 40 for name in held)
    assert not held & set(corpus.split("train").sources(slice(None)))
    # which images are held out does not depend on their order in the files
    (folder / f"captions_val{year}.json").write_text(json.dumps(coco(range(59, 39, -1))))
    assert set(prepared(folder, **options).split("valid").sources(slice(None))) == held
    with pytest.raises(InputError, match="held_out = 60 leaves none"):
        prepared(folder, **{**options, "held_out": 60})


def test_both_years_at_once_are_refused(tmp_path: Path, prepared: Prepare) -> None:
    for year in ("2014", "2017"):
        (tmp_path / f"captions_train{year}.json").write_text(json.dumps(coco(range(3))))
    with pytest.raises(InputError, match="both 2014 and 2017"):
        prepared(tmp_path)


def test_token_files_with_and_without_lists_of_splits(tmp_path: Path, prepared: Prepare) -> None:
    names = [f"{number}.jpg" for number in range(60)]
    save_features(tmp_path, names)
    lines = [f"{name}#{place}\t{text}" for n, name in enumerate(names) for place, text in enumerate(captions_of(n, 3))]
    (tmp_path / "Flickr8k.token.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "Flickr8k.lemma.token.txt").write_text("1.jpg#0\tlemmas are not read\n")
    carved = prepared(tmp_path, valid_share=0.2, test_share=0.2).manifest
    assert sorted(carved["carved"]) == ["test", "valid"]
    for part, chosen in (("train", names[:40]), ("dev", names[40:48]), ("test", names[48:58])):
        (tmp_path / f"Flickr_8k.{part}Images.txt").write_text("\n".join(chosen) + "\n")
    given = prepared(tmp_path).manifest
    assert {name: counts["rows"] for name, counts in given["splits"].items()} == {"train": 40, "valid": 8, "test": 10}
    assert given["drops"] == {"image in none of the lists of splits": 2} and given["carved"] == []


def test_images_with_text_files_beside_them(tmp_path: Path, prepared: Prepare) -> None:
    names = save_pictures(tmp_path / "in", 12)
    for number, name in enumerate(names[:-1]):
        (tmp_path / "in" / name).with_suffix(".txt").write_text("\n".join(captions_of(number)) + "\n\n")
    save_features(tmp_path / "f", names)
    with pytest.raises(InputError, match=r"bangbang features IMAGES -o FEATURES"):
        prepared(tmp_path / "in")
    corpus = prepared(tmp_path / "in", features=str(tmp_path / "f"), valid_share=0.3, test_share=0.0)
    rows = sum(counts["rows"] for counts in corpus.manifest["splits"].values())
    assert rows == 11 and corpus.manifest["drops"]["image without a text file"] == 1
    # another caption is another corpus
    (tmp_path / "in/000.txt").write_text("something else\n")
    other = prepared(tmp_path / "in", features=str(tmp_path / "f"), valid_share=0.3, test_share=0.0)
    assert other.folder != corpus.folder


def test_images_without_features_are_counted_and_other_images_features_refused(listed: Path, prepared: Prepare) -> None:
    names = (listed / "names.txt").read_text().split()
    save_features(listed, [name for name in names if name not in ("03.jpg", "27.jpg")])
    assert prepared(listed).manifest["drops"] == {"image without features": 2}
    save_features(listed, [f"x{name}" for name in names])
    with pytest.raises(InputError, match=r"features are of other images.*00\.jpg"):
        prepared(listed)


def test_features_that_went_away_or_changed_size_are_named(listed: Path, prepared: Prepare) -> None:
    corpus = prepared(listed)
    names = (listed / "names.txt").read_text().split()
    save_features(listed, names, size=5)
    with pytest.raises(InputError, match=r"5 features an image, but .* was made with 4"):
        Corpus.open(corpus.folder).split("train")
    (listed / "features.npy").unlink()
    with pytest.raises(InputError, match="no features"):
        Corpus.open(corpus.folder).split("train")


def test_odd_entries_of_coco_are_dropped_and_counted() -> None:
    table = {
        "images": [
            {"id": 1, "file_name": "1.jpg"},
            {"id": 1, "file_name": "1b.jpg"},
            {"id": 2},
            {"file_name": "3.jpg"},
            {"id": 4, "file_name": "4.jpg"},
            "no object",
            {"id": [5], "file_name": "5.jpg"},
        ],
        "annotations": [
            {"image_id": 1, "caption": "a cat"},
            {"image_id": 1, "caption": "  "},
            {"image_id": 1},
            {"image_id": 1, "caption": 7},
            {"image_id": 99, "caption": "of nothing"},
            {"caption": "of nobody"},
            None,
        ],
    }
    images, drops = coco_album([(Path("x.json"), table)], 0)
    assert [(image.name, image.captions) for image in images] == [("1.jpg", ("a cat",))]
    assert drops == {
        "image twice": 1,
        "image without an id or file name": 4,
        "empty caption, or none at all": 3,
        "caption of an unknown image": 1,
        "caption without an image id": 2,
        "image without captions": 1,
    }


def test_odd_entries_of_lists_are_dropped_and_counted() -> None:
    entries = [
        {"filename": "1.jpg", "raw": ["a  cat\nsits", None, ""]},
        {"filename": "1.jpg", "raw": ["again"]},
        {"filename": "2.jpg", "sentences": [{"raw": "a dog"}, {}], "split": "val"},
        {"filename": "3.jpg"},
        {"raw": ["nameless"]},
        3,
        {"filename": "4.jpg", "raw": ["x"], "split": "extra"},
        {"filename": "5.jpg", "raw": "a fish"},
        {"filename": "6.jpg", "sentences": {"raw": "a bird"}},
        {"filename": "7.jpg", "raw": 5},
        {"filename": "8.jpg", "sentences": True},
    ]
    images, drops = listed_album(entries)
    assert [tuple(image) for image in images] == [
        ("1.jpg", ("a cat sits",), ""),
        ("2.jpg", ("a dog",), "valid"),
        ("5.jpg", ("a fish",), ""),
        ("6.jpg", ("a bird",), ""),
    ]
    assert drops["image without a file name"] == 2 and drops["image without captions"] == 3
    assert drops["image twice"] == 1 and drops["empty caption, or none at all"] == 5
    assert any("'extra'" in reason for reason in drops)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"captions\.json:1: not JSON"),
        ('{"images": 3}', "not a file of captions"),
        ("7", "not a file of captions"),
        ("[]", "no image for training"),
        ('[{"filename": "00.jpg", "split": "test", "raw": ["a"]}]', "no image for training"),
        ("\xff\xfe", r"captions\.json: cannot be read"),
        ("[" * 100_000, r"captions\.json: cannot be read"),
        ("9" * 5000, r"captions\.json: cannot be read"),
    ],
)
def test_other_json_is_an_error(listed: Path, prepared: Prepare, text: str, message: str) -> None:
    (listed / "captions.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=message):
        prepared(listed)


def test_bad_lines_of_token_files_are_named(tmp_path: Path) -> None:
    for line in ("no tab at all", "no-number\tcaption", "#0\tcaption"):
        (tmp_path / "a.token").write_text(f"1.jpg#0\tfine\n{line}\n")
        with pytest.raises(InputError, match=r"a\.token:2: expected name\.jpg#0"):
            token_album(tmp_path / "a.token")


def test_the_shared_flickr8k(prepared: Prepare) -> None:
    folder = Path(__file__).parents[3] / "shared/data/flickr8k"
    if not folder.is_dir():
        pytest.skip("no shared/data/flickr8k beside the project")
    corpus = prepared(folder, Words(split="bare-words", min_count=4))
    rows = {name: (counts["rows"], counts["examples"]) for name, counts in corpus.manifest["splits"].items()}
    assert rows == {"train": (6000, 30000), "valid": (1000, 5000), "test": (1000, 5000)}
    batch = corpus.split("train").batch(np.arange(8), all_references=True)
    assert batch.source.shape == (8, 1280) and batch.references.shape[:2] == (8, 5)
