"""Which floating-point numbers a device has."""

import torch


def widest_float(device: torch.device) -> torch.dtype:
    """float64; float32 on Apple's MPS, where a float64 tensor is an error."""
    return torch.float32 if device.type == "mps" else torch.float64
