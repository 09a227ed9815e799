"""Decoding: a model and a source become output ids.

search         the entry: greedy or beam search over a batch
greedy         greedy search: the most probable token at each step
beam           beam search: expands, ranks and prunes hypotheses
sample         sampling with temperature, top-k and top-p
alternatives   outputs that differ in their first token
constraints    minimum length, no-repeat n-grams, forced prefixes
coverage       coverage penalty: punishes source tokens without attention
ensemble       several models as one: the mean of their probabilities
hypothesis     one finished output with its score; the length penalty
options        the options of search and sampling, checked
score          log-probability of a given target (teacher forcing)
"""
