"""The four special tokens; every vocabulary begins with them, so their ids are the same everywhere."""

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
