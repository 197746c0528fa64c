"""Write a run's model as a folder that transformers opens by itself, with its tokenizer and a model card.

The card states the data, the method, and the scores of a split, which is decoded for it. Only models of the
transformers library can be exported (model.kind = "hf"). Adapters are merged into the weights.

examples:
  bangbang export runs/hf-debian models/hf-debian
  bangbang export runs/hf-debian models/hf-debian --split valid --limit 200
  bangbang export runs/hf-debian models/hf-debian --no-scores
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bangbang.cli.numbers import whole
from bangbang.errors import InputError

if TYPE_CHECKING:
    from bangbang.hf.card import Facts
    from bangbang.training import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", metavar="RUN", type=Path)
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="where to; it must not be there yet")
    parser.add_argument("--checkpoint", default="best", metavar="WHICH", help="best, last or a step (default best)")
    parser.add_argument("--split", default="test", help="whose scores the card states (default test)")
    parser.add_argument("--limit", type=whole(), default=0, metavar="N", help="only the first N rows of the split")
    parser.add_argument("--no-scores", action="store_true", help="decode nothing; the card has no scores")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="where to make the corpus again, if it is gone")


def run(arguments: argparse.Namespace) -> int:
    from bangbang.hf.requirements import require

    require("bangbang export")
    from bangbang.data.tokenizer_json import FILE_BYTES
    from bangbang.hf import Policy
    from bangbang.hf.card import card
    from bangbang.hf.export import check_free, export, set_decoding, tokenizer_of
    from bangbang.plain_files import read_plain
    from bangbang.training import Run

    check_free(arguments.folder)
    opened = Run.open(arguments.run_folder, arguments.cache)
    policy = opened.load_model(arguments.checkpoint)
    if not isinstance(policy, Policy):
        raise InputError(f"{opened.folder}: model.kind = {opened.config.model.kind!r} is no model of transformers")
    data = opened.config.data
    facts = card(facts_of(opened, arguments, policy))
    vocabulary = read_plain(opened.folder / "vocabulary.json", FILE_BYTES).decode("utf-8")
    tokenizer = tokenizer_of(vocabulary, policy, data.max_source_length)
    set_decoding(policy, opened.config.decoding, data.max_target_length)
    export(policy, tokenizer, facts, arguments.folder)
    print(f"{arguments.folder}: open it by AutoTokenizer and AutoModel...from_pretrained; its README.md shows how")
    return 0


def facts_of(opened: "Run", arguments: argparse.Namespace, policy: Any) -> "Facts":
    """What the card states of a run."""
    from bangbang import __version__
    from bangbang import config as configs
    from bangbang.decoding.settings import describe
    from bangbang.hf.card import Facts
    from bangbang.tasks import signature

    checkpoint, state = opened.choose(arguments.checkpoint)
    progress, config = state.progress, opened.config
    corpus, examples = trained_on(opened)
    scores, scored = ({}, 0) if arguments.no_scores else scores_of(opened, arguments)
    rewarded = [leg.reward for leg in config.legs if leg.objective.is_rewarded]
    return Facts(
        title=arguments.folder.name,
        corpus=corpus,
        examples=examples,
        method=config.label,
        reward=str(rewarded[-1].kind) if rewarded else "",
        steps=progress.step,
        checkpoint=checkpoint.name,
        metric=config.metric,
        best=progress.best_score if progress.has_best else None,
        split=arguments.split,
        scored=scored,
        scores=scores,
        signature=signature(opened.task.metric),
        decoding=describe(config.decoding),
        caveat=opened.caveat,
        encoder=bool(policy.inner.config.is_encoder_decoder),
        config=without_places(configs.plain(config)),
        version=__version__,
    )


def trained_on(opened: "Run") -> tuple[str, int]:
    """The corpus's name, and how many examples it has for training."""
    facts = opened.corpus_facts
    try:
        return Path(str(facts["corpus"])).name, int(facts["splits"]["train"]["examples"])
    except (LookupError, TypeError, ValueError):
        raise InputError(f"{opened.folder / 'corpus.json'}: damaged (corpus, splits)") from None


def without_places(tables: dict[str, Any]) -> str:
    """A config as TOML that anybody may read: nothing in it tells where things are on this machine."""
    import tomli_w

    data = {key: value for key, value in tables["data"].items() if key not in ("cache", "features")}
    training = {key: value for key, value in tables["training"].items() if key != "init"}
    return tomli_w.dumps({**tables, "data": {**data, "corpus": Path(data["corpus"]).name}, "training": training})


def scores_of(opened: "Run", arguments: argparse.Namespace) -> tuple[dict[str, tuple[float, float | None]], int]:
    """Each score of the split with its standard error, and the number of examples."""
    from bangbang.tasks import with_errors
    from bangbang.training.evaluation import decode_run

    split = opened.corpus().split(arguments.split)
    decoded = decode_run(opened, split, opened.config.decoding, arguments.checkpoint, arguments.limit)
    found = with_errors(opened.task.metric, decoded.outputs, decoded.references)
    return {name: (each.value, each.standard_error) for name, each in found.items()}, len(decoded.outputs)
