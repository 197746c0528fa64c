"""Files gone wrong, as hypothesis strategies: bytes damaged at random, and well-formed files with absurd contents."""

import copy
import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

ABSURD: list[Any] = [
    None,
    True,
    -1,
    0,
    3,
    2**31,
    2**63,
    10**30,
    10**400,
    0.5,
    -0.0,
    1e308,
    "",
    "\0",
    "../../x",
    "/",
    "é" * 300,
]
# what cannot be a value here: the text that takes the place of such a string
TEXTS = {"<deep>": "[" * 5000 + "]" * 5000, "<long>": "9" * 5000}
ABSURD += [float("inf"), float("nan"), *TEXTS]
ABSURD += [[], {}, [[]], [None], {"": {}}, [0, 10_000_000_000], "\ud800", "%s", "🦫"]
ABSURD_TOML = [
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "1e400",
    "9" * 5000,
    "2.5",
    "true",
    '""',
    '"\\u0000"',
    '"../x"',
    "[]",
    "{}",
]
ABSURD_TOML += ["[" * 2000, "1979-05-27", '"' + "x" * 300 + '"', "0x7fffffffffffffff", "'''a", ""]
PIECES = [
    b"\x00",
    b"\xff",
    b"\n",
    b"\r\n",
    b'"',
    b"{",
    b"}",
    b",",
    b"\xed\xa0\x80",
    b"\x80" * 8,
    b"\xff" * 8,
    b"A" * 5000,
    b"9" * 5000,
    b"[" * 5000,
]
SHAPES = ["(12, 3)", "(11, 3)", "(13, 3)", "(3, 12)", "(12, 2)", "(36,)", "()", "(12, 3, 1)", "(0, 3)", "(12, 0)"]
SHAPES += ["(-1, 3)", "(1099511627776, 3)", f"(1{'0' * 400}, 3)", "12", "None", "(True, 36)", "(12.0, 3)", "('12', 3)"]
TYPES = ["'<f2'", "'>f2'", "'<f4'", "'<f8'", "'<f16'", "'<i2'", "'|O'", "'|S2'", "'<c8'", "'|V2'", "'<M8[s]'", "'?'"]
TYPES += ["''", "'x'", "'f2,f2'", "[('a', '<f2')]", "[('a', '|O')]", "None", "2", "('<f2', (2,))", "'<f2' '\\0'"]
HEADERS = ["", "{", "{}", "None", "lambda: 0", "(" * 3000, "[" * 3000 + "]" * 3000, "{'shape': " * 90, "9" * 5000]


@st.composite
def damaged(draw: st.DrawFn, original: bytes) -> bytes:
    """The bytes with one to four changes: flipped, overwritten, cut, doubled, or with something put in."""
    content = bytearray(original)
    for _ in range(draw(st.integers(1, 4))):
        if not content:
            break
        place = draw(st.integers(0, len(content) - 1))
        end = min(len(content), place + draw(st.sampled_from((1, 2, 4, 8, 64, 1000))))
        change = draw(st.sampled_from(("flip", "overwrite", "insert", "cut", "cut off", "double")))
        if change == "flip":
            content[place] ^= 1 << draw(st.integers(0, 7))
        elif change == "overwrite":
            content[place:end] = draw(st.binary(min_size=end - place, max_size=end - place))
        elif change == "insert":
            content[place:place] = draw(st.sampled_from(PIECES))
        elif change == "cut":
            del content[place:end]
        elif change == "cut off":
            del content[place:]
        else:
            content[place:place] = content[place:end]
    return bytes(content)


def places(table: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value within a JSON value."""
    items = table.items() if isinstance(table, dict) else enumerate(table) if isinstance(table, list) else ()
    found = []
    for key, value in items:
        found += [(*prefix, key), *places(value, (*prefix, key))]
    return found


@st.composite
def absurd_json(draw: st.DrawFn, original: bytes) -> bytes:
    """The JSON with one to three values replaced by something absurd, removed, or given another name."""
    table = json.loads(original)
    for _ in range(draw(st.integers(1, 3))):
        ways = places(table)
        if not ways:
            break
        *way, last = draw(st.sampled_from(ways))
        owner = table
        for key in way:
            owner = owner[key]
        change = draw(st.sampled_from(("replace", "replace", "remove", "rename")))
        if change == "replace":
            owner[last] = copy.deepcopy(draw(st.sampled_from(ABSURD)))
        elif change == "remove":
            del owner[last]
        elif isinstance(owner, dict):
            owner[draw(st.sampled_from(("", "step", "model", "0", "<pad>")))] = owner.pop(last)
    text = json.dumps(table)
    for name, instead in TEXTS.items():
        text = text.replace(json.dumps(name), instead)
    return text.encode("utf-8", "surrogatepass")


@st.composite
def absurd_line(draw: st.DrawFn, original: bytes) -> bytes:
    """Lines of JSON, of which one is absurd."""
    lines = original.splitlines()
    place = draw(st.integers(0, len(lines) - 1))
    lines[place] = draw(absurd_json(lines[place]))
    return b"\n".join(lines)


@st.composite
def absurd_array(draw: st.DrawFn, original: bytes) -> bytes:
    """An .npy file whose header claims something else, and perhaps of another version or length."""
    shape, kind = draw(st.sampled_from(SHAPES)), draw(st.sampled_from(TYPES))
    order = draw(st.sampled_from(("False", "False", "True", "'no'")))
    likely = f"{{'descr': {kind}, 'fortran_order': {order}, 'shape': {shape}, }}\n"
    header = draw(st.sampled_from((likely, likely, likely, *HEADERS))).encode()
    version = draw(st.sampled_from((1, 1, 2, 3, 0, 9)))
    width = 2 if version == 1 else 4
    length = draw(st.sampled_from((len(header), len(header), 0, 2**16 - 1, len(header) - 1))) % 2**16
    return b"\x93NUMPY" + bytes([version, 0]) + length.to_bytes(width, "little") + header + original[-72:]


@st.composite
def absurd_toml(draw: st.DrawFn, original: bytes) -> bytes:
    """The TOML with one to three values replaced by something absurd, or lines doubled or moved."""
    lines = original.decode().splitlines()
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(lines) - 1))
        key, equals, _ = lines[place].partition("=")
        if equals and draw(st.booleans()):
            lines[place] = f"{key}= {draw(st.sampled_from(ABSURD_TOML))}"
        else:
            lines.insert(draw(st.integers(0, len(lines))), lines[place])
    return "\n".join(lines).encode()


Mutation = Callable[[bytes], st.SearchStrategy[bytes]]
