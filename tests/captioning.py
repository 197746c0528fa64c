"""A small captioning run on drawn shapes, for the tests of training and of the command line."""

from pathlib import Path

from bangbang.corpora import shapes

CONFIG = """
[data]
corpus = "shapes"
path = "{scenes}"
cache = "{cache}"

[vocabulary]
split = "bare-words"

[model]
kind = "show_and_tell"
layers = 1
units = 96
dropout = 0.1

[optimizer]
kind = "adamw"
learning_rate = 0.005
warmup_steps = 20
decay = "cosine"

[training]
batch_size = 50
max_steps = 800
validate_every = 400
metric = "cider-d"
log_every = 40
"""


def write_shapes_config(folder: Path) -> Path:
    """Scenes and a config file that trains on them in seconds."""
    shapes.draw_corpus(folder / "scenes", {"train": 1000, "valid": 40, "test": 40})
    path = folder / "shapes.toml"
    path.write_text(CONFIG.format(scenes=folder / "scenes", cache=folder / "cache"))
    return path
