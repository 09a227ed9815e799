"""Evaluation: a model answers a test file, and its answers are measured.

records           reads the test file and accounts for lines that cannot be used
report            the report on written outputs: scores, intervals, by length, worst outputs
render            that report as text
labels            evaluates classifiers and taggers
label_report      accuracy and F1, per label, with a confusion list
language          evaluates language models: perplexity on plain text
language_report   the report on a language model
masked            evaluates masked models on hidden words
denoising         evaluates denoising models on noised texts
exchanged_sides   warns of a test file whose columns are exchanged
seen_in_training  counts test sources that were also in the training data
translations      evaluates models that write text: translations, summaries, replies
"""
