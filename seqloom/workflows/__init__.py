"""Workflows: one file per verb; Python and the command line call the same functions.

train          trains a model into a folder, or continues; finishes a stopped run
translate      translates a stream of lines
documents      translates the texts of .html, .srt, .po and .json files
evaluate       measures a model on a file
score          log-probabilities of the targets of a file
plan           predicts the hours, memory and traffic of a training run
bulk           translates or scores a large file by several workers
bulk_manifest  fingerprints of everything that decides the output of a bulk command
rescore        re-ranks an n-best list
align          word alignments of a file
given_pairs    reads given pairs for score and align
generate       generates text from a prompt
chat           a dialogue, turn by turn
explain        explains what models do with a text
data           lists and fetches public corpora
doctor         checks data files
models         lists the bundled models; which model the words of a command mean
compare        one sentence, translated by several generations of models
info           describes a model folder
check_folder   checks every part of a model folder: weights, answers, engine, store, checkpoints
export         writes a model in another format
serve          serves models over HTTP
demo           the tour on the built-in corpus
"""
