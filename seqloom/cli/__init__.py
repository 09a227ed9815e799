"""The command line: one file per verb. Each parses the options, calls the workflow and prints the result.

app          the table of verbs, help pages, exit codes
wrong_call   what is wrong with a call, in a sentence
train        seqloom train: train a model
plan         seqloom plan: predict what a training run will need
finish       seqloom finish: make a model of a stopped run
translate    seqloom translate: translate lines
serve        seqloom serve: serve models over HTTP
generate     seqloom generate: generate text from a prompt
chat         seqloom chat: talk with a dialogue model
evaluate     seqloom evaluate: measure a model
score        seqloom score: log-probabilities of given targets
rescore      seqloom rescore: re-rank n-best lists
align        seqloom align: word alignments
explain      seqloom explain: look inside a model
data         seqloom data: list and fetch public corpora
doctor       seqloom doctor: check a data file
models       seqloom models: list the bundled models
compare      seqloom compare: one sentence, several generations of models
info         seqloom info: describe a model folder
vectors      seqloom vectors: train, query, measure and plot word vectors
export       seqloom export: write compact folders, CTranslate2, Hugging Face or ONNX
import_      seqloom import: read public weights
ladder       seqloom ladder: train and compare the lineage of models
recipes      seqloom recipes: list the built-in recipes
demo         seqloom demo: a tour: the bundled models, then a model trained on generated dates
flags        groups of options that several commands share. Each is declared once and flattened into the command line
"""
