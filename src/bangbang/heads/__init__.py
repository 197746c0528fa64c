"""The vocabulary layer, for training and decoding."""

from bangbang.contracts import Offsets, Scored
from bangbang.heads.alphabet import Alphabet
from bangbang.heads.borrowed import BorrowedHead
from bangbang.heads.linear_head import LinearHead
from bangbang.heads.log_prob import set_log_prob, weighted_log_prob
from bangbang.heads.output_layer import OutputLayer
from bangbang.heads.temperature import TemperedHead, at_temperature
from bangbang.heads.vocabulary import VocabularyHead

__all__ = [
    "Alphabet",
    "BorrowedHead",
    "LinearHead",
    "Offsets",
    "OutputLayer",
    "Scored",
    "TemperedHead",
    "VocabularyHead",
    "at_temperature",
    "set_log_prob",
    "weighted_log_prob",
]
