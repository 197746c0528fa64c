"""Models and tokenizers from a folder or the hub: safetensors alone, no code of theirs, every trouble in one line."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch
from transformers import AutoConfig, AutoTokenizer, PreTrainedConfig, PreTrainedModel
from transformers.models.auto import modeling_auto
from transformers.utils import cached_file, logging

from bangbang import memory
from bangbang.data.given import open_tokenizer
from bangbang.data.hush import hushed
from bangbang.data.tokenizer_json import read_table
from bangbang.errors import InputError
from bangbang.files import read_json
from bangbang.plain_files import check_plain

T = TypeVar("T")
# the library's lists of classes that generate texts, the likeliest first
KINDS = ("Seq2SeqLM", "SpeechSeq2Seq", "ImageTextToText", "CausalLM")
PARTS = ("layers", "experts", "blocks", "depth", "heads")  # what a config says about these is built one by one
MOST_PARTS, LARGEST = 2_000, 2**31
SEVERAL = ("eos_token_id", "suppress_tokens")  # may be lists
IDS = (
    "eos_token_id",
    "pad_token_id",
    "bos_token_id",
    "decoder_start_token_id",
    "forced_bos_token_id",
    "suppress_tokens",
)
SAFE: dict[str, Any] = {"trust_remote_code": False}


def load_config(name: str, weights: bool = True) -> PreTrainedConfig:
    """The config of a folder or a hub id; of a folder that may be without `weights`, if told so."""
    check_folder(name, weights)
    config = told(name, lambda: AutoConfig.from_pretrained(name, **SAFE))
    check_sizes(name, config.to_dict())
    return config


def load_model(name: str) -> PreTrainedModel:
    """The model with its weights, as numbers of 32 bits; an InputError if they do not fit it, or are not all there."""
    config = load_config(name)
    outline = model_of(config, name, meta=True)
    size = sum(weight.numel() for weight in outline.parameters())
    memory.require(4 * size, f"{name}: a model of {size:,} numbers", "choose a smaller one")
    load = type(outline).from_pretrained
    with quiet():
        model, report = told(
            name,
            lambda: load(name, **SAFE, use_safetensors=True, output_loading_info=True, dtype=torch.float32),
        )
    if missing := sorted(report["missing_keys"]):
        raise InputError(f"{name}: {len(missing)} weights are not in its files, such as {missing[0]}")
    for key, weight in model.state_dict().items():
        if weight.is_floating_point() and not bool(torch.isfinite(weight).all()):
            raise InputError(f"{name}: {key} has a number that is not finite")
    check_ids(name, model.generation_config)
    return model


def load_tokenizer(name: str) -> Any:
    """The tokenizer, once its `tokenizer.json` is known to be safe; None if there is none."""
    check_folder(name)
    path = told(name, lambda: cached_file(name, "tokenizer.json", _raise_exceptions_for_missing_entries=False))
    if path is None:
        return None
    open_tokenizer(read_table(Path(path)), Path(path))
    with quiet(), hushed():
        return told(name, lambda: opened_tokenizer(name))


def opened_tokenizer(name: str) -> Any:
    """A tokenizer that knows its special tokens: it is asked here, since one with a nameless one never answers."""
    found = AutoTokenizer.from_pretrained(name, **SAFE, use_fast=True)
    ids = [*found.all_special_ids, *(each for each in (found.unk_token_id, found.eos_token_id) if each is not None)]
    if not all(type(each) is int for each in ids):
        raise InputError(f"{name}: its tokenizer has a special token that is none of its tokens")
    return found


def model_of(config: PreTrainedConfig, where: str, meta: bool = False) -> PreTrainedModel:
    """A generator of a config, with weights as they are initialised, or an outline without any."""
    kind = class_of(config, where)
    with torch.device("meta" if meta else torch.empty(0).device), quiet():
        return told(where, lambda: kind(config))


def class_of(config: PreTrainedConfig, where: str) -> type[PreTrainedModel]:
    """The class that generates texts: the one that the config names, or the library's own choice."""
    choices = [getattr(modeling_auto, f"AutoModelFor{kind}")._model_mapping.get(type(config), None) for kind in KINDS]
    flat = [each for found in choices if found for each in (found if isinstance(found, tuple) else (found,))]
    able: list[type[PreTrainedModel]] = [each for each in flat if each.can_generate()]
    if not able:
        raise InputError(f"{where}: {config.model_type} has no model that generates texts")
    named = config.architectures if isinstance(config.architectures, list) else []
    return next((each for each in able if each.__name__ in named), able[0])


def check_folder(name: str, weights: bool = True) -> None:
    """An InputError if a folder holds what could make a reader wait, or weights that would have to be unpickled."""
    folder = Path(name)
    try:
        if not folder.is_dir():
            if folder.exists() or name.startswith((".", "/")):
                raise InputError(f"{name}: no such folder; name one that `save_pretrained` has written, or a hub id")
            return
        files = [path for path in folder.iterdir() if not path.is_dir()]
        for path in files:
            check_plain(path)
    except OSError as error:
        raise InputError(f"{error.filename or name}: {error.strerror}") from None
    if not (folder / "config.json").is_file():
        raise InputError(f"{name}: has no config.json; name a folder that `save_pretrained` has written, or a hub id")
    check_sizes(name, read_json(folder / "config.json"))
    if weights and not any(path.suffix == ".safetensors" for path in files):
        raise InputError(f"{name}: has no weights as safetensors, and pickled ones are not read")


def check_sizes(where: str, table: Any) -> None:
    """An InputError if a config asks for more than any model has: it would be built for ever."""
    waiting: list[tuple[str, Any]] = [("", table)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(str(name), each) for name, each in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [(key, each) for each in value]
        elif type(value) is int and abs(value) > (MOST_PARTS if any(word in key for word in PARTS) else LARGEST):
            raise InputError(f"{where}: config.json: {key} = {str(value)[:40]} is more than any model has")


def check_ids(where: str, config: Any) -> None:
    """An InputError unless what a generation config says of tokens are ids."""
    for key in IDS:
        value = getattr(config, key, None)
        several = value if isinstance(value, list) and key in SEVERAL else [] if value is None else [value]
        if not all(type(each) is int for each in several):
            raise InputError(f"{where}: generation_config.json: {key} = {str(value)[:40]!r} is no id of a token")


def told(where: str, work: Callable[[], T]) -> T:
    """What the library gives, and its complaints in one line: they have no common base class."""
    try:
        return work()
    except (InputError, KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # the Rust side of tokenizers, where it gives up, raises one
        if isinstance(error, SystemExit):
            raise
        text = " ".join(str(error).split())
        raise InputError(f"{where}: cannot be loaded: {text[:300] or type(error).__name__}") from None


@contextmanager
def quiet() -> Iterator[None]:
    """Without the library's progress bars and advice."""
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
