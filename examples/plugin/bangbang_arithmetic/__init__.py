"""A guest of bangbang: a corpus of sums in words, a reward, an objective and a model."""
