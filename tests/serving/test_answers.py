"""What runs answer is what `generate` and `explain` say of the same texts and pictures."""

import base64
import math
from pathlib import Path

import pytest
import torch

from bangbang.cli.main import main
from bangbang.errors import InputError
from bangbang.explanation import Subject
from bangbang.explanation.judgement import judge
from bangbang.explanation.subject import text_example
from bangbang.serving import Desk
from bangbang.serving.questions import Question, read_question
from bangbang.symbols import EOS
from tests.conftest import sentence

SOURCE, REFERENCE = sentence(301)


def generated(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["generate", *words]) == 0
    return capsys.readouterr().out.rstrip("\n").split("\t")[-1]


def test_outputs_are_those_of_generate(
    desk: Desk, tiny_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (answer,) = desk.answer(Question(SOURCE, None, ""))
    assert [each["decoder"].split()[0] for each in answer["outputs"]] == ["greedy", "beam", "mbr"]
    file = tmp_path / "in.txt"
    file.write_text(SOURCE + "\n")
    for output in answer["outputs"]:
        with file.open() as stream:
            monkeypatch.setattr("sys.stdin", stream)
            assert generated(capsys, str(tiny_run), "--method", output["decoder"].split()[0]) == output["text"]
        assert output["written"] == desk.runs[0].loaded.run.written(output["text"])
        total = sum(math.log(each["probability"]) for each in output["tokens"])
        assert total == pytest.approx(output["log_prob"], abs=1e-3)
        for token in output["tokens"]:
            best = token["likeliest"][0]
            assert best["probability"] >= token["probability"] - 1e-6 and "delta_r" not in token
    assert answer["trace"] is None and not answer["cut"] and not answer["note"]


def test_a_picture_is_captioned_as_by_generate(
    desk: Desk, shapes_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = next((shapes_run.parent / "scenes").glob("*.png"))
    body = b'{"picture": "%s", "reference": "a red circle"}' % base64.b64encode(file.read_bytes())
    (answer,) = desk.answer(read_question(body))
    assert answer["run"] == "shapes" and answer["outputs"][0]["text"]
    assert answer["outputs"][0]["text"] == generated(capsys, str(shapes_run), "--image", str(file))
    assert answer["trace"]["target"]["steps"] and answer["outputs"][2]["decoder"].startswith("mbr")


def test_with_a_reference_each_token_has_its_reward(desk: Desk) -> None:
    (answer,) = desk.answer(Question(SOURCE, None, REFERENCE))
    for output in answer["outputs"]:
        earned = [each["delta_r"] for each in output["tokens"]]
        if all(each > -0.5 for each in earned):  # no penalty of the shaping
            assert sum(earned) == pytest.approx(output["reward"], abs=1e-5)
        assert output["tokens"][-1]["reward"] == output["reward"]
        for token in output["tokens"]:
            named = token["token"] in token["best"]
            assert named == (token["chosen_by"] == "reward") or token["best_count"] > len(token["best"])
    assert answer["trace"]["reference"] == REFERENCE and answer["trace"]["run"] == "texts"


def test_the_reward_would_have_chosen_the_reference(desk: Desk) -> None:
    run = desk.runs[0].loaded.run
    subject = Subject.before(desk.runs[0].loaded, text_example(run, SOURCE, REFERENCE), "")
    tokens = [*run.vocabulary.encode(REFERENCE), EOS]
    judged = judge(subject, tokens)
    assert [each.chosen_by for each in judged] == ["reward"] * len(tokens)
    assert judged[-1].reward == pytest.approx(float(subject.rewards(subject.y)))
    other = next(each for each in range(10, 40) if each not in tokens)
    wrong = judge(subject, [other])
    assert wrong[0].chosen_by == "model" and wrong[0].delta_r <= 0 and wrong[0].best == [subject.word(tokens[0])]


def test_a_reference_that_can_earn_nothing_is_a_note(desk: Desk) -> None:
    (answer,) = desk.answer(Question(SOURCE, None, "xyzzy"))
    assert "can earn no reward" in answer["note"] and answer["outputs"][0]["text"] and answer["trace"] is None


def test_one_decoder_may_be_enough(desk: Desk) -> None:
    (answer,) = desk.answer(read_question(b'{"text": "a clock", "methods": ["greedy"]}'))
    assert [each["decoder"] for each in answer["outputs"]] == ["greedy +DUP"]


def test_a_long_text_is_cut(desk: Desk) -> None:
    (answer,) = desk.answer(Question("clock " * 100_000, None, "small clock"))
    assert answer["cut"] and len(answer["trace"]["source"]) <= 2_000


def test_what_nobody_reads_is_told(desk: Desk) -> None:
    with pytest.raises(InputError, match="no run here reads pictures"):
        Desk(desk.runs[:1], {}).answer(read_question(b'{"picture": "%s"}' % base64.b64encode(pixel())))


def pixel() -> bytes:
    import io

    from PIL import Image

    stream = io.BytesIO()
    Image.new("RGB", (1, 1)).save(stream, "PNG")
    return stream.getvalue()


def test_the_same_question_has_the_same_answer(desk: Desk) -> None:
    torch.rand(1)
    assert desk.answer(Question(SOURCE, None, REFERENCE)) == desk.answer(Question(SOURCE, None, REFERENCE))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"\xff\xfe{", "not JSON"),
        (b"[]", "must be an object"),
        (b'{"file": "/etc/passwd"}', "must be an object"),
        (b"{}", "type a text or choose a picture"),
        (b'{"text": " \\n"}', "type a text or choose a picture"),
        (b'{"text": 7}', "text: must be a text"),
        (b'{"text": "a", "reference": ["b"]}', "reference: must be a text"),
        (b'{"text": "a", "picture": "b"}', "not both"),
        (b'{"text": "a", "methods": ["sample"]}', "methods: must be a list of some of greedy, beam, mbr"),
        (b'{"text": "a", "methods": []}', "methods: must be a list"),
        (b'{"text": "a", "methods": [[]]}', "methods: must be a list"),
        (b'{"text": "a", "methods": "greedy"}', "methods: must be a list"),
        (b'{"text": "%s"}' % (b"a" * 1_000_001), "1,000,001 letters"),
        (b'{"picture": "/etc/passwd!"}', "base64"),
        (b'{"picture": "bm8gaW1hZ2U="}', "picture: not an image"),
        (b'{"picture": "%s"}' % base64.b64encode(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"), "not an image"),
        (b'{"picture": "%s"}' % base64.b64encode(bytes(12_000_001)), "12,000,001 bytes"),
    ],
)
def test_bad_questions_are_told(body: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_question(body)


def test_a_picture_of_too_many_pixels_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bangbang.serving.questions.PICTURE_PIXELS", 0)
    with pytest.raises(InputError, match="too many pixels"):
        read_question(b'{"picture": "%s"}' % base64.b64encode(pixel()))


def test_lone_surrogates_become_question_marks() -> None:
    assert read_question(b'{"text": "a\\ud800b"}').text == "a?b"
