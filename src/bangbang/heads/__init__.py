"""The vocabulary layer, for training and decoding."""

from bangbang.heads.log_prob import weighted_log_prob
from bangbang.heads.sampling import Drawn, Offsets
from bangbang.heads.vocabulary import VocabularyHead

__all__ = ["Drawn", "Offsets", "VocabularyHead", "weighted_log_prob"]
