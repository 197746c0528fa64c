"""Which floating-point numbers a device has."""

import torch

WITHOUT_FLOAT64 = frozenset({"mps"})  # Apple's, where a float64 tensor is an error


def widest_float(device: torch.device) -> torch.dtype:
    """float64 where the device has it, float32 where it has not."""
    return torch.float32 if device.type in WITHOUT_FLOAT64 else torch.float64
