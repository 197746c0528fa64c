"""Many ways of decoding at once give what each gives by itself."""

from dataclasses import replace

import pytest
import torch

from bangbang.decoding import RewardUtility, generate
from bangbang.decoding.exploration import Grid, explore
from bangbang.decoding.settings import DecodingSettings, describe
from bangbang.errors import InputError
from bangbang.rewards import RougeL
from tests.decoding.table_model import TableModel

V, LENGTH = 9, 5
GRID = Grid(beams=(3, 1, 2), penalties=(0.0, 0.7, 2.0), samples=(7, 3), temperatures=(1.5, 0.5))
UTILITY = RewardUtility(RougeL())


@pytest.fixture
def model() -> TableModel:
    torch.manual_seed(7)
    return TableModel(torch.randn(6, V, V).double() * 1.2)


@pytest.mark.parametrize("settings", [{}, {"dup": False, "mbr_beam": 2, "top_k": 4, "method": "mbr"}])
def test_every_way_is_as_by_itself(model: TableModel, settings: dict[str, object]) -> None:
    inputs, base = [[line % 6] for line in range(9)], DecodingSettings(batch_size=4, **settings)  # type: ignore[arg-type]
    heard: list[int] = []
    found = explore(model, inputs, base, GRID, LENGTH, UTILITY, seed=5, done=heard.append)
    assert len(found) == 1 + 2 * 3 + 2 * 2 and sum(heard) == 9
    for way, best in found.items():
        alone = generate(model, inputs, way, LENGTH, seed=5, utility=UTILITY)
        assert [hypothesis for hypothesis, *_ in alone] == best, describe(way)
    assert len({str(best) for best in found.values()}) > 6


def test_the_cheaper_ways_come_first() -> None:
    ways = [describe(replace(way, dup=False)) for way in GRID.ways(DecodingSettings(utility="bleu", temperature=0.9))]
    assert ways[:4] == ["greedy", "beam 2 length^0", "beam 2 length^0.7", "beam 2 length^2"]
    assert ways[-4:] == ["mbr 3 bleu T=0.5", "mbr 7 bleu T=0.5", "mbr 3 bleu T=1.5", "mbr 7 bleu T=1.5"]


def test_nothing_to_try_is_told(model: TableModel) -> None:
    with pytest.raises(InputError, match="nothing to try"):
        explore(model, [[0]], DecodingSettings(), Grid(beams=(), samples=()), LENGTH, UTILITY)
    with pytest.raises(InputError, match="needs a utility"):
        explore(model, [[0]], DecodingSettings(), GRID, LENGTH, None)
