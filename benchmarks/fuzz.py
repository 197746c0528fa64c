"""Files from elsewhere, mutated: runs, checkpoints, corpora, captions, features, models. Only clear errors may come.

    python -m benchmarks.fuzz --mutations 20000

Each target starts from a sound file and reads mutations of it the way the program does. It must accept them or raise an
InputError; any other exception, a crash of the process, more than 4 GB, or a file written outside is a failure, and
hypothesis prints the smallest mutation that brings it about.
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as hypothesis_seed
from hypothesis import strategies as st

from bangbang import config as configs
from bangbang.config import Config
from bangbang.corpora.settings import Files
from bangbang.data import Corpus, batches, load_vocabulary, prepare
from bangbang.data.settings import BytePairs, Words
from bangbang.data.spelling import SPELLING
from bangbang.errors import InputError
from bangbang.models.settings import AttentionGruSettings
from bangbang.reporting.history import read_history
from bangbang.reproduction.status import latest
from bangbang.training import checkpoint, journal, retention
from bangbang.training.checkpoint import Progress
from bangbang.training.optimizer import build_optimizer
from bangbang.training.run import Run
from bangbang.training.settings import OptimizerSettings
from benchmarks.caption_ground import CaptionGround, Target, read_pairs
from benchmarks.model_ground import ModelGround
from benchmarks.mutations import absurd_json, absurd_line, absurd_toml, damaged
from benchmarks.tokenizer_ground import TokenizerGround

PAIRS = [(f"a text of number {n} about a thing", f"thing {n % 5}") for n in range(60)]
MEMORY = 4 * 2**30


class Ground:
    """A folder with one sound file of each kind, and what reads them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outside = folder / "outside"
        self.outside.mkdir(parents=True)
        (self.outside / "precious").write_text("precious")
        self.lines = folder / "lines"
        self.lines.mkdir()
        for split in ("train", "valid"):
            (self.lines / f"{split}.src").write_text("".join(f"{source}\n" for source, _ in PAIRS))
            (self.lines / f"{split}.tgt").write_text("".join(f"{target}\n" for _, target in PAIRS))
        rows = [{"source": source, "target": target} for source, target in PAIRS]
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "rows.csv").write_text("source,target\n" + "".join(f'"{one}","{two}"\n' for one, two in PAIRS))
        (folder / "rows.tsv").write_text("".join(f"{one}\t{two}\n" for one, two in PAIRS))
        pq.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet")
        self.captions = CaptionGround(folder / "captions")
        self.tokenizers = TokenizerGround(folder / "tokenizers")
        self.models = ModelGround(folder / "models")
        model = AttentionGruSettings(layers=1, units=4)
        data = Files(corpus=str(self.lines), cache=str(folder / "cache"), test_share=0.0)
        self.config = Config(data=data, vocabulary=Words(size=40), model=model)
        self.corpus = prepare(data, self.config.vocabulary, progress=False)
        self.run = Run.create(folder / "run", self.config, self.corpus)
        weights = self.run.build_model()
        self.checkpoint = checkpoint.save(
            self.run.checkpoints,
            weights,
            build_optimizer(weights.parameters(), OptimizerSettings()),
            Progress(3),
            self.run.origin,
            average=weights.state_dict(),
        )
        self.metrics = self.run.folder / "metrics.jsonl"
        numbers = dict.fromkeys(("loss", "seconds", "examples_per_second", "rouge-1", "rouge-2", "rouge-l"), 0.5)
        records = [{"kind": kind, "step": step, **numbers} for step in range(1, 6) for kind in ("train", "valid")]
        self.metrics.write_text("".join(json.dumps(record) + "\n" for record in records))
        BytePairs(size=262).build(("ab ab abc", "abc")).save(folder / "pieces.json")

    def targets(self) -> dict[str, Target]:
        """Name → the file that is mutated, how, and what reads it."""
        run, split = self.run.folder, self.corpus.folder / "train"
        arrow = next(split.glob("*.arrow"))
        return {
            "config": (run / "config.toml", (damaged, absurd_toml), self.read_config),
            "vocabulary": (run / "vocabulary.json", (damaged, absurd_json), self.read_run),
            "spelling": (run / SPELLING, (damaged, absurd_json), self.read_spelling),
            "pieces": (self.folder / "pieces.json", (damaged, absurd_json), self.read_pieces),
            "state": (self.checkpoint / checkpoint.STATE, (damaged, absurd_json), self.read_run),
            "weights": (self.checkpoint / checkpoint.MODEL, (damaged, safetensors), self.read_weights),
            "raw": (self.checkpoint / checkpoint.RAW, (damaged, safetensors), self.read_weights),
            "optimizer": (self.checkpoint / checkpoint.OPTIMIZER, (damaged, safetensors), self.read_weights),
            "facts": (run / "corpus.json", (damaged, absurd_json), self.read_facts),
            "manifest": (self.corpus.folder / "corpus.json", (damaged, absurd_json), self.read_corpus),
            "arrow": (arrow, (damaged,), self.read_corpus),
            "lines": (self.lines / "train.tgt", (damaged,), lambda: self.read_pairs(self.lines)),
            "jsonl": (self.folder / "rows.jsonl", (damaged,), lambda: self.read_pairs(self.folder / "rows.jsonl")),
            "csv": (self.folder / "rows.csv", (damaged,), lambda: self.read_pairs(self.folder / "rows.csv")),
            "tsv": (self.folder / "rows.tsv", (damaged,), lambda: self.read_pairs(self.folder / "rows.tsv")),
            "parquet": (
                self.folder / "rows.parquet",
                (damaged,),
                lambda: self.read_pairs(self.folder / "rows.parquet"),
            ),
            "metrics": (self.metrics, (damaged, absurd_line), self.read_metrics),
            **self.captions.targets(),
            **self.tokenizers.targets(),
            **self.models.targets(),
        }

    def read_config(self) -> None:
        run = Run.open(self.run.folder)
        configs.dumps(run.config)
        run.outline()
        run.load_model()

    def read_metrics(self) -> None:
        latest(self.run.folder, "rouge-l")
        sound = self.metrics.read_bytes()
        journal.cut_back(self.metrics, 3)
        self.metrics.write_bytes(sound)
        read_history(self.run.folder, self.config)

    def read_run(self) -> None:
        run = Run.open(self.run.folder)
        run.vocabulary.decode(run.vocabulary.encode("a thing, ä text"))
        run.load_model("last")

    def read_spelling(self) -> None:
        run = Run.open(self.run.folder)
        text = run.vocabulary.decode(run.vocabulary.encode("a thing, ä text"))
        assert run.vocabulary.encode(run.written(text)) == run.vocabulary.encode(text)

    def read_pieces(self) -> None:
        vocabulary = load_vocabulary(self.folder / "pieces.json")
        vocabulary.decode(vocabulary.encode("abc ab ä \U0001f9ab"))

    def read_weights(self) -> None:
        """With right checksums, as somebody with bad intent would make them."""
        path = self.checkpoint / checkpoint.STATE
        state = json.loads(path.read_text())
        state["sha256"] = {name: checkpoint.checksum(self.checkpoint / name) for name in state["sha256"]}
        path.write_text(json.dumps(state))
        model = self.run.load_model("last")
        checkpoint.load_model(self.checkpoint, model, checkpoint.RAW)
        checkpoint.load_optimizer(self.checkpoint, model, build_optimizer(model.parameters(), OptimizerSettings()))
        retention.newest_whole(self.run.checkpoints)

    def read_facts(self) -> None:
        self.run.corpus().split("train")

    def read_corpus(self) -> None:
        corpus = Corpus.open(self.corpus.folder)
        for name in ("train", "valid"):
            split = corpus.split(name)
            split.sources(slice(None))
            split.references(slice(None))
            split.source_ids(np.arange(min(3, len(split))))
            for numbers in batches(split, 7, seed=1, epoch=0):
                split.batch(numbers)

    def read_pairs(self, corpus: Path) -> None:
        read_pairs(Files(corpus=str(corpus)))


@st.composite
def safetensors(draw: st.DrawFn, original: bytes) -> bytes:
    """A safetensors file with an absurd header, or with the length of the header changed."""
    length = int.from_bytes(original[:8], "little")
    header = draw(absurd_json(original[8 : 8 + length]))
    declared = draw(st.sampled_from((len(header), len(header), 0, 2**20 + 1, 2**63, len(header) - 1)))
    return declared.to_bytes(8, "little") + header + original[8 + length :]


def fuzz(ground: Ground, name: str, mutations: int, seed: int = 0) -> None:
    """Read so many mutations of a target; the first that is neither accepted nor an InputError raises."""
    path, kinds, reading = ground.targets()[name]
    original = path.read_bytes()

    @hypothesis_seed(seed)
    @settings(
        max_examples=mutations,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(st.one_of(*(kind(original) for kind in kinds)))
    def reads(content: bytes) -> None:
        path.write_bytes(content)
        try:
            reading()
        except InputError as error:
            assert str(error)

    try:
        reads()
    finally:
        path.write_bytes(original)
    reading()  # the sound file is read again without an error
    assert [one.name for one in ground.outside.iterdir()] == ["precious"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutations", type=int, default=20_000, help="over all targets")
    parser.add_argument("--only", default="", metavar="NAMES", help="targets, with commas between them (all)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        ground = Ground(Path(folder) / "ground")
        names = arguments.only.split(",") if arguments.only else list(ground.targets())
        each = -(-arguments.mutations // len(names))
        for name in names:
            began = time.monotonic()
            fuzz(ground, name, each, arguments.seed)
            print(f"{name:24} {each} mutations, only clear errors ({time.monotonic() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
