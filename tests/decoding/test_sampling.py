"""Sampling against the exact distribution, and its independence of the batch."""

from collections import Counter
from dataclasses import replace

import pytest
import torch

from bangbang.decoding import generate
from bangbang.decoding.sampling import draw, truncate
from bangbang.decoding.settings import DecodingSettings
from bangbang.symbols import BOS, EOS, PAD
from tests.decoding.table_model import TableModel

V = 7
SAMPLING = DecodingSettings(method="sample", dup=False, unknown=True)


def chi_square(observed: torch.Tensor, expected: torch.Tensor) -> float:
    possible = expected > 0
    assert observed[~possible].sum() == 0
    return float(((observed - expected)[possible] ** 2 / expected[possible]).sum())


def test_draw_inverts_the_distribution() -> None:
    torch.manual_seed(0)
    log_p = torch.randn(5)
    log_p[[1, 4]] = -torch.inf
    n = 20_000
    tokens = draw(log_p.expand(n, -1), torch.rand(n))
    # 2 degrees of freedom: 18.4 is exceeded once in 10,000
    assert chi_square(torch.bincount(tokens, minlength=5).double(), n * log_p.double().softmax(0)) < 18.4


@pytest.mark.parametrize("uniform", [0.0, 1.0 - 2**-24, 0.5])
def test_draw_never_gives_what_has_no_mass(uniform: float) -> None:
    log_p = torch.tensor([[-torch.inf, 0.0, 1.0, -torch.inf]])
    assert int(draw(log_p, torch.tensor([uniform]))) in (1, 2)


def test_top_k_and_top_p() -> None:
    log_p = torch.tensor([[0.5, 0.1, 0.3, 0.1]]).log()
    assert truncate(log_p, 2, 1.0).isfinite().tolist() == [[True, False, True, False]]
    assert truncate(log_p, 0, 0.6).isfinite().tolist() == [[True, False, True, False]]
    assert truncate(log_p, 0, 0.5).isfinite().tolist() == [[True, False, False, False]]
    assert truncate(log_p, 0, 1e-9).isfinite().tolist() == [[True, False, False, False]]
    assert torch.equal(truncate(log_p, 0, 1.0), log_p)


def test_first_tokens_follow_the_model_at_its_temperature() -> None:
    torch.manual_seed(2)
    model = TableModel(torch.randn(1, V, V))
    n, config = 5_000, replace(SAMPLING, temperature=0.7)
    drawn = generate(model, [[0]] * n, config, max_length=1, seed=11)
    counts = Counter(found[0].tokens[0] if found[0].tokens else EOS for found in drawn)
    logits = model.tables[0, BOS] / 0.7
    logits[[PAD, BOS]] = -torch.inf
    observed = torch.tensor([float(counts[token]) for token in range(V)])
    assert chi_square(observed, n * logits.softmax(0)) < 23.5  # 4 degrees of freedom, once in 10,000


def test_a_line_is_sampled_the_same_alone_and_in_a_batch() -> None:
    torch.manual_seed(2)
    model = TableModel(torch.randn(6, V, V))
    inputs = [[line % 6] for line in range(64)]
    together = generate(model, inputs, SAMPLING, max_length=9, nbest=2, seed=4)
    for line in (0, 17, 63):
        assert generate(model, [inputs[line]], SAMPLING, 9, nbest=2, seed=4, first_line=line) == [together[line]]
    assert together != generate(model, inputs, SAMPLING, max_length=9, nbest=2, seed=5)


def test_log_prob_is_the_models_own() -> None:
    torch.manual_seed(2)
    model = TableModel(torch.randn(1, V, V).double())
    [[found]] = generate(model, [[0]], replace(SAMPLING, temperature=0.3, top_k=2), max_length=5)
    ended = [*found.tokens, EOS] if len(found.tokens) < 5 else found.tokens
    assert found.log_prob == pytest.approx(model.log_p(0, ended))
