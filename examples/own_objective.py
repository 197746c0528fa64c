"""An objective of one's own, made of two that are there, and a training by it.

python -m examples.own_objective configs/headlines-docstrings.toml --set training.max_steps=200

B examples · N positions that are in the loss
"""

import torch
from torch import Tensor

from bangbang.config import ObjectiveConfig
from bangbang.objectives import Decoder, Objective, Proposal, mle
from bangbang.rewards import Reward, RougeN
from examples.loop import read_config, train


class Mixed(Objective):
    """λ · (policy gradient with a baseline) + (1 - λ) · (maximum likelihood): the likelihood keeps a young model going.

    An objective proposes targets; their loss, -c_t · log p(z_t), is not its business. So a mixture is both proposals
    one after the other, each with its coefficients c_t times its share.
    """

    def __init__(self, reward: Reward, max_length: int, share: float) -> None:
        super().__init__(ObjectiveConfig(kind="pg", samples=4, baseline="others"), reward, max_length)
        self.share = share

    def __call__(self, decoder: Decoder, references: Tensor, step: int, generator: torch.Generator) -> Proposal:
        sampled = super().__call__(decoder, references, step, generator)
        known = mle(decoder, references)
        return Proposal(
            torch.cat((sampled.tokens, known.tokens)),  # [N]
            torch.cat((sampled.features, known.features)),  # [N, D]
            torch.cat((self.share * sampled.coefficients, (1 - self.share) * known.coefficients)),  # [N]
            sampled.diagnostics,
        )


if __name__ == "__main__":
    config = read_config(__doc__)
    train(config, Mixed(RougeN(3), config.data.max_target_length, share=0.5))
