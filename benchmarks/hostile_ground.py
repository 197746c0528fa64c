"""What a stranger gave us, for `benchmarks.hostile`: runs, corpora, features, a model; and the verbs that read them."""

import contextlib
import io
import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bangbang.cli.main import main as bangbang
from bangbang.corpora import shapes

PAIRS = [(f"a text of number {n} about some thing, as long as it is", f"text about thing {n % 5}") for n in range(80)]
CONFIG = """
[data]
corpus = "{corpus}"
cache = "{folder}/cache"
{data}
[model]
{model}

[training]
batch_size = 16
max_steps = 4
validate_every = 2
log_every = 1
{more}
"""
SHORT = "max_source_length = 40\nmax_target_length = 6\n"
SMALL = "layers = 1\nunits = 8"
STAGES = '[[stages]]\nsteps = 2\n[[stages]]\nsteps = 2\nstart = "best"\nobjective = {kind = "bbspg"}\n'
HF = """kind = "hf"
[model.from_scratch]
family = "bart"
d_model = 8
encoder_layers = 1
decoder_layers = 1
encoder_attention_heads = 2
decoder_attention_heads = 2
encoder_ffn_dim = 8
decoder_ffn_dim = 8
max_position_embeddings = 64
[vocabulary]
kind = "bpe"
size = 300
lowercase = false"""
PRETRAINED = """kind = "hf"
name = "{folder}/model"
[vocabulary]
kind = "tokenizer"
file = "{folder}/model/tokenizer.json"
ends = ["</s>"]"""
GROUNDS = ("texts", "images", "hf")
RUN = ("run", "cache", "lines", "scenes", "pairs.tsv")
CORPUS = ("config.toml", "cache", "lines", "scenes", "pairs.tsv")


class Verb(NamedTuple):
    words: str
    reads: tuple[str, ...]
    """What of a stranger's folder its arguments lead to."""
    grounds: tuple[str, ...] = GROUNDS
    writes: bool = False
    """Whether it may change what it is given."""


VERBS = {
    "evaluate": Verb("evaluate {run} --limit 2", RUN),
    "tune": Verb("tune {run} --limit 2 --beams 1 --mbr 2 --temperatures 1", RUN, writes=True),
    "generate": Verb("generate {run}", RUN),
    "ensemble": Verb("generate {run} {run} --ensemble", RUN),
    "explain": Verb("explain {run}", RUN),
    "serve": Verb("serve {run} --port 0", RUN),
    "report": Verb("report {run} --out {out}/report", RUN, writes=True),
    "compare": Verb("compare {run} {run} --limit 2", RUN),
    "resume": Verb("train --resume --out {run} --set training.max_steps=5", RUN, writes=True),
    "train": Verb("train {folder}/config.toml --out {out}/run", CORPUS, writes=True),
    "data": Verb("data {folder}/config.toml --show 1", CORPUS, writes=True),
    "migrate": Verb("migrate {folder}/config.toml", ("config.toml",)),
    "features": Verb("features {folder}/scenes -o {out}/features --encoder untrained", ("scenes",), ("images",)),
    "score": Verb("score {folder}/lines/test.tgt {folder}/lines/test.tgt", ("lines",), ("texts",)),
    "reproduce": Verb("reproduce headlines --corpus {folder}/lines --dry-run", ("lines",), ("texts",)),
    "export": Verb("export {run} {out}/model --limit 2", RUN, ("hf",)),
    "check": Verb("hf check {folder}/model", ("model",), ("hf",)),
    "pretrained": Verb(
        "train {folder}/pretrained.toml --out {out}/run",
        ("pretrained.toml", "model", "pairs.tsv", "cache"),
        ("hf",),
        writes=True,
    ),
}
PICTURED = ("generate", "ensemble")  # of images they need one
Signature = tuple[int, int, int, int]


class Ground:
    """Their folder, a sound copy of it, what is outside, and a folder of our own."""

    def __init__(self, folder: Path, names: tuple[str, ...] = GROUNDS) -> None:
        self.theirs, self.sound, self.names = folder / "theirs", folder / "sound", names
        self.outside, self.work = folder / "outside", folder / "work"
        (self.outside / "album").mkdir(parents=True)
        for name in ("precious", "album/photo"):
            (self.outside / name).write_text(f"{name}: precious\n")
        for name in names:
            (self.theirs / name).mkdir(parents=True)
            getattr(self, f"make_{name}")(self.theirs / name)
        shutil.copytree(self.theirs, self.sound)
        self.expected = signatures(self.theirs)

    def make_texts(self, folder: Path) -> None:
        (folder / "lines").mkdir()
        for split in ("train", "valid", "test"):
            pairs = PAIRS[: 80 if split == "train" else 6]
            (folder / "lines" / f"{split}.src").write_text("".join(f"{source}\n" for source, _ in pairs))
            (folder / "lines" / f"{split}.tgt").write_text("".join(f"{target}\n" for _, target in pairs))
        write_config(folder, corpus=folder / "lines", data=SHORT, model=SMALL, more=STAGES)
        self.use(folder)

    def make_images(self, folder: Path) -> None:
        shapes.draw_corpus(folder / "scenes", {"train": 40, "valid": 6, "test": 6})
        model = f'kind = "show_and_tell"\n{SMALL}'
        write_config(folder, corpus="shapes", data=f'path = "{folder}/scenes"\n{SHORT}', model=model)
        self.use(folder)

    def make_hf(self, folder: Path) -> None:
        """A run of a model from scratch, which is exported: the folder that another training begins with."""
        (folder / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
        write_config(folder, corpus=folder / "pairs.tsv", data=SHORT, model=HF)
        self.use(folder)
        shutil.move(self.work / "model", folder / "model")
        own = {"corpus": folder / "pairs.tsv", "data": SHORT, "model": PRETRAINED.format(folder=folder)}
        write_config(folder, "pretrained.toml", **own)
        self.use(folder, ("check", "pretrained"))

    def use(self, folder: Path, verbs: tuple[str, ...] = ()) -> None:
        """Train and run each verb once. In this process: what verbs import is there when it forks."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        later = ("resume", "train", "tune", "check", "pretrained", "serve", *PICTURED)
        first = ["train", str(folder / "config.toml"), "--out", str(folder / "run")]
        commands = [self.command(verb, folder.name) for verb in verbs]
        if not verbs:
            usual = [verb for verb, each in VERBS.items() if folder.name in each.grounds and verb not in later]
            commands = [first, *(self.command(verb, folder.name) for verb in usual)]
        for command in commands:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as told:
                if bangbang(command) != 0:
                    raise RuntimeError(f"{command}: failed on sound files: {told.getvalue()}")

    def command(self, verb: str, name: str, verbs: Mapping[str, Verb] = VERBS) -> list[str]:
        folder = self.theirs / name
        places = {"run": folder / "run", "folder": folder, "out": self.work}
        found = [word.format(**places) for word in verbs[verb].words.split()]
        picture = ["--image", str(folder / "scenes" / "synthetic-test-00000.png")]
        return [*found, *picture] if name == "images" and verb in PICTURED else found

    def restore(self) -> None:
        """Their folder as it was, and ours empty."""
        found = signatures(self.theirs)
        for path in found.keys() - self.expected.keys() | {path for path in found if self.changed(path, found)}:
            discard(self.theirs / path)
        for path in sorted(self.expected.keys() - signatures(self.theirs).keys()):
            copy(self.sound / path, self.theirs / path)
            self.expected[path] = signature((self.theirs / path).lstat())
        if not self.work.is_dir() or any(self.work.iterdir()):
            shutil.rmtree(self.work, ignore_errors=True)
            self.work.mkdir()

    def changed(self, path: str, found: dict[str, Signature]) -> bool:
        return path in self.expected and found[path] != self.expected[path]


def write_config(folder: Path, name: str = "config.toml", **settings: object) -> None:
    (folder / name).write_text(CONFIG.format(**{"data": "", "more": "", "folder": folder, **settings}))


def signature(found: os.stat_result) -> Signature:
    """What differs once a file was written or replaced; of a folder only that it is one."""
    if stat.S_ISDIR(found.st_mode):
        return (stat.S_IFDIR, 0, 0, 0)
    return (found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns)


def signatures(folder: Path) -> dict[str, Signature]:
    """All below a folder, links not followed."""
    found: dict[str, Signature] = {}
    waiting = [(str(folder), "")]
    while waiting:
        place, name = waiting.pop()
        for entry in os.scandir(place):
            path = f"{name}/{entry.name}" if name else entry.name
            found[path] = signature(entry.stat(follow_symlinks=False))
            if found[path][0] == stat.S_IFDIR:
                waiting.append((entry.path, path))
    return found


def discard(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path)


def copy(source: Path, target: Path) -> None:
    if source.is_dir():
        target.mkdir()
    else:
        shutil.copyfile(source, target)
