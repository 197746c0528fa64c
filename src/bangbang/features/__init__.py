"""Image features: pooled outputs of a pretrained network, one row per image, kept in a memory-mapped table.

`extract(images, folder, open_encoder("efficientnet-lite0"))` makes the table; `FeatureTable.open(folder)` reads it.
Nothing here imports torch or Pillow before it is used.
"""

from bangbang.features.encoders import Encoder, chooses_a_model, open_encoder
from bangbang.features.extraction import Extraction, extract, image_names
from bangbang.features.images import UnreadableImageError, read_image
from bangbang.features.table import FeatureTable

__all__ = [
    "Encoder",
    "Extraction",
    "FeatureTable",
    "UnreadableImageError",
    "chooses_a_model",
    "extract",
    "image_names",
    "open_encoder",
    "read_image",
]
