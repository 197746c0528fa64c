"""How ways of decoding are named."""

import pytest

from bangbang.decoding.settings import DecodingSettings, describe


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "greedy +DUP"),
        ({"dup": False, "temperature": 0.3}, "greedy"),
        ({"method": "beam", "dup": False}, "beam 4"),
        ({"method": "beam", "beam_size": 8, "length_penalty": 0.6}, "beam 8 length^0.6 +DUP"),
        ({"method": "sample", "top_k": 5, "temperature": 0.25}, "sample T=0.25 top-k=5 +DUP"),
        ({"method": "mbr", "utility": "rouge-l", "temperature": 0.6, "dup": False}, "mbr 32 rouge-l T=0.6"),
        ({"method": "mbr", "mbr_samples": 8, "mbr_beam": 4, "top_p": 0.9}, "mbr 8 +beam 4 T=1 top-p=0.9 +DUP"),
    ],
)
def test_a_way_of_decoding_is_named_by_what_matters_to_it(settings: dict[str, object], name: str) -> None:
    assert describe(DecodingSettings(**settings)) == name  # type: ignore[arg-type]
