"""Networks of the timm library, such as the paper's Inception-V3: `timm:inception_v3`."""

import re

from bangbang.errors import InputError
from bangbang.features.encoders import Network
from bangbang.features.images import BICUBIC, BILINEAR, View

# no scheme and no slash: timm would take `hf-hub:somebody/something` and `local-dir:folder` too
PLAIN = re.compile(r"\w[\w.-]*", re.ASCII)


def load(name: str) -> Network:
    if not PLAIN.fullmatch(name):
        raise InputError(f"timm:{name}: not a model of timm's own, such as timm:inception_v3")
    try:
        import timm
        from timm.data import resolve_model_data_config
    except (ImportError, RuntimeError) as error:  # a torchvision that does not fit its torch raises RuntimeError
        raise InputError(
            f"timm:{name} needs timm, and a torchvision that fits this torch: pip install timm ({error})"
        ) from None
    try:
        network = timm.create_model(name, pretrained=True, num_classes=0).eval()
    except Exception as error:  # unknown names, no network, no cache: no common base class
        raise InputError(f"timm:{name}: cannot be loaded: {error}") from None
    wanted = resolve_model_data_config(network)
    _, height, width = wanted["input_size"]
    share = None if wanted.get("crop_mode") == "squash" else float(wanted["crop_pct"])
    resample = BILINEAR if wanted["interpolation"] == "bilinear" else BICUBIC
    return Network(View(height, width, share, tuple(wanted["mean"]), tuple(wanted["std"]), resample), network)
