"""Rewards of words on models of pieces of words: forced spelling, one coin a word, and both doors."""

from pathlib import Path
from typing import Any

import pytest
import torch

from bangbang.cli.main import main
from bangbang.config import Config, read
from bangbang.contracts import Batch
from bangbang.errors import InputError
from bangbang.hf import MetricConfig, Policy
from bangbang.metrics import Rouge
from bangbang.objectives import BangBang, Mle, Spg
from bangbang.objectives.policy_gradients import bang_bang_sampling, mixed_samples, model_samples
from bangbang.rewards import Dup, Eos, RougeL, RougeN, Sum, WordReward
from bangbang.rewards.settings import RougeLSettings
from bangbang.symbols import EOS, PAD
from tests.hf.tiny import ROWS, config, losses, model_of, tokenizer_of, trainer

LENGTH = 40


def case(name: str, rows: int = 4) -> tuple[Policy, Batch]:
    tokenizer, chosen = tokenizer_of(name), ROWS[:rows]
    policy = Policy(model_of(name, spread=0.3), tokenizer)
    read = tokenizer([row["source"] for row in chosen], padding=True, padding_side="left", return_tensors="pt")
    ids = [[*tokenizer(row["target"], add_special_tokens=False)["input_ids"], 2] for row in chosen]
    longest = max(map(len, ids))
    labels = torch.tensor([[*each, *[-100] * (longest - len(each))] for each in ids])
    inputs = {key: read[key] for key in ("input_ids", "attention_mask")}
    return policy, policy.batch(inputs, labels)


def drawn(policy: Policy, batch: Batch, reward: WordReward, p_drop: float, ties: Any = "model") -> Any:
    settings = bang_bang_sampling(BangBang(p_drop=p_drop, samples=3, ties=ties), 0)
    decoder = policy.begin(batch.source, batch.source_length).repeat(3)
    return mixed_samples(decoder, reward, batch.target, LENGTH, settings, torch.Generator().manual_seed(3))[1]


@pytest.mark.parametrize("name", ["t5", "gpt2"])
def test_without_drops_it_is_maximum_likelihood(name: str) -> None:
    policy, batch = case(name)
    reward = policy.in_words(Sum(RougeN(3), Dup(), Eos()))
    sample = drawn(policy, batch, reward, 0.0)
    width = batch.target.shape[1]
    assert torch.equal(sample.tokens[:, :width], batch.target.repeat_interleave(3, 0))
    assert torch.equal(sample.driven, sample.tokens != PAD)
    assert sample.rewards.tolist() == pytest.approx([1.0] * 12)
    found, _ = policy.loss(batch, BangBang(p_drop=0.0).build(lambda: reward, LENGTH))
    expected, _ = policy.loss(batch, Mle().build(lambda: reward, LENGTH))
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)


def test_with_drops_alone_it_is_the_model() -> None:
    policy, batch = case("t5")
    reward = policy.in_words(RougeL())
    sample = drawn(policy, batch, reward, 1.0)
    decoder = policy.begin(batch.source, batch.source_length)
    generator = torch.Generator().manual_seed(3)
    _, alone = model_samples(decoder, reward, batch.target, LENGTH, 3, generator)
    assert torch.equal(sample.tokens, alone.tokens) and not sample.driven.any()
    assert torch.equal(sample.rewards, alone.rewards)


@pytest.mark.parametrize("ties", ["model", "reference"])
def test_a_coin_a_word_and_rewards_of_texts(ties: str) -> None:
    """Each word is the reward's or the model's as a whole, and what the reward chose was best behind its prefix."""
    policy, batch = case("t5")
    reward = policy.in_words(Sum(RougeN(2, start_symbol=False), Eos()))
    sample = drawn(policy, batch, reward, 0.5, ties)
    shares = []
    for row, (tokens, driven) in enumerate(zip(sample.tokens.tolist(), sample.driven.tolist(), strict=True)):
        z = tuple(token for token in tokens if token != PAD)
        starts = reward.view.starts(z)
        for begin, end in zip(starts, [*starts[1:], len(z)], strict=True):
            assert len(set(driven[begin:end])) == 1
            if driven[begin] and end < LENGTH:
                state = reward.start(batch.target[row // 3][None])
                for token in z[:begin]:
                    state.advance(torch.tensor([token]))
                ways = state.best_spellings([0])[0]
                assert z[begin:end] in ways and (ties == "model" or z[begin:end] == ways[0])
            shares.append(driven[begin])
        y = [token for token in batch.target[row // 3].tolist() if token != PAD]
        ours, theirs = reward.view.decode([list(z), y])
        scores = Rouge().score(f"{ours} {'qqend' if EOS in z else ''}", [f"{theirs} qqend"])
        expected = (scores["rouge-1"].f1 + scores["rouge-2"].f1) / 2
        assert sample.rewards[row].item() == pytest.approx(expected, abs=1e-6)
    assert 0.2 < sum(shares) / len(shares) < 0.8


@pytest.mark.parametrize(
    "objective",
    ["bbspg", "rloo", {"kind": "rloo", "credit": "sequence"}, "scst", "mrt", "pg", {"kind": "mixer", "every": 1}],
)
def test_methods_of_the_trainer(objective: Any, tmp_path: Path) -> None:
    made = trainer("t5", tmp_path, objective=objective, units="words", reward="rouge-l", max_steps=1)
    made.train()
    assert len(losses(made)) == 1 and 0 <= made.state.log_history[0].get("reward", 0) <= 1


def test_bang_bang_reports_the_reward_of_texts(tmp_path: Path) -> None:
    """Where nothing is dropped, all texts are right."""
    options = {"units": "words", "p_drop": 0.0, "max_steps": 1, "max_target_length": LENGTH}
    made = trainer("bart", tmp_path, objective="bbspg", **options)
    made.train()
    assert made.state.log_history[0]["reward"] == 1 and made.state.log_history[0]["driven_share"] == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "ocd", "reward": "edit-distance"}, "'ocd' asks what each next token earns"),
        ({"objective": "spg"}, "'spg' asks what each next token earns"),
        ({"objective": "bbspg", "sampling": "jumps"}, "'bbspg' must have sampling = sequential"),
        ({"objective": {"kind": "bbspg", "positions": "all"}}, "'bbspg' must have positions = driven"),
        ({"objective": "rloo", "reward": RougeL()}, "units go with a reward by name"),
        ({"objective": "rloo", "units": "letters"}, "units"),
    ],
)
def test_what_does_not_go_with_words(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        config(tmp_path, **{"units": "words", **settings})


def test_units_are_the_rewards() -> None:
    (leg,) = MetricConfig("out", objective="rloo", reward="rouge-l", units="words").legs()
    assert leg.reward.units == "words" and MetricConfig("out").legs()[0].reward.units == "tokens"


def test_from_the_command_line(hf_config: Path, tmp_path: Path) -> None:
    changes = ["--set", "reward.units=words", "--set", "training.validate_every=6"]
    assert main(["train", str(hf_config), *changes, "--out", str(tmp_path / "run")]) == 0
    assert read(tmp_path / "run" / "config.toml").legs[1].reward.units == "words"
    with pytest.raises(InputError, match="'spg' asks what each next token earns"):
        _ = Config(objective=Spg(), reward=RougeLSettings(units="words")).planned
