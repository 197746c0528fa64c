"""Models: `encode`, `step` (one token), `unroll` (known tokens) and a head, behind one protocol."""

from bangbang.models.attention_gru import AttentionGru
from bangbang.models.protocol import DecoderState, Rollout, SequenceModel, State
from bangbang.models.show_and_tell import ShowAndTell

__all__ = ["AttentionGru", "DecoderState", "Rollout", "SequenceModel", "ShowAndTell", "State"]
