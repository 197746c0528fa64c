"""The objective that a config's [objective] table asks for: each is the same sampler and loss at other settings."""

import torch
from torch import Tensor

from bangbang.config import ObjectiveConfig
from bangbang.objectives.choice import Rules
from bangbang.objectives.decoder import Decoder
from bangbang.objectives.mle import mle
from bangbang.objectives.proposal import Proposal
from bangbang.objectives.raml import raml
from bangbang.objectives.spg import Settings, spg
from bangbang.rewards import Reward


class Objective:
    """Proposes the targets of a batch; `reward` is what samples are drawn and weighed by."""

    def __init__(self, config: ObjectiveConfig, reward: Reward, max_length: int) -> None:
        self.config, self.reward, self.max_length = config, reward, max_length

    @property
    def needs_reward(self) -> bool:
        config = self.config
        return config.kind in ("pg", "spg", "bbspg") or (config.kind == "raml" and config.payoff == "reward")

    def __call__(self, decoder: Decoder, references: Tensor, step: int, generator: torch.Generator) -> Proposal:
        """`references`: [B, T], or [B, M, T] where the reward is to know several; each ends in `</s>` and is padded."""
        config = self.config
        if config.kind == "mle":
            return mle(decoder, references)
        if config.kind == "raml":
            reward = self.reward if config.payoff == "reward" else None
            return raml(decoder, references, self.max_length, config.tau, config.samples, generator, reward)
        return spg(decoder, self.reward, references, self.max_length, method_settings(config, step), generator)


def method_settings(config: ObjectiveConfig, step: int) -> Settings:
    """PG is SPG with W = 0, weighted by R; SPG is bang-bang SPG with p_drop = 0 and a finite W."""
    if config.kind == "pg":
        return Settings(0.0, config.samples, True, config.baseline, rules=Rules(weight=0.0))
    rules = Rules(config.reward_weight, config.ties, config.temperature, config.top_k)
    dropped = p_drop_at(config, step) if config.kind == "bbspg" else 0.0
    return Settings(dropped, config.samples, config.weight_by_reward, config.baseline, config.ends, rules)


def p_drop_at(config: ObjectiveConfig, step: int) -> float:
    """0 for `p_drop_delay` steps, then linearly up to p_drop over `p_drop_rise` steps."""
    since = step - config.p_drop_delay
    if since < 0:
        return 0.0
    share = min(1.0, since / config.p_drop_rise) if config.p_drop_rise else 1.0
    return config.p_drop * share
