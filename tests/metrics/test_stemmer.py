"""The stemmer of ROUGE-1.5.5: what it shares with Porter's and where it goes its own way."""

import pytest

from bangbang.metrics.stemmer import exceptions, stem

STEMS = {
    "caresses": "caress", "ponies": "poni", "cats": "cat", "agreed": "agre", "plastered": "plaster",
    "motoring": "motor",
    "conflated": "conflat", "hopping": "hop", "filing": "file", "falling": "fall", "happy": "happi", "sky": "sky",
    "relational": "relat", "rational": "ration", "vietnamization": "vietnam", "hopefulness": "hope", "yellow": "yellow",
    "formality": "formal", "triplicate": "triplic", "adjustable": "adjust", "probate": "probat",
    "controlling": "control",
    # beyond Porter: step 4 goes on with ment, then ent or ion
    "accidentally": "accid", "congressional": "congress", "commissioner": "commiss", "detrimental": "detrim",
    "agreement": "agreem", "experimentation": "experi", "unintentionally": "unintent", "replacement": "replac",
    "apportionment": "apport",
    # Porter's later departures
    "apology": "apolog", "assembly": "assembl",
    # irregular forms come first; up to three letters nothing changes
    "oxen": "ox", "geese": "goose", "was": "was", "ies": "ies", "better": "well",
}  # fmt: skip


@pytest.mark.parametrize(("word", "expected"), STEMS.items())
def test_stem(word, expected):
    assert stem(word) == expected


def test_the_table_of_irregular_forms_is_whole():
    assert len(exceptions()) == 5930
