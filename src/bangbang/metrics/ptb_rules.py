"""The token rules of Stanford's PTBTokenizer 3.4.1, for English captions.

At every position the rule with the longest match wins, the earlier of equals; what a rule only looks ahead at counts
for its length but is not part of its token. So a pattern's group 1 is the token and its whole match the length.

Letter case: written words match in any case, character classes as they stand; `(?i:...)` marks the former.
Letters are those of the Basic Multilingual Plane: to the Java program all other characters are untokenisable.

The word lists are abbreviations that keep their full stop, and words that start sentences. An abbreviation of the first
list keeps its full stop before a small letter, one of the second anywhere. Entries are alternatives of a regular
expression that ignores case, except in square brackets.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sept", "Sep", "Oct", "Nov", "Dec")
_DAYS = ("Mon", "Tues", "Tue", "Wed", "Thurs", "Thu", "Fri")
_STATES = (
    "Ala", "Ariz", "Calif", "Colo", "Conn", "Ct", "Dak", "Fla", "Ga", "Ind", "Kans?", "Ky", "Md", "Mich", "Minn",
    "Mont", "Mo", "Neb", "Nev", "Okla", "Penn", "Tenn", "Va", "Vt", "Wisc?", "Wyo",
)  # fmt: skip
# states that are common words too count with a capital only
_CAPITAL_STATES = ("Az", "Ark", "Del", "Ill", "La", "Mass", "Miss", "Ore", "Pa", "Tex", "Wash")
_COMPANIES = (
    "Inc",
    "Cos?",
    "Corp",
    "Pp?t[yeYE]s?",
    "Ltd",
    "Plc",
    "Rt",
    "Bancorp",
    "Bhd",
    "Assn",
    "Univ",
    "Intl",
    "Sys",
)
_OTHERS = ("tel", "est", "ext", "sq", "Jr", "Sr", "Bros", "Blvd", "Rd", "Esq", "etc", "al", "seq", "Bldg")

ABBREVIATIONS_BEFORE_LOWER = (
    *_MONTHS,
    *_DAYS,
    *_STATES,
    *(f"(?-i:{state[0]}){state[1:]}" for state in _CAPITAL_STATES),
    *_COMPANIES,
    *_OTHERS,
)

ABBREVIATIONS_BEFORE_CAPITAL = (
    "Mrs", "Mr", "Ms", "Drs?", "Profs?", "Sens?", "Reps?", "Attys?", "Lt", "Col", "Gen", "Messrs", "Govs?", "Adm",
    "Rev", "Maj", "Sgt", "Cpl", "Pvt", "Capt", "Ste?", "Ave", "Pres", "Lieut", "Hon", "Brig", "Co?mdr", "Pfc", "Spc",
    "Supts?", "Det", "Mt", "Ft", "Adj", "Adv", "Asst", "Assoc", "Ens", "Insp", "Mlle", "Mme", "Msgr", "Sfc", "vs",
    "Alex", "Wm", "Jos", "Cie", "cf", "TREAS", "Ph", "Invt", "Elec", "Natl", "M[ftFT]g", "Dept",
)  # fmt: skip

# after an acronym, these words with a capital say that its full stop also ends a sentence
SENTENCE_STARTERS = (
    "About", "According", "Additionally", "After", "An", "As", "At", "A", "But", "Earlier", "Here", "Her", "He",
    "However", "If", "In", "It", "Last", "Many", "More", r"Mr\.", r"Ms\.", "Now", "Once", "One", "Other", "Our", "She",
    "Since", "Some", "So", "Such", "That", "Their", "Then", "There", "These", "They", "The", "This", "We", "When",
    "While", "What", "Yet", "You",
)  # fmt: skip


_NBSP = "\u00a0"
_SPACE = r"[ \t\u00a0\u2000-\u200a\u3000]"
_SPACE_OR_LINE = r"[ \t\u00a0\u2000-\u200a\u3000\n]"
# \w without digits, underscore, numeric symbols such as ½ or ², and astral characters; plus accents and soft hyphen
_LETTER = (
    r"(?:[^\W\d_\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2079\u2080-\u2089\u2150-\u218b\u2460-\u24ff\u2776-\u2793"
    r"\U00010000-\U0010ffff]|[\u00ad\u0300-\u036f])"
)
_PLAIN_LETTER = _LETTER.replace("|[\\u00ad\\u0300-\\u036f]", "")
_ALNUM = rf"(?:{_PLAIN_LETTER}|\d)"
_APOS = r"(?:['\u0092\u2019]|(?i:&apos;))"
_APOS_OR_TICK = r"(?:['\u0092\u2019`\u0091\u2018\u201b]|(?i:&apos;))"
_HYPHEN = r"[-_\u058a\u2010\u2011]"
_CLITIC = rf"{_APOS}(?:[msdMSD]|(?i:re|ve|ll))"
_NOT = rf"(?i:n){_APOS_OR_TICK}(?i:t)"
_WORD = rf"{_LETTER}(?:{_LETTER}|\d)*(?:[.!?]{_LETTER}(?:{_LETTER}|\d)*)*"
_WORD_BEFORE_NOT = r"[A-Za-z\u00ad]*[A-MO-Za-mo-z]\u00ad*"
_COMMA_LIKE = r"[,;:\u3001]"
_NOT_IN_URL = r" \t\n\f\r\"<>|(){}"
_ACRONYM = r"(?:[A-Za-z](?:\.[A-Za-z])*|(?i:canada|sino|korean|eu|japan|non)-(?i:u\.s)|(?i:u\.s\.-u\.(?:k|s\.s\.r)))"
_DOTTED = r"[A-Za-z](?:\.[A-Za-z])+"
_NAME = r"[A-Za-z][A-Za-z0-9_:.\-]*"
_ATTRIBUTE = rf"{_NAME}[ ]*=[ ]*(?:'[^'\n]*'|\"[^\"\n]*\")"
_SGML = rf"<(?:[!?][A-Za-z\-][^>\r\n]*|{_NAME}(?:[ ]+(?:{_ATTRIBUTE}|{_NAME}))*[ ]*/?|/{_NAME})[ ]*>"
_CAPITAL_WORD = "|".join(SENTENCE_STARTERS)
_BEFORE_LOWER = rf"(?i:{'|'.join(ABBREVIATIONS_BEFORE_LOWER)}|(?:Ed|Ph)\.D)\."
_BEFORE_CAPITAL = rf"(?:(?i:{'|'.join(ABBREVIATIONS_BEFORE_CAPITAL)})|[M](?i:iss)|{_ACRONYM})"
_FILE_ENDING = (
    "bat|bmp|class|cgi|cpp|c|dll|docx|doc|exe|gif|gz|html|htm|h|jar|java|jpeg|jpg|mov|mp3|pdf|php|pl|png|ppt|ps|py|sql"
    "|tar|txt|wav|xml|x|zip"
)
_ELIDED = rf"(?:[dDoOlL]{_APOS_OR_TICK}{_ALNUM})?"  # d'Arc, o'clock
_APOSTROPHE_WORD = "|".join(
    (
        rf"{_APOS}(?i:n){_APOS}?",
        rf"[lLdDjJ]{_APOS}",
        rf"(?i:dunkin|somethin|ol){_APOS}",
        rf"{_APOS}(?i:em)",
        rf"[A-HJ-XZn]{_APOS_OR_TICK}{_PLAIN_LETTER}{{2,}}",
        rf"{_APOS}[2-9]0(?i:s)",
        rf"{_APOS}(?i:till?)",
        rf"{_PLAIN_LETTER}+[aeiouyAEIOUY]{_APOS_OR_TICK}[aeiouA-Z]{_PLAIN_LETTER}*",
        rf"{_APOS}(?i:cause)",
        r"(?i:cont'd\.?|'twas|nor'easter|c'mon|e'er|s'mores|ev'ry|li'l|nat'l)",
        rf"(?i:o){_APOS_OR_TICK}(?i:o)",
    )
)
_PHONE = (
    r"(?:\([0-9]{2,3}\)[ \u00a0]?|(?:\+\+?)?(?:[0-9]{2,4}[- \u00a0])?[0-9]{2,4}[- \u00a0])"
    r"[0-9]{3,4}[- \u00a0]?[0-9]{3,5}|(?:(?:\+\+?)?[0-9]{2,4}\.)?[0-9]{2,4}\.[0-9]{3,4}\.[0-9]{3,5}"
)
_FRACTIONS = {"¼": "1/4", "½": "1/2", "¾": "3/4", "⅓": "1/3", "⅔": "2/3"}
_CURRENCIES = {"¢": "cents", "£": "#", "\u0080": "$", "¤": "$", "\u20a0": "$", "€": "$"}
_BRACKETS = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}


def _same(text: str) -> str:
    return text


def _unhyphenated(text: str) -> str:
    return text.replace("\u00ad", "") or "-"


def _joined(text: str) -> str:
    """A token that holds spaces keeps them as no-break spaces, and round brackets by name."""
    return text.replace(" ", _NBSP).replace("(", "-LRB-").replace(")", "-RRB-")


def _ampersand(text: str) -> str:
    return re.sub("(?i)&amp;", "&", text)


def _quote(text: str, single: str = "'", double: str = "''") -> str:
    text = re.sub("(?i)&apos;|'", single, text)
    text = re.sub('(?i)"|&quot;', double, text)
    text = re.sub("[\u0091\u2018\u201b\u2039]", "`", text)
    text = re.sub("[\u0092\u2019\u203a]", "'", text)
    return re.sub("[\u0094\u201d\u00bb]", "''", re.sub("[\u0093\u201c\u00ab]", "``", text))


def _opening_quote(text: str) -> str:
    return _quote(text, "`", "``")


def _hyphens(text: str) -> str:
    return "--" if len(text) in (3, 4) else text


def _always(token: str) -> Callable[[str], str]:
    return lambda _: token


class Rule(NamedTuple):
    """A pattern (group 1: the token), what its token is written as, and whether a final full stop is read again.

    A token written as nothing is left out.
    """

    pattern: re.Pattern[str]
    written: Callable[[str], str] = _same
    full_stop_again: bool = False


def _rule(token: str, ahead: str = "", written: Callable[[str], str] = _same, full_stop_again: bool = False) -> Rule:
    return Rule(re.compile(f"({token}){ahead}"), written, full_stop_again)


RULES: tuple[Rule, ...] = (
    _rule(r"(?i:c\+\+|[cf]#)"),
    _rule("(?i:can)", "(?i:not)"),
    _rule("(?i:'t)", "(?i:was|is)"),
    _rule("(?i:gon|wan)", "(?i:na)"),
    _rule("(?i:got)", "(?i:ta)"),
    _rule("(?i:lem|gim)", "(?i:me)"),
    _rule(_SGML, written=lambda text: text.replace(" ", _NBSP)),
    _rule(r"(?i:&md;|&mdash;|&ndash;)|[\u0096\u0097\u2013-\u2015]", written=_always("--")),
    _rule("(?i:&amp;)", written=_always("&")),
    _rule(r"(?i:&(?:ht|tl|ur|lr|qc|ql|qr|odq|cdq|#[0-9]+);)"),
    _rule(_WORD, _CLITIC, _unhyphenated),
    _rule(_WORD_BEFORE_NOT, _NOT, _unhyphenated),
    _rule(_WORD, written=_unhyphenated),
    _rule(_APOSTROPHE_WORD),
    _rule(rf"(?i:y){_APOS}", _PLAIN_LETTER),
    _rule(rf"(?i:https?)://[^{_NOT_IN_URL}]{{1,2000}}[^{_NOT_IN_URL}.!?,\-]"),
    # ",-_" is a range, as in the original: host names without "www." hold no capitals and no digits
    _rule(
        rf"(?:(?i:www)\.(?:[^{_NOT_IN_URL}.!?,]{{1,200}}\.){{1,20}}[a-zA-Z]{{2,4}}"
        rf"|(?:[^{_NOT_IN_URL}`'!,-_$]{{1,200}}\.){{1,20}}(?i:com|net|org|edu))"
        rf"(?:/[^ \t\n\f\r\"<>|()]{{1,2000}}[^{_NOT_IN_URL}.!?,\-])?"
    ),
    _rule(
        rf"(?:(?i:&lt;)|<)?[a-zA-Z0-9][^{_NOT_IN_URL}\u00a0]{{0,200}}@(?:[^{_NOT_IN_URL}.\u00a0]{{1,200}}\.){{0,20}}"
        rf"[^{_NOT_IN_URL}.\u00a0]{{1,200}}(?:(?i:&gt;)|>)?"
    ),
    _rule(rf"@[a-zA-Z_][a-zA-Z_0-9]*|#{_LETTER}+"),
    _rule(_CLITIC, "[^A-Za-z]", _quote),
    _rule(_NOT, "[^A-Za-z]", _quote),
    _rule(r"\d{1,2}[-/]\d{1,2}[-/]\d{2,4}"),
    _rule(r"[-+]?(?:\d*(?:[.:,\u00ad\u066b\u066c]\d+)+|\d+)", written=_unhyphenated),
    _rule("[\u207a\u207b\u208a\u208b]?(?:[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+|[\u2080-\u2089]+)"),
    _rule(r"(?:\d{1,4}[- \u00a0])?\d{1,4}(?:\\?/|\u2044)\d{1,4}", written=lambda text: text.replace(" ", _NBSP)),
    _rule("[\u00bc-\u00be\u2153-\u215e]", written=lambda text: _FRACTIONS.get(text, text)),
    _rule(
        rf"(?i:-(?:[rl][rcs]b)-|c\.d\.s|pro-|anti-|s(?:&amp;|&)p-500|s(?:&amp;|&)ls)|(?i:cap){_APOS}(?i:n)|(?i:c){_APOS}(?i:est)",
        written=_ampersand,
    ),
    _rule(r"[A-Za-z0-9]+(?:-[A-Za-z]+){0,2}(?:\\?/[A-Za-z0-9]+(?:-[A-Za-z]+){0,2}){1,2}"),
    _rule(r"[A-Z]*\$|#"),
    _rule(
        "[\u00a2-\u00a5\u0080\u20a0\u20ac\u060b\u0e3f\u20a4\uffe0\uffe1\uffe5\uffe6]",
        written=lambda text: _CURRENCIES.get(text, text),
    ),
    # one letter and a full stop at the end of a sentence are two tokens
    _rule("[A-Za-z]", rf"\.{_SPACE_OR_LINE}+(?:{_CAPITAL_WORD}|{_SGML}){_SPACE_OR_LINE}"),
    _rule(rf"{_ACRONYM}\.", rf"{_SPACE_OR_LINE}+(?:{_CAPITAL_WORD}|{_SGML}){_SPACE_OR_LINE}", full_stop_again=True),
    _rule(r"(?i:ca|figs?|prop|nos?|art|bldg|pp|op)\.", rf"{_SPACE_OR_LINE}?\d"),
    _rule(r"(?i:pt[eyEY]|co)\.", rf"{_SPACE}(?i:ltd|lim)"),
    _rule(_BEFORE_LOWER, rf"{_SPACE_OR_LINE}(?:{_SPACE_OR_LINE}|{_SGML}|[^\W\d_a-z])", full_stop_again=True),
    _rule(_BEFORE_LOWER, r"[\s\S]{2}"),
    _rule(_BEFORE_LOWER, full_stop_again=True),
    _rule(rf"{_BEFORE_CAPITAL}\."),
    _rule(_BEFORE_CAPITAL, _SPACE),
    _rule(_ACRONYM, _SPACE_OR_LINE),
    _rule(rf"{_APOS}[0-9][0-9]", _SPACE_OR_LINE),
    _rule(rf"(?:{_LETTER}|\d)+(?:\.(?:{_LETTER}|\d)+)*\.(?i:{_FILE_ENDING})", rf"(?:{_SPACE_OR_LINE}|[.?!,])"),
    _rule(rf"{_WORD}\.", _COMMA_LIKE, _unhyphenated),
    _rule(_PHONE, written=_joined),
    _rule('"|(?i:&quot;)', "[A-Za-z0-9$]", _opening_quote),
    _rule('"|(?i:&quot;)', written=_quote),
    _rule("<|(?i:&lt;)", written=_always("<")),
    _rule(">|(?i:&gt;)", written=_always(">")),
    _rule(r"[<>]?[:;=][-o*']?[()DPdpO\\{@|\[\]]", "[^A-Za-z0-9]", _joined),
    _rule(r"[-^x=~<>']_[-^x=~<>']|\([-^x=~<>'][_.]?[-^x=~<>']\)|\([\^x=~<>']-[\^x=~<>'`]\)", written=_joined),
    _rule(r"[(){}\[\]]", written=lambda text: _BRACKETS[text]),
    _rule("-+", written=_hyphens),
    _rule(r"\.{3,5}|(?:\.[ \u00a0]){2,4}\.|[\u0085\u2026]", written=_always("...")),
    _rule(r"@+|#+|_+|\*+|(?:\\\*){1,3}"),
    _rule(_COMMA_LIKE),
    _rule("[?!]+"),
    _rule("[.¡¿\u037e\u0589\u061f\u06d4\u0700-\u0702\u07fa\u3002]"),
    _rule("[=/]"),
    _rule(rf"[A-Za-z0-9][A-Za-z0-9.,\u00ad]*(?:-(?:{_DOTTED}\.|[A-Za-z0-9\u00ad]+))+\.", _COMMA_LIKE, _unhyphenated),
    _rule(rf"[A-Za-z0-9][A-Za-z0-9.,\u00ad]*(?:-(?:{_DOTTED}\.|[A-Za-z0-9\u00ad]+))+", written=_unhyphenated),
    _rule(rf"{_ELIDED}{_ALNUM}+(?:{_HYPHEN}{_ELIDED}{_ALNUM}+)*\.", _COMMA_LIKE),
    _rule(rf"{_ELIDED}{_ALNUM}+(?:{_HYPHEN}{_ELIDED}{_ALNUM}+)*"),
    _rule(r"[A-Z]+(?:(?:(?i:&amp;)|[+&])[A-Z]+)+\.", _COMMA_LIKE, _ampersand),
    _rule(r"[A-Z]+(?:(?:(?i:&amp;)|[+&])[A-Z]+)+", written=_ampersand),
    _rule("'", r"[A-Za-z][^ \t\n\r\u00a0]", _opening_quote),
    _rule(_CLITIC, written=_quote),
    _rule(_NOT, written=_quote),
    _rule(rf"''|[`\u2018-\u201f\u0091-\u0094\u2039\u203a\u00ab\u00bb]{{1,2}}|{_APOS}", written=_quote),
    _rule("<<|>>"),
    _rule(
        r"[+%&~^|\\\u00a6-\u00a9\u00ac\u00ae-\u00ba\u00d7\u00f7\u0387\u2016\u2017\u2020-\u2023\u2030-\u2038\u203b"
        r"\u203e-\u2042\u2044\u207a-\u207f\u208a-\u208e\u2100-\u214f\u2190-\u2bff\u3012\u30fb\uff01-\uff0f\uff1a-\uff20"
        r"\uff3b-\uff40\uff5b-\uff65]"
    ),
    _rule(r"[ \t\u00a0\u2000-\u200a\u3000]+|[\u200b\u200e\u200f\ufeff\x7f\0]|(?i:&nbsp;)", written=_always("")),
)
