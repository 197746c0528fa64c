"""One of the processes of a `MetricTrainer` training, started by torchrun: folder, batch size, micro-batches."""

import os
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

from tests.hf.tiny import ROWS, losses, trainer, weights


def main(folder: Path, batch: int, parts: int) -> None:
    torch.set_num_threads(1)
    made = trainer(
        "t5",
        folder,
        per_device_train_batch_size=batch,
        per_device_eval_batch_size=3,
        gradient_accumulation_steps=parts,
        stages=[{"steps": 2, "objective": "mle"}, {"steps": 1, "objective": "rloo", "samples": 2}],
        optim="sgd",
        max_grad_norm=0.0,
        ddp_backend="gloo" if "RANK" in os.environ else None,
    )
    made.train()
    scored = torch.tensor(len(made.predict(ROWS[:5]).predictions))
    numbers = {"losses": torch.tensor(losses(made)), "scored": scored}
    save_file({**weights(made.model), **numbers}, folder / f"rank-{made.args.process_index}.safetensors")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
