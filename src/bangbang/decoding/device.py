"""Where a model decodes."""

import torch


def decoding_device() -> torch.device:
    """The machine's accelerator, as in training; the CPU where there is none."""
    # `current_accelerator` alone names what torch was built for, whether the machine has it or not
    found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return found or torch.device("cpu")
