"""Text: strings become token ids, and ids become strings.

tokenizer       the Tokenizer class: encode, decode, load, save
learn           learns a BPE, unigram, character or word vocabulary
vocabulary      the special tokens: padding, start, end, unknown
sides           the tokenizers of source and target
labels          labels and tags as a vocabulary
tags            aligns tags of words with pieces of words
written         decodes a growing output: whole characters only
foreign         a tokenizer that came with imported weights
shapes          which tokenizer files are accepted
public_parts    which parts imported tokenizers may have
charsmap        checks the table of character replacements that some imported tokenizers have
sentencepiece   a sentencepiece tokenizer that came with imported weights
"""
