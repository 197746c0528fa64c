"""The four special tokens. They are the first four types of every vocabulary, in this order."""

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SYMBOLS = ("<pad>", "<s>", "</s>", "<unk>")
