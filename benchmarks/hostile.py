"""Replace each file and folder of a stranger's runs, corpora, features and model by what has no business there.

    python -m benchmarks.hostile --cases 500
    TMPDIR=/dev/shm python -m benchmarks.hostile --part 1/4

A case is a place, a replacement (a link, a pipe, a device, another kind of JSON, ...) and a verb whose arguments lead
to that place. The verb must work, or fail with exit code 2 and one line of ours as the last; it must end within 30
seconds; what is outside stays as it was, byte by byte, and so does their folder if the verb only reads. Then each verb
is run on sound files in odd surroundings. Where there is strace, cases are left out whose verb asks the system for
nothing at their place, which are most. --part takes a share of the others. Prints the cases that failed; the exit code
is 1 if there are any.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import torch
from matplotlib.figure import Figure

from benchmarks.hostile_ground import GROUNDS, VERBS, Ground, discard, signatures
from benchmarks.hostile_replacements import CHANGES, REPLACEMENTS
from benchmarks.hostile_surroundings import surrounded
from benchmarks.hostile_workers import Outcome, attempts
from benchmarks.touched_places import touched


class Case(NamedTuple):
    place: str
    """Relative to the stranger's folder."""
    replacement: str
    verb: str


def all_cases(ground: Ground) -> Iterator[Case]:
    """Of pictures, which are many, one stands for all; an empty config is a sound one."""
    found = [path.relative_to(ground.sound) for path in sorted(ground.sound.rglob("*")) if path.name != ".lock"]
    pictures = [path for path in found if path.suffix == ".png"]
    for path in found:
        if path not in pictures[1:] and len(path.parts) > 1:
            for replacement, verb in product(REPLACEMENTS, verbs_of(path)):
                if (path.suffix, replacement) != (".toml", "an empty file"):
                    yield Case(str(path), replacement, verb)
    for path in found:
        if path.parts[0] == "hf" and (ground.sound / path / "generation_config.json").is_file():
            yield from (Case(str(path), change, verb) for change, verb in product(CHANGES, verbs_of(path)))


def verbs_of(path: Path) -> list[str]:
    """The verbs whose arguments lead to a place."""
    ground, name = path.parts[:2]
    return [verb for verb, each in VERBS.items() if ground in each.grounds and name in each.reads]


def that_matter(ground: Ground, cases: Sequence[Case]) -> list[Case]:
    """Without cases whose verb asks for nothing at their place."""
    asked = {key: touched(ground, *key) for key in dict.fromkeys((case.verb, ground_of(case)) for case in cases)}
    ways = ((case, asked[case.verb, ground_of(case)]) for case in cases)
    return [case for case, places in ways if places is None or places.has(case.place)]


def ground_of(case: Case) -> str:
    return Path(case.place).parts[0]


def attempt(ground: Ground, case: Case, run: Callable[[Sequence[str], Path], Outcome]) -> str:
    """Put the replacement in its place and run the verb; says what went wrong, or nothing."""
    ground.restore()
    place, outside = ground.theirs / case.place, content(ground.outside)
    if case.replacement in REPLACEMENTS:
        discard(place)
    {**REPLACEMENTS, **CHANGES}[case.replacement](place, ground.outside)
    theirs = signatures(ground.theirs)
    draw_curves(needed=any(name in case.place for name in ("metrics", "test.json", "config.toml")))
    outcome = run(ground.command(case.verb, ground_of(case)), ground.work)
    if content(ground.outside) != outside:
        return "changed what is outside"
    if not VERBS[case.verb].writes and signatures(ground.theirs) != theirs:
        return f"changed what it only reads: {sorted(set(signatures(ground.theirs).items()) ^ set(theirs.items()))}"
    return trouble_of(outcome, 1 if case.verb == "check" else 0)


def trouble_of(outcome: Outcome, also: int) -> str:
    """What is wrong with the end of a verb; `also` is another exit code that is an answer."""
    last = outcome.told.strip().rpartition("\n")[2]
    clear = outcome.code in (0, also) or (outcome.code == 2 and last.startswith("bangbang: error: "))
    if clear and "Traceback" not in outcome.told and "panicked" not in outcome.told:
        return ""
    return f"exit code {outcome.code}: {outcome.told[-3_000:]}"


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in sorted(folder.rglob("*"))}


SAVE: Any = Figure.savefig


def draw_curves(needed: bool) -> None:
    """Whether a report draws its picture, which takes longer than all else: not where it is the same as ever."""
    drawn: Any = SAVE if needed else lambda *arguments, **options: None
    Figure.savefig = drawn


def try_all(ground: Ground, cases: Sequence[Case]) -> Iterator[tuple[Case, str]]:
    """Each case and what went wrong with it, or nothing."""
    return attempts(cases, lambda case, run: attempt(ground, case, run))


def chosen(cases: list[Case], arguments: argparse.Namespace) -> list[Case]:
    found = [case for case in cases if arguments.only in " | ".join(case)]
    part, parts = map(int, arguments.part.split("/"))
    if arguments.cases:
        return random.Random(arguments.seed).sample(found, min(len(found), arguments.cases))
    return found[part - 1 :: parts]


def troubles(ground: Ground, arguments: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Each case that is asked for, and what went wrong with it, or nothing."""
    if not arguments.surroundings:
        found = list(all_cases(ground))
        cases = chosen(that_matter(ground, found), arguments)
        print(f"{len(found)} cases, {len(cases)} are tried", file=sys.stderr, flush=True)
        yield from ((", ".join(case), trouble) for case, trouble in try_all(ground, cases))
    if arguments.surroundings or not (arguments.cases or arguments.only or arguments.part != "1/1"):
        yield from surrounded(ground)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=0, help="try so many, chosen by --seed (all)")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="every N-th case, from the K-th on")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose place, replacement or verb has this")
    parser.add_argument(
        "--grounds", nargs="+", default=GROUNDS, choices=GROUNDS, help="what the stranger gave us (all)"
    )
    parser.add_argument("--surroundings", action="store_true", help="only sound files in odd surroundings")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    tried, bad = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        ground = Ground(Path(folder), tuple(arguments.grounds))
        for what, trouble in troubles(ground, arguments):
            tried += 1
            if trouble:
                bad += 1
                print(f"{what}: {trouble}", flush=True)
            if tried % 500 == 0:
                print(f"{tried} tried, {bad} failed", file=sys.stderr, flush=True)
    print(f"{tried} cases, {bad} failed")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
