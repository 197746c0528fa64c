"""The vocabulary layer, for training and decoding."""

from bangbang.heads.log_prob import Scored, weighted_log_prob
from bangbang.heads.sampling import Offsets
from bangbang.heads.vocabulary import VocabularyHead

__all__ = ["Offsets", "Scored", "VocabularyHead", "weighted_log_prob"]
