"""Vision models of the transformers library: `hf:<id or path>`."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from bangbang.errors import InputError
from bangbang.features.encoders import Network
from bangbang.features.images import BICUBIC, View


def load(name: str) -> Network:
    try:
        from transformers import AutoImageProcessor, AutoModel
    except ImportError:
        raise InputError(f"hf:{name} needs transformers: pip install 'bangbang[captions]'") from None
    try:
        # no code of theirs, no pickles
        settings = AutoImageProcessor.from_pretrained(name, trust_remote_code=False).to_dict()
        model, report = AutoModel.from_pretrained(
            name, trust_remote_code=False, use_safetensors=True, output_loading_info=True
        )
    except Exception as error:  # unknown ids, no network, damaged files: no common base class
        raise InputError(f"hf:{name}: cannot be loaded: {error}") from None
    missing = sorted(report["missing_keys"])
    others = [key for key in missing if "pooler" not in key]
    if others:
        raise InputError(f"hf:{name}: {len(others)} weights are not in its files, such as {others[0]}")
    # a pooler without weights would be random: then the mean over places is taken
    return Network(view_of(settings, name), Pooling(model.eval(), use_pooler=not missing))


class Pooling:
    """The one vector of an image that a vision model gives, or the mean of those of its places."""

    def __init__(self, model: Any, use_pooler: bool) -> None:
        self.model, self.use_pooler = model, use_pooler

    def __call__(self, pixels: Tensor) -> Tensor:
        two_towers = hasattr(self.model, "get_image_features")  # such as CLIP
        output = self.model.get_image_features(pixels) if two_towers else self.model(pixel_values=pixels)
        if isinstance(output, Tensor):
            return output
        pooled = getattr(output, "pooler_output", None)
        if pooled is not None and self.use_pooler:
            return Tensor(pooled.flatten(1))
        places: Tensor = output.last_hidden_state  # [B, places, F], or [B, F, H, W] of a convolutional network
        return places.flatten(2).mean(2) if places.ndim == 4 else places.mean(1)


def view_of(settings: Mapping[str, Any], name: str) -> View:
    """The view that an image processor's settings describe: squeeze, or the shorter side to a size and a centre cut."""
    size = edges(settings.get("size"))
    cut = edges(settings.get("crop_size")) if settings.get("do_center_crop") else None
    final = cut or size
    if not final or not size:
        raise InputError(f"hf:{name}: its preprocessor states no size of images")
    squeezed = "height" in size
    height, width = (final[key] if key in final else final["shortest_edge"] for key in ("height", "width"))
    share = None if squeezed and cut is None else min(height, width) / min(size.values())
    mean, deviation = (tuple(settings.get(key) or default) for key, default in DEFAULTS.items())
    if not settings.get("do_normalize", True):
        mean, deviation = (0.0,) * 3, (1.0,) * 3
    return View(height, width, share, mean, deviation, int(settings.get("resample") or BICUBIC))


DEFAULTS = {"image_mean": (0.5,) * 3, "image_std": (0.5,) * 3}


def edges(size: Any) -> dict[str, int]:
    """A size as transformers writes it, a number or a table, without what is not set."""
    if isinstance(size, int):
        return {"shortest_edge": size}
    table = dict(size) if isinstance(size, Mapping) else {}
    return {key: int(table[key]) for key in ("height", "width", "shortest_edge") if table.get(key)}
