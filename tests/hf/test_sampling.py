"""Ways to sample a transformers model, and beam search against the library's own."""

from typing import Any

import pytest
import torch
from torch import Tensor

from bangbang.decoding import generate
from bangbang.decoding.settings import DecodingSettings
from bangbang.hf import Inputs, Policy
from bangbang.models import InputDecoder
from bangbang.models.base import TwoPassRollout
from bangbang.objectives import Sampling, spg
from bangbang.objectives.choice import Rules
from bangbang.objectives.policy_gradients import mixed_samples, model_samples
from bangbang.objectives.settings import BangBang, Rloo
from bangbang.rewards import RougeN
from bangbang.symbols import PAD
from tests.hf.families import LENGTH, SOURCE, TARGET, inputs_of, new_model, policy_of

WAYS = ["t5", "bart", "gpt2", "mistral", "mamba", "whisper", "blip2-opt"]


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def labels_of(policy: Policy) -> Tensor:
    return policy.alphabet.to_read(TARGET, 0).masked_fill(TARGET == PAD, -100)


@pytest.mark.parametrize("name", WAYS)
def test_passes_end_in_the_sequential_sample(name: str) -> None:
    policy = policy_of(name)
    decoder = InputDecoder(policy, policy.encode(inputs_of(name, policy)))
    settings = Sampling(0.5, samples=2)
    expected = spg(decoder, RougeN(3), TARGET, 7, settings, generator())
    for most in (0, 7):
        found = spg(decoder, RougeN(3), TARGET, 7, settings._replace(way="passes", max_passes=most), generator())
        assert found.tokens.tolist() == expected.tokens.tolist()
        torch.testing.assert_close(found.features, expected.features, rtol=0, atol=1e-5)
        torch.testing.assert_close(found.coefficients, expected.coefficients)


@pytest.mark.parametrize("name", WAYS)
def test_jumps_read_what_steps_read(name: str) -> None:
    """The same coins give the same sample, in fewer calls of the model."""
    policy = policy_of(name)
    decoder = InputDecoder(policy, policy.encode(inputs_of(name, policy))).repeat(2)
    settings = Sampling(0.4, samples=2, rules=Rules(ties="reference"), way="jumps")
    rollout, sample = mixed_samples(decoder, RougeN(3), TARGET, 7, settings, generator())
    decoder.jumps = lambda: TwoPassRollout(policy, decoder.state)  # type: ignore[method-assign]
    _, expected = mixed_samples(decoder, RougeN(3), TARGET, 7, settings, generator())
    assert sample.tokens.tolist() == expected.tokens.tolist()
    assert rollout.calls < int((sample.tokens != PAD).any(0).sum())  # type: ignore[attr-defined]
    assert rollout.features().isfinite().all()


def test_a_step_of_training_leaves_modes_and_hooks_as_they_were() -> None:
    policy = Policy(new_model("t5")).train()
    encoder: Any = policy.inner.encoder
    encoder.eval()  # such as one that is frozen
    before = {name: module.training for name, module in policy.named_modules()}
    batch = policy.batch(inputs_of("t5", policy).tensors, labels_of(policy))
    for way in ("sequential", "jumps", "passes"):
        objective = BangBang(p_drop=0.5, sampling=way).build(lambda: RougeN(3), 6)  # type: ignore[arg-type]
        loss, diagnostics = policy.loss(batch, objective, step=3, seed=5)
        again, _ = policy.loss(batch, objective, step=3, seed=5)
        assert diagnostics.samples == 3
        loss.backward()
        assert loss.isfinite() and again.isfinite()
    assert {name: module.training for name, module in policy.named_modules()} == before
    assert "generate" not in vars(policy.inner)
    assert not policy.inner.get_output_embeddings()._forward_pre_hooks


def test_labels_become_targets() -> None:
    """Left or right padding, with or without an end, and without what the decoder is given anyway."""
    policy = policy_of("bart")
    policy_with_prefix = Policy(policy.inner, tokens=policy.tokens._replace(prefix=(2, 1)))
    labels = torch.tensor([[1, 20, 21, 2, -100], [-100, -100, 1, 22, 2], [23, 24, -100, -100, -100]])
    inputs = inputs_of("bart", policy).tensors
    batch = policy_with_prefix.batch(inputs, labels, references=[labels, labels.flip(0)])
    assert batch.target.tolist() == [[24, 25, 2], [26, 2, 0], [27, 28, 2]]
    assert batch.target_length.tolist() == [3, 2, 3]
    assert batch.references.tolist()[0] == [[24, 25, 2], [27, 28, 2]]
    assert len(batch.source) == 3
    assert isinstance(batch.source[torch.tensor([1])], Inputs)


def test_the_encoder_runs_once_for_all_samples() -> None:
    policy = policy_of("bart")
    runs = []
    handle = policy.inner.get_encoder().register_forward_hook(lambda *_: runs.append(1))
    try:
        batch = policy.batch(inputs_of("bart", policy).tensors, labels_of(policy))
        loss, diagnostics = policy.loss(batch, Rloo(samples=4).build(lambda: RougeN(2), 6))
    finally:
        handle.remove()
    assert diagnostics.samples == 12
    assert len(runs) == 1
    assert loss.requires_grad


def test_samples_follow_the_models_distribution() -> None:
    """Whole sequences of two tokens, against the product of the softmaxes of `forward`."""
    from tests.heads.test_sampling import chi_square_fits

    policy = policy_of("t5")
    count = 4000
    decoder = InputDecoder(policy, policy.encode(SOURCE[:1], LENGTH[:1]))
    with torch.no_grad():
        _, sample = model_samples(decoder, RougeN(1), TARGET[:1], 2, count, generator())
        first = sample.tokens[:, 0]
        common = int(first.bincount().argmax())
        read = torch.tensor([[1, common]])
        logits = policy.head.logits(decoder.unroll(read)[0])
        p = logits.masked_fill(torch.arange(policy.head.size) == PAD, -torch.inf).softmax(1)
    assert chi_square_fits(first, p[0])
    second = sample.tokens[first == common, 1]
    assert chi_square_fits(second, p[1])


@pytest.mark.parametrize("name", ["t5", "bart", "gpt2"])
def test_beam_search_is_that_of_generate(name: str) -> None:
    """The same hypotheses by the same scores, with what is never generated suppressed there too."""
    policy, beam, length = policy_of(name), 4, 6
    model: Any = policy.inner
    inputs = inputs_of(name, policy).tensors
    never = policy.alphabet.forbidden
    found = model.generate(
        **inputs,
        num_beams=beam,
        num_return_sequences=beam,
        max_new_tokens=length,
        suppress_tokens=never,
        early_stopping=True,
        length_penalty=0.7,
        do_sample=False,
        forced_eos_token_id=None,
        output_scores=True,
        return_dict_in_generate=True,
    )
    start = 1 if model.config.is_encoder_decoder else inputs["input_ids"].shape[1]
    expected = [words(row[start:], policy) for row in found.sequences]
    config = DecodingSettings(method="beam", beam_size=beam, length_penalty=0.7, dup=False, unknown=True)
    sources = [row[:size].tolist() for row, size in zip(SOURCE, LENGTH.tolist(), strict=True)]
    ours = [each for ranked in generate(policy, sources, config, length, nbest=beam) for each in ranked]
    assert [each.tokens for each in ours] == expected
    scores = torch.tensor([each.score for each in ours])
    torch.testing.assert_close(scores, found.sequences_scores, rtol=1e-4, atol=1e-4)


def words(row: Tensor, policy: Policy) -> list[int]:
    """Our ids up to the end."""
    tokens = policy.alphabet.to_ours(row).tolist()
    ends = [at for at, token in enumerate(row.tolist()) if token == 2]
    kept = tokens[: ends[0]] if ends else tokens
    return [token for token, theirs in zip(kept, row.tolist(), strict=False) if theirs != 0]
