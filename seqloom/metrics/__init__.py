"""Metrics: texts in, numbers out.

measures          BLEU, chrF, TER, ROUGE, error rates ... and which of them each task uses
significance      bootstrap intervals and paired significance tests
alignment_error   alignment error rate against gold alignments
rouge_words       how ROUGE splits a text into words
testset           a test set: each source once, with all its references
"""
