from bangbang.decoding.beam import BeamSearch as BeamSearch
from bangbang.decoding.device import decoding_device as decoding_device
from bangbang.decoding.generation import generate as generate
from bangbang.decoding.hypothesis import Hypothesis as Hypothesis
from bangbang.decoding.sampling import sample as sample
