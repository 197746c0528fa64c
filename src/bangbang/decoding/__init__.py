"""Decoding: greedy, beam and sampling, with the test-time reward W·DUP."""

from bangbang.decoding.beam import BeamSearch
from bangbang.decoding.device import decoding_device
from bangbang.decoding.generation import generate
from bangbang.decoding.hypothesis import Hypothesis
from bangbang.decoding.sampling import sample

__all__ = ["BeamSearch", "Hypothesis", "decoding_device", "generate", "sample"]
