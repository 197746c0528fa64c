"""What takes a place in a stranger's folder, for `benchmarks.hostile`."""

import json
import os
from collections.abc import Callable
from pathlib import Path

Replacement = Callable[[Path, Path], object]
REPLACEMENTS: dict[str, Replacement] = {
    "nothing": lambda place, outside: None,
    "a link to a file": lambda place, outside: place.symlink_to(outside / "precious"),
    "a link to a folder": lambda place, outside: place.symlink_to(outside / "album"),
    "a link to nothing": lambda place, outside: place.symlink_to(outside / "gone"),
    "a link to itself": lambda place, outside: place.symlink_to(place.name),
    "a pipe": lambda place, outside: os.mkfifo(place),
    "an endless device": lambda place, outside: place.symlink_to("/dev/zero"),
    "an empty device": lambda place, outside: place.symlink_to("/dev/null"),
    "a folder": lambda place, outside: place.mkdir(),
    "an empty file": lambda place, outside: place.write_text(""),
    "5,000 digits": lambda place, outside: place.write_text("9" * 5_000),
    "a list": lambda place, outside: place.write_text("[]"),
    "a number": lambda place, outside: place.write_text("7"),
    "a text": lambda place, outside: place.write_text('"text"'),
    "null": lambda place, outside: place.write_text("null"),
    "an empty object": lambda place, outside: place.write_text("{}"),
    "deep JSON": lambda place, outside: place.write_text("[" * 100_000),
    "no UTF-8": lambda place, outside: place.write_bytes(b"\xff\xfe\xed\xa0\x80\n" * 3),
    "a line of NULs": lambda place, outside: place.write_bytes(bytes(1_000)),
}


def entry(name: str, **values: object) -> Replacement:
    """Other values in a JSON file of a model's folder."""

    def change(folder: Path, outside: Path) -> None:
        table = json.loads((folder / name).read_text()) if (folder / name).exists() else {}
        (folder / name).write_text(json.dumps({**table, **values}))

    return change


def foreign_code(name: str, **values: object) -> Replacement:
    """A file of theirs that writes outside as soon as it runs, and a config that asks for it."""

    def change(folder: Path, outside: Path) -> None:
        (folder / "theirs.py").write_text(f"open({str(outside / 'precious')!r}, 'w').write('their code has run')")
        entry(name, **values)(folder, outside)

    return change


def pickled(folder: Path, outside: Path) -> None:
    """Weights that write outside as soon as they are unpickled."""
    for path in folder.glob("*.safetensors"):
        path.unlink()
    opened = f"open({str(outside / 'precious')!r}, 'w')"
    (folder / "pytorch_model.bin").write_bytes(b"c__builtin__\neval\n(V" + opened.encode() + b"\ntR.")


# what is done to a model's folder, which stays
CODE: dict[str, object] = {
    "AutoConfig": "theirs.Config",
    "AutoModelForSeq2SeqLM": "theirs.Model",
    "AutoTokenizer": ["theirs.T", "theirs.T"],
}
CHANGES: dict[str, Replacement] = {
    "pickles": pickled,
    "code of theirs": foreign_code("config.json", auto_map=CODE),
    "code of theirs for an unknown family": foreign_code("config.json", auto_map=CODE, model_type="theirs"),
    "a tokenizer's code of theirs": foreign_code("tokenizer_config.json", auto_map=CODE, tokenizer_class="Theirs"),
    "code of theirs to generate": foreign_code("generation_config.json", custom_generate="theirs"),
    "another width": entry("config.json", d_model=12),
    "no width": entry("config.json", d_model=0),
    "a width that is text": entry("config.json", d_model="wide"),
    "another number of tokens": entry("config.json", vocab_size=17),
    "endless layers": entry("config.json", decoder_layers=10**9),
    "a width beyond memory": entry("config.json", d_model=2**30),
    "another family": entry("config.json", model_type="gpt2"),
    "a dropout of 7": entry("config.json", dropout=7, attention_dropout=-1),
    "an activation of nobody's": entry("config.json", activation_function="os.system"),
    "an end that there is not": entry("generation_config.json", eos_token_id=10**6),
    "an end that is text": entry("generation_config.json", eos_token_id="x"),
    "a start that there is not": entry("generation_config.json", decoder_start_token_id=10**6),
    "adapters": entry("adapter_config.json", base_model_name_or_path="nobody/nothing", peft_type="LORA"),
    "an endless pattern": entry(
        "tokenizer.json",
        pre_tokenizer={"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False},
    ),
    "a truncation to nothing": entry(
        "tokenizer.json", truncation={"direction": "Right", "max_length": 0, "strategy": "LongestFirst", "stride": 9}
    ),
    "padding beyond memory": entry(
        "tokenizer.json",
        padding={
            "strategy": {"Fixed": 10**12},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "<pad>",
        },
    ),
    "a template of nobody's": entry("tokenizer.json", post_processor={"type": "TemplateProcessing", "single": []}),
    "a tokenizer that is a list": entry("tokenizer_config.json", tokenizer_class=[]),
    "special tokens that are numbers": entry("tokenizer_config.json", eos_token=7, unk_token=[]),
}
