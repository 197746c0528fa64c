"""A model and its objective as one module: what data-parallel training wraps and calls."""

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from bangbang.models import SequenceModel
from bangbang.objectives import mle, token_losses

if TYPE_CHECKING:
    from bangbang.data import Batch


class Learner(nn.Module):
    def __init__(self, model: SequenceModel[Any]) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: "Batch") -> Tensor:
        """The unreduced losses [N] of the positions that count."""
        state = self.model.encode(batch.source, batch.source_length)
        proposal = mle(lambda tokens: self.model.unroll(state, tokens), batch.target)
        return token_losses(self.model.head, proposal)
