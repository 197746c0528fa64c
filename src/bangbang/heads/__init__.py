"""The vocabulary layer, for training and decoding."""

from bangbang.heads.log_prob import weighted_log_prob
from bangbang.heads.vocabulary import VocabularyHead

__all__ = ["VocabularyHead", "weighted_log_prob"]
