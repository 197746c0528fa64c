"""Benchmarks behind `bangbang bench`: ratios measured in one run."""
