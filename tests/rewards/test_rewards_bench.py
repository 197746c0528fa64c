"""The bench runs small and has the keys that programs read."""

import argparse
import json

import torch
from rich.console import Console

from benchmarks import rewards as bench


def test_it_measures_every_reward_and_restores_the_threads() -> None:
    threads = torch.get_num_threads()
    arguments = argparse.Namespace(batch_size=4, length=5, rollouts=2, rouge_score_calls=20)
    result = json.loads(json.dumps(bench.measure(arguments)))
    assert torch.get_num_threads() == threads
    assert result["rouge3_dup_eos"]["ms_per_step"] > 0
    assert result["vocabulary_ratio"] > 0
    assert set(result["others"]) == set(bench.other_rewards())
    assert all(numbers["ms_per_step"] > 0 for numbers in result["others"].values())
    speedup, peer = result["speedup_over_rouge_score"], result.get("rouge_score")
    assert (speedup is None) == (peer is None)
    assert peer is None or peer["calls_of_a_step"] == 4 * 1000
    Console(quiet=True).print(bench.table(result))
