"""Every objective through the loop: it learns, resumes to the bit, logs what it should, starts warm if asked."""

import json
import math
from pathlib import Path

import pytest
import torch

from bangbang.cli.main import main
from bangbang.data import Batch
from bangbang.models import AttentionGru
from bangbang.models.settings import AttentionGruSettings
from bangbang.objectives import token_losses
from bangbang.objectives.settings import BangBang, Mle, Pg
from bangbang.rewards import Dup, Eos, RougeN, Sum
from bangbang.symbols import EOS, PAD, UNK
from bangbang.training import Run, checkpoint
from bangbang.training.learner import Learner
from tests.training.test_loop import weights

UNREWARDED = ("mle", "raml", "gold", "scheduled-sampling")


def lines(folder: Path, kind: str) -> list[dict[str, float]]:
    records = [json.loads(line) for line in (folder / "metrics.jsonl").open()]
    return [record for record in records if record["kind"] == kind]


def trained(config: Path, folder: Path, *settings: str, resume: bool = False) -> Path:
    options = [option for setting in settings for option in ("--set", setting)]
    assert main(["train", str(config), "--out", str(folder), *options, *(["--resume"] if resume else [])]) == 0
    return folder


@pytest.fixture(scope="module")
def bang_bang(tiny_config: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tiny_config, tmp_path_factory.mktemp("objectives") / "run", "objective.kind=bbspg")


def test_bang_bang_learns_from_a_cold_start(bang_bang: Path, tiny_run: Path) -> None:
    first, *_, last = lines(bang_bang, "train")
    assert last["reward"] > first["reward"] + 0.05
    assert last["entropy"] < first["entropy"] - 1
    assert 0.5 < last["driven_share"] < 0.7
    assert 0 < last["tied_share"] < first["tied_share"] <= 1
    assert last["sample_length"] >= last["reference_length"] - 0.5
    best = checkpoint.read_progress(Run.open(bang_bang).checkpoint("last")).best_score
    assert best > 0.5 * checkpoint.read_progress(Run.open(tiny_run).checkpoint("last")).best_score


def test_bang_bang_resumes_to_the_bit(bang_bang: Path, tiny_config: Path, tmp_path: Path) -> None:
    folder = trained(tiny_config, tmp_path / "run", "objective.kind=bbspg", "training.max_steps=25")
    trained(folder / "config.toml", folder, "training.max_steps=60", resume=True)
    assert weights(folder, 60) == weights(bang_bang, 60)


@pytest.mark.parametrize(
    "settings",
    [
        ("objective.kind=mle", "objective.label_smoothing=0.1"),
        ("objective.kind=raml",),
        ("objective.kind=raml", "objective.payoff=reward", "objective.tau=0.05", "objective.samples=2"),
        ("objective.kind=pg", "objective.samples=2", "objective.baseline=others"),
        ("objective.kind=rloo", "objective.samples=2"),
        ("objective.kind=rloo", "objective.samples=3", "objective.credit=token", "reward.kind=rouge-l"),
        ("objective.kind=gold", "objective.gamma=0.5"),
        ("objective.kind=expected-match", "objective.temperature=0.5"),
        ("objective.kind=scheduled-sampling", "objective.p_model_rise=3", "objective.p_model_shape=sigmoid"),
        ("objective.kind=mixer", "objective.samples=2", "objective.every=1", "objective.grow=1"),
        ("objective.kind=scst",),
        ("objective.kind=ocd", "reward.kind=edit-distance", "data.all_references=true"),
        ("objective.kind=mrt", "objective.samples=2", "objective.bang_bang=1", "objective.alpha=1.0"),
        ("objective.kind=scst", "objective.samples=2", "reward.kind=cider-d"),
        ("objective.kind=spg", "objective.reward_weight=20.0"),
        ("objective.kind=bbspg", "objective.reward_weight=20.0", "objective.p_drop_rise=5", "reward.length=1"),
        ("objective.kind=bbspg", "objective.ties=reference", "objective.temperature=0.5", "objective.top_k=5"),
        ("objective.kind=bbspg", "reward.kind=cider-d", "reward.max_n=4", "reward.dup_unless_in_reference=true"),
        ("objective.kind=bbspg", "reward.kind=rouge-n", "reward.min_n=2", "reward.max_n=2", "reward.measure=recall"),
        ("objective.kind=bbspg", "reward.kind=rouge-l", "reward.beta=1.2"),
        ("objective.kind=bbspg", "reward.kind=bleu"),
        ("objective.kind=bbspg", "objective.positions=all", "objective.reward_weight=20.0"),
        ("objective.kind=bbspg", "objective.positions=all", "objective.exact_ties=true", "objective.ends=reference"),
        ("objective.kind=bbspg", "reward.kind=gleu"),
        ("objective.kind=bbspg", "reward.kind=edit-distance"),
        ("objective.kind=bbspg", "reward.kind=edit-distance", "reward.unit=character"),
    ],
    ids=" ".join,
)
def test_every_setting_trains(settings: tuple[str, ...], tiny_config: Path, tmp_path: Path) -> None:
    quick = ("training.max_steps=4", "training.validate_every=4", "training.log_every=2")
    folder = trained(tiny_config, tmp_path / "run", *quick, *settings)
    first, last = lines(folder, "train")
    assert first["loss"] != last["loss"] and last["gradient_norm"] > 0
    assert ("reward" in last) == (settings[0].partition("=")[2] not in UNREWARDED)
    assert 0 < last["entropy"] < math.log(len(Run.open(folder).vocabulary))


def test_a_run_may_start_from_anothers_weights(tiny_run: Path, tiny_config: Path, tmp_path: Path) -> None:
    options = ["--set", "objective.kind=pg", "--set", "training.max_steps=1", "--set", "training.validate_every=1"]
    assert main(["train", str(tiny_config), "--out", str(tmp_path / "warm"), "--init", str(tiny_run), *options]) == 0
    warm, cold = lines(tmp_path / "warm", "valid")[0], lines(tiny_run, "valid")[0]
    assert warm["rouge-2"] > cold["rouge-2"]  # one step from good weights against twenty from none
    assert str(tiny_run) in (tmp_path / "warm" / "config.toml").read_text()


def test_the_weights_a_run_starts_from_may_stay_its_best(tiny_run: Path, tiny_config: Path, tmp_path: Path) -> None:
    ruinous = ["optimizer.learning_rate=1", "training.max_steps=4", "training.validate_every=2"]
    options = [part for setting in ruinous for part in ("--set", setting)]
    folder = tmp_path / "warm"
    assert main(["train", str(tiny_config), "--out", str(folder), "--init", str(tiny_run), *options]) == 0
    points = {int(line["step"]): line["rouge-2"] for line in lines(folder, "valid")}
    assert list(points) == [0, 2, 4] and points[0] > max(points[2], points[4])
    best, start = (Run.open(run).checkpoint("best") / "model.safetensors" for run in (folder, tiny_run))
    assert best.parent.name == "step-00000000" and best.read_bytes() == start.read_bytes()
    main(["train", "--resume", "--out", str(folder), "--set", "training.max_steps=6"])
    assert Run.open(folder).checkpoint("best") == best.parent


def test_a_start_from_another_model_or_no_run_is_an_error(
    tiny_run: Path, tiny_config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = ["train", str(tiny_config), "--out", str(tmp_path / "a"), "--init", str(tiny_run), "--set", "model.units=8"]
    assert main(other) == 2
    assert "[model] differs" in capsys.readouterr().err
    assert main(["train", str(tiny_config), "--out", str(tmp_path / "b"), "--init", str(tmp_path / "none")]) == 2
    assert "not a run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "setting", "message"),
    [
        ("spg", "objective.reward_weight=inf", "reward_weight must be at least 0 and finite"),
        ("bbspg", "objective.p_drop=1.5", "p_drop must be between 0 and 1"),
        ("pg", "objective.baseline=others", "samples must be at least 1, 2 with a baseline"),
        ("rloo", "objective.samples=1", "samples must be at least 2"),
        ("gold", "objective.gamma=-1.0", "gamma must be at least 0 and finite"),
        ("expected-match", "objective.temperature=0", "temperature must be at least 0.01 and at most 100"),
        ("scheduled-sampling", "objective.p_model=2", "p_model must be between 0 and 1"),
        ("mixer", "objective.samples=1", "samples must be at least 2"),
        ("scst", "objective.samples=0", "samples must be at least 1"),
        ("raml", "objective.p_drop=0.5", "'p_drop' belongs to kind bbspg"),
        ("mle", "reward.kind=meteor", "is not one of"),
        ("mle", "reward.max_n=0", "max_n must be at least 1"),
        ("bbspg", "objective.p_dorp=0.2", "did you mean 'p_drop'"),
    ],
)
def test_bad_settings_are_named(
    kind: str, setting: str, message: str, tiny_config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["--set", f"objective.kind={kind}", "--set", setting]
    assert main(["train", str(tiny_config), "--out", str(tmp_path / "run"), *settings]) == 2
    assert message in capsys.readouterr().err


def test_p_drop_waits_and_rises() -> None:
    config = BangBang(p_drop=0.4, p_drop_delay=10, p_drop_rise=20)
    assert [config.p_drop_at(step) for step in (0, 9, 10, 20, 30, 99)] == pytest.approx([0, 0, 0, 0.2, 0.4, 0.4])
    assert BangBang(p_drop=0.4).p_drop_at(0) == 0.4


def test_examples_without_a_known_word_are_left_out() -> None:
    torch.manual_seed(0)
    model = AttentionGru(12, AttentionGruSettings(layers=1, units=8, dropout=0.0))
    learner = Learner(model, BangBang().build(lambda: Sum(RougeN(3), Dup(), Eos()), 6))
    target = torch.tensor([[5, 6, EOS], [UNK, EOS, PAD], [7, EOS, PAD]])
    source, length = torch.randint(4, 12, (3, 4)), torch.tensor([4, 3, 2])
    batch = Batch(source, length, target, (target != PAD).sum(1), target.unsqueeze(1))
    *_, counts = learner(batch, 0, torch.Generator().manual_seed(0))
    assert counts.samples == 2 and counts.reference_tokens == 5
    alone = Batch(*(field[1:2] for field in batch))
    losses, divisor, counts = learner(alone, 0, torch.Generator().manual_seed(0))
    assert counts.samples == 0 and len(losses) == 0 and divisor == 0
    losses.sum().backward()  # other processes may have something to learn, and wait for all gradients
    assert all(parameter.grad is not None and not parameter.grad.any() for parameter in model.parameters())


def test_a_batch_without_a_known_word_changes_nothing(tiny_config: Path, tmp_path: Path) -> None:
    """With AdamW, whose momentum and weight decay would change weights without a gradient."""
    unknown = ["vocabulary.min_count=1000", "objective.kind=bbspg", "optimizer.weight_decay=0.5"]
    folder = trained(tiny_config, tmp_path / "run", *unknown, "training.max_steps=3", "training.validate_every=1")
    run = Run.open(folder)
    before, after = (run.load_model(step).state_dict() for step in ("2", "3"))
    assert all(torch.equal(before[name], after[name]) for name in before)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").open()]
    assert [line["loss"] for line in lines if line["kind"] == "train"] == [0.0] and lines[-1]["step"] == 3


@pytest.mark.parametrize(("normalizer", "expected"), [("positions", None), ("sequences", 6), ("constant", 36)])
def test_an_objective_says_what_its_losses_are_divided_by(normalizer: str, expected: int | None) -> None:
    torch.manual_seed(0)
    model = AttentionGru(12, AttentionGruSettings(layers=1, units=8, dropout=0.0))
    target = torch.tensor([[5, 6, EOS], [8, 9, EOS], [7, EOS, PAD]])
    batch = Batch(torch.randint(4, 12, (3, 4)), torch.full((3,), 4), target, torch.tensor([3, 3, 2]), target[:, None])
    settings = Pg(samples=2, normalizer=normalizer)  # type: ignore[arg-type]
    losses, divisor, _ = Learner(model, settings.build(lambda: RougeN(3), 6))(batch, 0, torch.Generator())
    assert divisor == (len(losses) if expected is None else expected)
    assert Pg().normalizer == "constant" and BangBang().normalizer == Mle().normalizer == "positions"


def test_all_references_reach_the_reward() -> None:
    """A token that only the other reference has can be the best next one."""
    torch.manual_seed(0)
    model = AttentionGru(12, AttentionGruSettings(layers=1, units=8, dropout=0.0))
    learner = Learner(model, BangBang(p_drop=0.0).build(lambda: Sum(RougeN(3), Eos()), 6))
    target = torch.tensor([[5, 6, EOS]] * 50)
    other = torch.tensor([[9, 8, EOS]] * 50)
    source, length = torch.randint(4, 12, (50, 4)), torch.full((50,), 4)
    seen = []
    for references in (target.unsqueeze(1), torch.stack((target, other), 1)):
        batch = Batch(source, length, target, torch.full((50,), 3), references)
        proposal = learner.objective.propose(model, batch, 0, torch.Generator().manual_seed(0))
        losses, *_ = learner(batch, 0, torch.Generator().manual_seed(0))
        torch.testing.assert_close(losses, token_losses(model.head, proposal))
        seen.append(set(proposal.tokens.tolist()))
    assert seen[0] == {5, 6, EOS} and 9 in seen[1]
