"""Special tokens (padding, start token, end token, unknown): every vocabulary begins with them, at the same ids."""

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
FIRST_WORD = len(SPECIALS)  # the first id that is not a special token
# The token that replaces a masked word. Lossless tokenizers never produce <unk>, so it is free for this use; in a
# vocabulary of whole words, masked and unknown words look the same to the model.
MASK = UNK
GAP = "___"  # how a text spells the masked word
NEVER = -1e9  # output bias of an id that must never be written: its probability is 0 in every softmax
