"""A reward: the share of the reference's distinct words that the output has."""

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional as F

from bangbang.contracts import RewardInputs
from bangbang.rewards import References, Reward
from bangbang.rewards.settings import RewardSettings
from bangbang.rewards.state import BaseReward, ScoredState
from bangbang.symbols import EOS


@dataclass(frozen=True)
class CoverageSettings(RewardSettings):
    """The share of the reference's distinct words that the output has."""

    def main(self, inputs: RewardInputs) -> Reward:
        return Coverage()


class Coverage(BaseReward):
    def begin(self, references: References) -> "CoverageState":
        return CoverageState(references)


class CoverageState(ScoredState):
    def __init__(self, references: References) -> None:
        super().__init__(references, several="mean")
        same = references.words[:, :, :, None] == references.candidates[:, None, None, :]
        self.missing = same.any(2) & (references.candidates != EOS)[:, None]  # [B, M, U]
        self.share = self.missing.sum(2, keepdim=True).clamp(min=1).to(self.scores).reciprocal()  # [B, M, 1] a word's

    def next_scores(self) -> Tensor:
        return self.scores[:, :, None] + F.pad(self.missing * self.share, (0, 1))  # any other token gains nothing

    def follow_scores(self, tokens: Tensor) -> Tensor:
        before, self.missing = self.missing, self.missing & (self.references.candidates != tokens[:, None])[:, None]
        return self.scores + ((before ^ self.missing) * self.share).sum(2)
