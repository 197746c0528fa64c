"""Fine-tune a model of the transformers library: maximum likelihood first, then the metric itself.

python -m examples.hf_finetune --model FOLDER-or-hub-id --data pairs.jsonl --out models/headlines

Each line of the data is a JSON object with `source` and `target`, or `references`, a list. Without --data, texts are
made up. Without --model, a small encoder-decoder is made and saved first, to stand for a pretrained one.
"""

import argparse
from pathlib import Path

import datasets
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

from bangbang.hf import MetricConfig, MetricTrainer

THINGS = ("kettle", "lamp", "ladder", "bicycle", "piano", "tent", "camera", "drill")
PLACES = ("kitchen", "garden", "attic", "garage")
STATES = ("hardly used", "in need of repair", "as good as new", "without its box")


def made_up(count: int) -> list[dict[str, str]]:
    """Small advertisements and their headlines."""
    rows = []
    for number in range(count):
        thing, place = THINGS[number % 8], PLACES[number // 8 % 4]
        state = STATES[number // 32 % 4]
        text = f"For years this {thing} has stood in our {place}. It is {state}, and we have no more room for it."
        rows.append({"source": text, "target": f"{thing} from the {place}, {state}"})
    return rows


def make_model(texts: list[str], folder: Path) -> str:
    """A small BART that has learnt nothing yet, with a tokenizer of these texts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    specials = ["<pad>", "<s>", "</s>", "<unk>"]
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=400, special_tokens=specials))
    tokenizer.post_processor = processors.TemplateProcessing("$A </s>", special_tokens=[("</s>", 2)])
    names = dict(zip(("pad_token", "bos_token", "eos_token", "unk_token"), specials, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    layers = {f"{part}_layers": 1 for part in ("encoder", "decoder")}
    heads = {f"{part}_attention_heads": 4 for part in ("encoder", "decoder")}
    sizes = {**layers, **heads, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "d_model": 64}
    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    config = BartConfig(vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=128, **sizes, **ids)
    BartForConditionalGeneration(config).save_pretrained(folder)
    return str(folder)


def train(model: str, rows: datasets.Dataset, out: Path, steps: tuple[int, int]) -> dict[str, float]:
    """Train in two stages, save the model, and give its scores on held-out rows."""
    parts = rows.train_test_split(test_size=min(100, len(rows) // 5), seed=1)
    trainer = MetricTrainer(
        model=model,
        args=MetricConfig(
            str(out),
            stages=[
                {"steps": steps[0], "objective": "mle"},
                {"steps": steps[1], "objective": "rloo", "reward": "rouge-l", "learning_rate": 2e-4},
            ],
            learning_rate=2e-3,
            per_device_train_batch_size=16,
            max_target_length=32,
            logging_steps=20,
            eval_strategy="steps",
            eval_steps=steps[0],
            save_strategy="no",
            report_to=[],
        ),
        train_dataset=parts["train"],
        eval_dataset=parts["test"],
    )
    trainer.train()
    trainer.save_model()
    return trainer.evaluate(num_beams=4)


def main(argv: list[str] | None = None) -> dict[str, float]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, nargs=2, default=(200, 60), metavar=("MLE", "METRIC"))
    options = parser.parse_args(argv)
    rows = made_up(128)
    table = datasets.Dataset.from_list(rows)
    if options.data:
        table = datasets.load_dataset("json", data_files=str(options.data), split="train")
    model = options.model or make_model([text for row in rows for text in row.values()], options.out / "start")
    scores = train(model, table, options.out, tuple(options.steps))
    print("  ".join(f"{name} {value:.2f}" for name, value in scores.items() if "rouge" in name))
    return scores


if __name__ == "__main__":
    main()
