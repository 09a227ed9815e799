"""The four special tokens; every vocabulary begins with them, so their ids are the same everywhere."""

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
FIRST_WORD = len(SPECIALS)  # the first id that stands for a text
# What a masked model reads where a word is hidden. Tokenizers that lose nothing never produce <unk>, so it is free
# there; to a vocabulary of whole words what is hidden and what is not known look alike, which is what they are.
MASK = UNK
NEVER = -1e9  # the output bias of an id that is never written: a logit that adds nothing to any softmax
