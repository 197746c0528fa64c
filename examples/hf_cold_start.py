"""Train a causal language model against a metric from its first step on, with no maximum likelihood before.

python -m examples.hf_cold_start --steps 300

A small GPT-2 learns to sum up a shopping list. Its weights are random when it starts. Bang-bang softmax policy gradient
pays each token what it adds to ROUGE, so that there is something to learn from samples that are all wrong as a whole.
"""

import argparse
import tempfile

import torch
from transformers import ByT5Tokenizer, GPT2Config, GPT2LMHeadModel

from bangbang.hf import MetricConfig, MetricTrainer

GOODS = ("eggs", "milk", "rice", "tea", "nuts", "oats")


def made_up(count: int) -> list[dict[str, str]]:
    """Lists of two goods, and what is to be said of them."""
    rows = []
    for number in range(count):
        first, second = GOODS[number % 6], GOODS[number // 6 % 6]
        rows.append({"source": f"2 {first}, 1 {second}", "target": f"{first} twice"})
    return rows


def make_model() -> GPT2LMHeadModel:
    """For the bytes of texts; a ByT5 tokenizer needs no file."""
    torch.manual_seed(1)
    ids = {"vocab_size": 384, "bos_token_id": 1, "eos_token_id": 1, "pad_token_id": 0}
    return GPT2LMHeadModel(GPT2Config(n_embd=64, n_layer=1, n_head=4, n_positions=64, **ids))


def main(argv: list[str] | None = None) -> list[float]:
    """The mean reward of samples, every ten steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--p-drop", type=float, default=0.4)
    options = parser.parse_args(argv)
    rows = made_up(36)
    with tempfile.TemporaryDirectory() as folder:
        trainer = MetricTrainer(
            model=make_model(),
            args=MetricConfig(
                folder,
                objective="bbspg",
                reward="rouge-n",
                p_drop=options.p_drop,
                max_steps=options.steps,
                max_target_length=14,
                per_device_train_batch_size=12,
                learning_rate=3e-3,
                logging_steps=10,
                save_strategy="no",
                report_to=[],
            ),
            train_dataset=rows,
            eval_dataset=rows,
            processing_class=ByT5Tokenizer(),
        )
        trainer.train()
        print(trainer.evaluate())
    return [line["reward"] for line in trainer.state.log_history if "reward" in line]


if __name__ == "__main__":
    main()
