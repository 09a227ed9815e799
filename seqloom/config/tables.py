"""The names a recipe may use, free of torch, so that `--help` and `doctor` start fast.

A test keeps them equal to the registries (`CELLS`, `MODELS`, ...) beside the classes they name.
"""

# task: what its files hold (data/forms.py), and the families of models that can learn it
TASKS: dict[str, tuple[str, tuple[str, ...]]] = {
    "translate": ("pairs", ("rnn", "transformer", "gpt")),
    "summarise": ("pairs", ("rnn", "transformer", "gpt")),
    "dialogue": ("pairs", ("rnn", "transformer", "gpt")),
    "pronounce": ("pairs", ("rnn", "transformer", "gpt")),
    "classify": ("labelled", ("rnn", "transformer", "bag")),
    "tag": ("tagged", ("rnn", "transformer")),
    "language": ("stream", ("rnn", "gpt")),
    "masked": ("text", ("rnn", "transformer")),
    "denoise": ("text", ("rnn", "transformer")),
}
MODELS = ("rnn", "transformer", "gpt", "bag")
CELLS = ("rnn", "rnn_relu", "lstm", "gru", "gru_fused")
ATTENTIONS = ("none", "dot", "scaled_dot", "gaussian", "bilinear", "additive")
DECODERS = ("bahdanau", "luong")
POSITIONS = ("sinusoidal", "learned", "rotary", "none")
NORMS = ("pre", "post")
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu")
TOKENIZERS = ("bpe", "unigram", "char", "word", "foreign")
TARGET_TOKENIZERS = ("same", *TOKENIZERS)
OPTIMIZERS = ("adamw", "sgd", "adadelta")
SCHEDULES = ("inverse_sqrt", "cosine", "wsd", "halving", "constant")
AVERAGES = ("last", "best")
DEVICES = ("auto", "cpu", "cuda")
PRECISIONS = ("auto", "float32", "bfloat16")
NORMALISATIONS = ("none", "nfc")
