"""Captions tokenised as coco-caption does with Stanford's PTBTokenizer 3.4.1, without Java.

All captions are read as one text with a line each, as there: what follows a full stop at a line's end (the next caption
starting with "A", say) decides whether "vitamin c." ends in "c" or in "c.".
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bangbang.metrics.ptb_rules import ABBREVIATIONS_BEFORE_CAPITAL, ABBREVIATIONS_BEFORE_LOWER, RULES

# coco-caption's list also names -LRB- and its like, but looks for them in upper case after lower-casing: they stay
PUNCTUATION = frozenset(("''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"))

# what the tokeniser takes for a line's end would shift all later captions in coco-caption; here it is a space
_LINE_ENDS = re.compile("\r\n?|[\n\u2028\u2029\u000b\u000c\u0085]")
_BLANKS = re.compile(" [ \t\u00a0\u2000-\u200a\u3000]*")
# most of most captions: a plain word before a space, a comma or a line's end, or a line's last full stop
_PLAIN = re.compile(r"[A-Za-z]{2,}(?=\.?(?:[ \n]|\Z)|, )|[A-Za-z](?= )|\.(?=\n|\Z)|,(?= )")
_NOT_PLAIN = re.compile(
    "(?i:cannot|gonna|gotta|lemme|gimme|wanna|ca|figs?|prop|nos?|art|pp|op|miss|"
    + "|".join((*ABBREVIATIONS_BEFORE_LOWER, *ABBREVIATIONS_BEFORE_CAPITAL)).replace("(?-i:", "(?:")
    + ")"
)


def tokenize(captions: Sequence[str]) -> list[str]:
    """Each caption in lower case, tokens separated by spaces, punctuation removed."""
    text = "\n".join(_LINE_ENDS.sub(" ", caption) for caption in captions)
    lines: list[list[str]] = [[]]
    for token in tokens(text):
        if token == "\n":
            lines.append([])
        elif (lowered := token.lower()) not in PUNCTUATION:
            lines[-1].append(lowered)
    return [" ".join(line) for line in lines[: len(captions)]]


def tokens(text: str) -> Iterator[str]:
    """The tokens of a text, with a line feed for each line feed."""
    position = 0
    while position < len(text):
        if text[position] == "\n":
            yield "\n"
            position += 1
        elif blanks := _BLANKS.match(text, position):
            position = blanks.end()
        elif (plain := _PLAIN.match(text, position)) and not _NOT_PLAIN.fullmatch(plain.group()):
            yield plain.group()
            position = plain.end()
        elif found := _longest(text, position):
            if found.token:
                yield found.token
            position = found.next_position
        else:
            position += 1  # untokenisable: left out


class _Found(NamedTuple):
    token: str
    next_position: int


def _longest(text: str, position: int) -> _Found | None:
    """What the rule with the longest match makes of the text at this position; of equals the first."""
    end, best = position, None
    for rule in RULES:
        found = rule.pattern.match(text, position)
        if found and found.end() > end:
            end, best = found.end(), (rule, found)
    if best is None:
        return None
    rule, found = best
    return _Found(rule.written(found.group(1)), found.end(1) - (1 if rule.full_stop_again else 0))
