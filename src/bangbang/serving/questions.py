"""What a page may ask: checked in every part before anything looks at it."""

import base64
import binascii
import io
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from bangbang.decoding.settings import Method
from bangbang.errors import InputError
from bangbang.features.images import decode_image

if TYPE_CHECKING:
    from PIL import Image

TEXT_LETTERS = 1_000_000
PICTURE_BYTES = 12_000_000
PICTURE_PIXELS = 50_000_000
BODY_BYTES = 17_000_000  # a picture in base64, and the rest
FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF")  # Pillow has more, some of which start other programs
KEYS = {"text", "picture", "reference", "methods"}
METHODS: tuple[Method, ...] = ("greedy", "beam", "mbr")


class Question(NamedTuple):
    text: str
    """Empty where there is a picture."""
    picture: "Image.Image | None"
    reference: str
    """Empty where none is given."""
    methods: tuple[Method, ...] = METHODS
    """Of decoding."""


def read_question(body: bytes) -> Question:
    """The question in a request's body; an InputError if it is not one."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        raise InputError("the request is not JSON in UTF-8") from None
    if not isinstance(asked, dict) or not asked.keys() <= KEYS:
        raise InputError(f"the request must be an object with some of {', '.join(sorted(KEYS))}")
    text, picture, reference = (text_of(asked, key) for key in ("text", "picture", "reference"))
    if bool(text.strip()) == bool(picture):
        raise InputError(
            "type a text or choose a picture" if not picture else "ask of a text or of a picture, not both"
        )
    image = decoded(picture) if picture else None
    return Question(text, image, reference.strip(), methods_of(asked.get("methods", list(METHODS))))


def methods_of(wanted: Any) -> tuple[Method, ...]:
    if not isinstance(wanted, list) or not wanted or any(each not in METHODS for each in wanted):
        raise InputError(f"methods: must be a list of some of {', '.join(METHODS)}")
    return tuple(method for method in METHODS if method in wanted)


def text_of(asked: dict[str, Any], key: str) -> str:
    """A text that can be encoded: lone surrogates, which JSON can name, become question marks."""
    value = asked.get(key, "")
    if not isinstance(value, str):
        raise InputError(f"{key}: must be a text")
    if key != "picture" and len(value) > TEXT_LETTERS:
        raise InputError(f"{key}: has {len(value):,} letters, and at most {TEXT_LETTERS:,} are read")
    return value.encode("utf-8", "replace").decode("utf-8")


def decoded(picture: str) -> "Image.Image":
    """The image of a file in base64."""
    try:
        content = base64.b64decode(picture, validate=True)
    except (binascii.Error, ValueError):
        raise InputError("picture: must be a file in base64") from None
    if len(content) > PICTURE_BYTES:
        raise InputError(f"picture: has {len(content):,} bytes, and at most {PICTURE_BYTES:,} are read")
    return decode_image(io.BytesIO(content), "picture", FORMATS, PICTURE_PIXELS)
