"""Indices of made-up packages with their descriptions in English and in a made-up language, and a run on them."""

from pathlib import Path

THINGS = {"clock": "clockam", "editor": "editoram", "parser": "parseram", "player": "playeram", "viewer": "vieweram"}
QUALITIES = {"small": "petu", "fast": "rapu", "quiet": "silu", "modern": "novu"}
PLACES = {"terminal": "terminis", "desktop": "mensis", "phone": "phonis", "server": "servis"}

CONFIG = """
[task]
kind = "translation"

[data]
corpus = "debian-translations"
path = "{lists}"
language = "xx"
valid_share = 0.1
test_share = 0.1
max_source_length = 20
max_target_length = 20
cache = "{cache}"

[vocabulary]
kind = "bpe"
size = 320
lowercase = false

[model]
layers = 1
units = 32
dropout = 0.0

[reward]
kind = "bleu"
dup = 0.0

[optimizer]
kind = "adamw"
learning_rate = 0.02

[training]
batch_size = 16
validate_every = 45
log_every = 15

[[stages]]
steps = 90
objective = {{kind = "bbspg", p_drop = 0.2, positions = "all"}}

[[stages]]
steps = 15
objective = {{kind = "rloo", samples = 2}}
optimizer = {{learning_rate = 0.001}}

[decoding]
dup = false
"""


def package(number: int) -> tuple[str, list[str], list[str]]:
    """A name, and the synopsis and one paragraph in both languages."""
    thing, quality = list(THINGS)[number % 5], list(QUALITIES)[number // 5 % 4]
    place = list(PLACES)[number // 20 % 4]
    name = "".join("bdfgklmnpr"[int(digit)] + "aeiouaeiou"[int(digit)] for digit in str(number)) + "i"
    english = [f"{quality} {thing} of {name}", f"{name.title()} runs on the {place} and is {quality}."]
    theirs = [
        f"{THINGS[thing]} {QUALITIES[quality]} de {name}",
        f"{name.title()} curre in {PLACES[place]} et est {QUALITIES[quality]}.",
    ]
    return name, english, theirs


def entry(name: str, md5: str, language: str, texts: list[str]) -> str:
    body = "\n .\n ".join(texts[1:])
    return f"Package: {name}\nDescription-md5: {md5}\nDescription-{language}: {texts[0]}\n {body}\n"


def write_lists(folder: Path, count: int) -> Path:
    """A folder as apt's, of so many packages."""
    folder.mkdir(parents=True, exist_ok=True)
    for language, place in (("en", 1), ("xx", 2)):
        entries = [
            entry((one := package(number))[0], f"{number:032x}", language, one[place]) for number in range(count)
        ]
        (folder / f"made.up_main_i18n_Translation-{language}").write_text("\n".join(entries), "utf-8")
    return folder


def write_translation_config(folder: Path) -> Path:
    path = folder / "translation.toml"
    path.write_text(CONFIG.format(lists=write_lists(folder / "lists", 160), cache=folder / "cache"))
    return path
