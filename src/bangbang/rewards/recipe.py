"""The reward that a config's [reward] table asks for."""

from collections.abc import Callable, Sequence

from bangbang.config import RewardConfig
from bangbang.rewards.bleu import Bleu, Gleu
from bangbang.rewards.cider_d import CiderD
from bangbang.rewards.document_frequency import DocumentFrequency
from bangbang.rewards.edit_distance import EditDistance
from bangbang.rewards.protocol import Reward
from bangbang.rewards.rouge_l import RougeL
from bangbang.rewards.rouge_n import RougeN
from bangbang.rewards.shaping import Dup, Eos, Length
from bangbang.rewards.state import BaseReward
from bangbang.rewards.sums import Sum


def build_reward(
    config: RewardConfig, texts: Sequence[str], frequency: Callable[[], DocumentFrequency], separator: str = " "
) -> Sum:
    """The main reward, which is the sum's first part, and its shaping; `texts` are those of the vocabulary's tokens.

    The main reward counts as a share of its bounds, so that its scale and those of the shaping compare. `frequency` is
    called where the main reward is CIDEr-D and begins; `separator` stands between tokens where characters count.
    """
    shaping: list[tuple[Reward, float]] = [
        (Dup(unless_in_reference=config.dup_unless_in_reference), config.dup),
        (Eos(several=config.several), config.eos),
        (Length(several=config.several), config.length),
    ]
    main = main_reward(config, texts, frequency, separator)
    scale = 1 / (main.bounds.high - main.bounds.low)
    parts = [(main, scale), *(part for part in shaping if part[1] > 0)]
    return Sum(*(reward for reward, _ in parts), weights=[weight for _, weight in parts])


def main_reward(
    config: RewardConfig, texts: Sequence[str], frequency: Callable[[], DocumentFrequency], separator: str
) -> BaseReward:
    if config.kind == "cider-d":
        return CiderD(frequency, texts, max_n=config.max_n, several=config.several)
    if config.kind == "rouge-l":
        return RougeL(config.beta, several=config.several)
    if config.kind == "edit-distance":
        return EditDistance(config.unit, texts=texts, separator=separator, several=config.several)
    if config.kind == "bleu":
        return Bleu(config.max_n, start_symbol=config.start_symbol)
    if config.kind == "gleu":
        return Gleu(config.max_n, start_symbol=config.start_symbol, several=config.several)
    orders = range(config.min_n, config.max_n + 1)
    return RougeN(orders=orders, measure=config.measure, start_symbol=config.start_symbol, several=config.several)
