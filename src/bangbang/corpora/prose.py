"""Plain sentences out of docstrings: markup taken off, code, tables and parameter lists left out."""

import re

INLINE = (
    (re.compile(r":[\w:+-]+:`~?\.?([^`<]*?)(?:\s*<[^`]*>)?`"), r"\1"),  # :class:`~a.b`, :ref:`text <target>`
    (re.compile(r"`([^`<]*?)\s*<[^`]*>`_{0,2}"), r"\1"),  # `text <address>`_
    (re.compile(r"!?\[([^\]]+)\]\([^)\s]+\)"), r"\1"),  # [text](address)
    (re.compile(r"``?`?([^`]*)``?`?_{0,2}"), r"\1"),
    (re.compile(r"\*\*(\S(?:[^*]*\S)?)\*\*|(?<!\w)\*(\S(?:[^*]*\S)?)\*(?!\w)"), r"\1\2"),
    (re.compile(r"\|(\w+)\|_?|\[[#*]?\w{1,12}\]_"), r"\1"),  # |substitution|, footnotes [1]_
    (re.compile(r"<[/\w][^<>]*>|https?://\S+"), ""),
)
# the first of these ends the prose: what follows is a list of parameters, examples, references ...
HEADING = re.compile(
    r"""(?ix) ^\s* (?:
      (?:args?|arguments?|attributes|parameters?|params|keyword\s+(?:args|arguments)|kwargs|options|inputs?|outputs?|shape|
         returns?|yields?|raises?|warns|warnings?|examples?|usage|notes?|see\s+also|references?|todo|fields|methods|
         properties|side\s+effects|signature|synopsis|copyright|licen[cs]e|author|history)\s* :* \s* $
      | (?:args|arguments|parameters|returns?|yields|raises|examples?|usage|see\s+also|references)\s*:
      | [:@](?:param|type|returns?|rtype|raises?|arg|keyword|kwarg|var|ivar|cvar|sig|meta|since|author)\b
      | \#+\s )"""
)
NOISE = re.compile(r"^\s*(?:\.\.\s|\.\.$|\$\s|\||[-=~^*+#_<>.]{3,}|In \[|```|@|\\)")
ITEM = re.compile(r"^(?:[-*+•]|\d+[.)]|\(\w\))\s+")


def clean(text: str) -> str:
    """One line without markup."""
    for pattern, replacement in INLINE:
        text = pattern.sub(replacement, text)
    return " ".join(text.replace("\\", "").split())


def prose(lines: list[str]) -> str:
    """The sentences of a docstring's lines, up to its first section heading, as one line."""
    kept: list[str] = []
    literal = False  # inside an indented block after "::" or after a noisy line
    doctest = False  # up to the next blank line
    for number, line in enumerate(lines):
        if HEADING.match(line) or underlined(lines, number):
            break
        if not line.strip():
            doctest = False
            continue
        doctest = doctest or line.lstrip().startswith(">>>")
        if doctest or NOISE.match(line) or (literal and line[0] in " \t"):
            literal = True
            continue
        literal = line.rstrip().endswith("::")
        kept.append(ITEM.sub("", line.strip()[:-1] if literal else line.strip()))
    return clean(" ".join(kept))


def underlined(lines: list[str], number: int) -> bool:
    """Whether a line is a title: the next one is a rule of its length."""
    following = lines[number + 1].strip() if number + 1 < len(lines) else ""
    return len(following) > 2 and not following.strip("-=~^") and abs(len(following) - len(lines[number].strip())) < 3
