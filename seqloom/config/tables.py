"""The names that settings may take, each with its meaning. Does not import torch, so that `--help` starts fast.

A house test keeps the names equal to those of the registries of classes (`CELLS`, `SCORES`, ...). Tasks and model
families have records with more fields: config/tasks.py and config/families.py.
"""

CELLS = {
    "rnn": "the plain recurrent network with tanh (Elman 1990)",
    "rnn_relu": "the plain recurrent network with ReLU, started as the identity (Le et al. 2015)",
    "lstm": "long short-term memory with forget gate (Hochreiter and Schmidhuber 1997)",
    "gru": "gated recurrent unit, reset gate before the product (Cho et al. 2014)",
    "gru_fused": "gated recurrent unit, reset gate after the product, as fused kernels compute it",
}
ATTENTIONS = {
    "none": "no attention: a fixed context vector",
    "dot": "q . k",
    "scaled_dot": "q . k / sqrt(H)",
    "gaussian": "-|q - k|^2 / 2",
    "bilinear": "q^T M k / sqrt(Q)",
    "additive": "w^T tanh(W_q q + W_k k + b)",
}
DECODERS = {
    "bahdanau": "attention before each state (Bahdanau et al. 2015)",
    "luong": "attention after each state, with input feeding (Luong et al. 2015)",
}
POSITIONS = {
    "sinusoidal": "fixed sines and cosines (Vaswani et al. 2017)",
    "learned": "one learned vector per position",
    "rotary": "queries and keys rotated by their position (Su et al. 2021)",
    "none": "no positional encoding",
}
NORMS = {"pre": "layer norm before each sublayer", "post": "layer norm after each sublayer"}
ACTIVATIONS = {
    "relu": "max(0, x)",
    "gelu": "x times the normal distribution function",
    "gelu_tanh": "GELU approximated with tanh",
    "silu": "x times sigmoid(x)",
}
TOKENIZERS = {
    "bpe": "byte-pair encoding: frequent groups of letters become tokens",
    "unigram": "unigram language model over pieces of words",
    "char": "one token per character",
    "word": "one token per word and punctuation mark",
    "foreign": "the tokenizer that came with an imported model",
}
TARGET_TOKENIZERS = {"same": "the kind of the source's tokenizer", **TOKENIZERS}
OPTIMIZERS = {
    "adamw": "Adam with decoupled weight decay (Loshchilov and Hutter 2019)",
    "sgd": "plain stochastic gradient descent",
    "adadelta": "Adadelta (Zeiler 2012)",
}
SCHEDULES = {
    "inverse_sqrt": "1 / sqrt(step) after warm-up",
    "cosine": "a cosine down to zero at the end of the run",
    "wsd": "constant, then linear decay at the end of the run",
    "halving": "constant, then halved at regular intervals",
    "constant": "constant after warm-up",
}
AVERAGES = {"last": "the newest checkpoints", "best": "the checkpoints with the lowest validation loss"}
DEVICES = {"auto": "a GPU if there is one, else the CPU", "cpu": "the CPU", "cuda": "an NVIDIA GPU"}
PRECISIONS = {
    "auto": "bfloat16 if the processor has instructions for it, else float32",
    "float32": "32-bit numbers",
    "bfloat16": "matrix products in bfloat16, all else in float32",
}
NORMALISATIONS = {"none": "text stays unchanged", "nfc": "Unicode normal form C"}
