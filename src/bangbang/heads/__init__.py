"""The vocabulary layer, for training and decoding."""

from bangbang.heads.vocabulary import VocabularyHead
from bangbang.heads.log_prob import weighted_log_prob

__all__ = ["VocabularyHead", "weighted_log_prob"]
