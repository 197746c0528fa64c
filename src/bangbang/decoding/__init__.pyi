from bangbang.decoding.beam import BeamSearch as BeamSearch
from bangbang.decoding.generation import decoding_device as decoding_device
from bangbang.decoding.generation import generate as generate
from bangbang.decoding.sampling import Hypothesis as Hypothesis
from bangbang.decoding.sampling import sample as sample
from bangbang.decoding.utility import Contest as Contest
from bangbang.decoding.utility import RewardUtility as RewardUtility
from bangbang.decoding.utility import Utility as Utility
