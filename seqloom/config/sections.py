"""The settings, section by section: default, allowed values, meaning, and which models or tasks read each one."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seqloom.config.families import FAMILIES
from seqloom.config.tables import (
    ACTIVATIONS,
    ATTENTIONS,
    AVERAGES,
    CELLS,
    DECODERS,
    DEVICES,
    NORMALISATIONS,
    NORMS,
    OPTIMIZERS,
    POSITIONS,
    PRECISIONS,
    SCHEDULES,
    TARGET_TOKENIZERS,
    TOKENIZERS,
)
from seqloom.config.tasks import SHAPES, TASKS, tasks_of

NO_LIMIT = 10**15  # above every sensible value; infinity is not allowed as a setting


@dataclass(frozen=True, slots=True)
class Only:
    """The models and tasks that read a setting. --set refuses it for all others, where it would have no effect."""

    family: str = ""  # families whose `settings` have this name: rnn, transformer
    attention: bool = False  # recurrent networks with attention
    shapes: tuple[str, ...] = ()  # tasks whose answers have one of these shapes
    long_inputs: str = ""  # tasks with this way to shorten long inputs

    @property
    def tasks(self) -> list[str]:
        """The tasks that read it; empty = every task."""
        by_input = [name for name, task in TASKS.items() if self.long_inputs and task.long_inputs == self.long_inputs]
        return tasks_of(*self.shapes) + by_input

    def __str__(self) -> str:
        return ", ".join(self.tasks) or self.family + (" with attention" if self.attention else "")


EVERYONE = Only()
RNN, TRANSFORMER = Only("rnn"), Only("transformer")


def one_of(default: str, allowed: Mapping[str, Any], help: str, only: Only = EVERYONE) -> Any:
    """A setting with a closed list of names; `allowed` is the table itself, so a new entry in it is allowed at once."""
    return field(default=default, metadata={"allowed": allowed, "help": help, "only": only})


def number(default: float | int, help: str, least: float = 0, most: float = NO_LIMIT, only: Only = EVERYONE) -> Any:
    return field(default=default, metadata={"least": least, "most": most, "help": help, "only": only})


def value(default: Any, help: str, only: Only = EVERYONE) -> Any:
    return field(default=default, metadata={"help": help, "only": only})


@dataclass(frozen=True, slots=True)
class TaskConfig:
    name: str = one_of("translate", TASKS, "what the model learns")
    window: int = number(
        128,
        "tokens per training window; a recurrent network carries its state from window to window",
        least=2,
        most=10**6,
        only=Only(shapes=("continues",)),
    )
    hide: float = number(0.15, "share of the tokens that is hidden", most=0.9, only=Only(shapes=("fills", "restores")))
    permute: bool = value(False, "also shuffle the sentences of each text", only=Only(shapes=("restores",)))
    turns: int = number(
        1,
        "turns per source, joined by ' <turn> '; `seqloom chat` remembers this many turns",
        least=1,
        most=100,
        only=Only(long_inputs="latest turns"),
    )


@dataclass(frozen=True, slots=True)
class DataConfig:
    source_lang: str = value("", "language code of the source; taken from file names like a.en,a.fr")
    target_lang: str = value("", "language code of the target; taken from file names like a.en,a.fr")
    normalise: str = one_of("none", NORMALISATIONS, "Unicode normalisation of every text")
    lower_capitals: bool = value(
        False,
        "read a text in capitals in lower case and write its output in capitals; for data with few capitals",
        only=Only(shapes=("writes",)),
    )
    max_chars: int = number(
        5000,
        "longest line in characters; longer lines are excluded and reported (plain text is split instead)",
        least=1,
    )
    max_tokens: int = number(
        250,
        "longest side of a pair in tokens; longer pairs are excluded and reported, plain text is split",
        least=2,
        most=10**6,
    )
    reverse_source: bool = value(False, "read each source from its last token to its first", only=RNN)
    valid_pairs: int = number(
        1000, "pairs held out for validation without --valid (at most a tenth of the data)", least=1
    )


@dataclass(frozen=True, slots=True)
class TextConfig:
    tokenizer: str = one_of("bpe", TOKENIZERS, "kind of tokenizer; foreign = the tokenizer of an imported model")
    vocab_size: int = number(8000, "vocabulary size, including the four special tokens", least=5, most=10**6)
    joint: bool = value(True, "one vocabulary for source and target")
    target_tokenizer: str = one_of("same", TARGET_TOKENIZERS, "kind of the target's own tokenizer, with joint = false")
    target_vocab_size: int = number(0, "size of the target's own vocabulary; 0 = vocab_size", most=10**6)


@dataclass(frozen=True, slots=True)
class ModelConfig:
    kind: str = one_of("transformer", FAMILIES, "model family")
    layers: int = number(3, "layers of the encoder, and of the decoder if decoder_layers = 0", least=1, most=1000)
    decoder_layers: int = number(0, "layers of the decoder; 0 = as many as the encoder", most=1000)
    width: int = number(256, "width of the model: D of a Transformer, H of a recurrent network", least=1, most=10**5)
    embed_size: int = number(0, "size of the word embeddings; 0 = width", most=10**5)
    dropout: float = number(0.1, "dropout: share of activations set to zero in training", most=0.99)
    tied: bool = value(
        True, "weight tying: output matrix = decoder embedding (= encoder embedding with a joint vocabulary)"
    )
    cell: str = one_of("gru", CELLS, "recurrent cell; gru_fused resets after the product, as fast kernels do", only=RNN)
    attention: str = one_of("additive", ATTENTIONS, "attention score; none = a fixed context vector", only=RNN)
    decoder: str = one_of(
        "bahdanau",
        DECODERS,
        "when the decoder attends: before computing each state (bahdanau) or after it (luong)",
        only=Only("rnn", attention=True),
    )
    feed_context: bool = value(
        False, "without attention: feed the context vector to the decoder at every step", only=RNN
    )
    bidirectional: bool = value(True, "bidirectional encoder", only=RNN)
    encoder_width: int = number(0, "width of the encoder, both directions together; 0 = width", most=10**5, only=RNN)
    maxout: int = number(0, "width of a maxout layer before the output; 0 = a tanh layer", most=10**5, only=RNN)
    init_range: float = number(
        0.0, "draw all initial weights uniformly from [-x, x]; 0 = each layer's own initialisation", most=1, only=RNN
    )
    embed_scale: bool = value(True, "multiply word embeddings by the square root of their size (not for kind = bag)")
    heads: int = number(4, "attention heads", least=1, most=10**4, only=TRANSFORMER)
    ffn_size: int = number(0, "width of the feed-forward layer; 0 = 4 x width", most=10**6, only=TRANSFORMER)
    norm: str = one_of("pre", NORMS, "layer norm before or after each sublayer", only=TRANSFORMER)
    positions: str = one_of("sinusoidal", POSITIONS, "positional encoding", only=TRANSFORMER)
    activation: str = one_of("relu", ACTIVATIONS, "activation function of the feed-forward layer", only=TRANSFORMER)
    norm_eps: float = number(1e-5, "epsilon that layer norm adds to the variance", most=1, only=TRANSFORMER)
    max_length: int = number(
        0,
        "number of learned positions (those beyond the training texts stay untrained); 0 = the longest output allowed",
        most=10**6,
        only=TRANSFORMER,
    )
    embed_norm: bool = value(False, "layer norm on embedding + position, as in BERT", only=TRANSFORMER)
    vectors: str = value("", "file of word vectors to initialise the embeddings with (`seqloom vectors train`)")
    adapter_rank: int = number(
        0, "rank of low-rank adapters (LoRA) beside frozen matrices, with --init; 0 = none", most=1024
    )


@dataclass(frozen=True, slots=True)
class TrainConfig:
    max_steps: int = number(0, "stop after this many updates; 0 = no limit")
    max_epochs: int = number(0, "stop after this many epochs; 0 = no limit")
    batch_tokens: int = number(4096, "tokens per batch on each side, including padding", least=1)
    accumulate: int = number(1, "batches per update: their gradients are summed", least=1)
    seed: int = number(1, "random seed")
    threads: int = number(
        0,
        "torch threads per process; 0 = OMP_NUM_THREADS, or else the cores divided by the processes here. "
        "Fixed for a run, because it changes how sums are rounded",
        most=1024,
    )
    device: str = one_of("auto", DEVICES, "device to compute on")
    precision: str = one_of(
        "auto",
        PRECISIONS,
        "precision of matrix products in training; auto = bfloat16 if the processor supports it. Fixed for a run",
    )
    optimizer: str = one_of("adamw", OPTIMIZERS, "optimizer")
    learning_rate: float = number(1e-3, "peak learning rate")
    schedule: str = one_of("inverse_sqrt", SCHEDULES, "learning-rate schedule after warm-up")
    warmup: int = number(400, "updates of linear warm-up (with --budget: at most 5 % of the budget)")
    weight_decay: float = number(0.01, "weight decay (weight matrices only)")
    beta2: float = number(0.98, "decay of the squared-gradient average: AdamW's beta2, Adadelta's rho", most=0.9999)
    label_smoothing: float = number(0.1, "label smoothing: probability spread over the whole vocabulary", most=0.99)
    clip_norm: float = number(1.0, "gradient clipping: largest global gradient norm; 0 = no clipping")
    scheduled_sampling: float = number(
        0.0,
        "scheduled sampling: share of decoder inputs taken from the model's own output; grows from 0 over the run",
        most=1,
    )
    valid_every: int = number(
        500, "updates between validations; with --budget, validation takes at most a tenth of the time", least=1
    )
    save_every: int = number(500, "updates between checkpoints", least=1)
    log_every: int = number(20, "updates between progress lines", least=1)
    keep: int = number(
        3, "newest checkpoints kept during training beside the best one; its end keeps the last and the best", least=1
    )
    average: int = number(5, "number of checkpoints whose weights are averaged at the end", least=1)
    average_of: str = one_of("last", AVERAGES, "which checkpoints are averaged")
    init: str = value("", "model folder to initialise matching weights from (--init)")
    rates: str = value("", "learning-rate factor per part of the model: 'encoder=0.1, source_table=0'; 0 = frozen")
    patience: int = number(0, "early stopping: stop after this many validations without a better loss; 0 = never")


@dataclass(frozen=True, slots=True)
class DecodeConfig:
    beam: int = number(5, "beam size: hypotheses kept per sentence; 1 = greedy search", least=1, most=1000)
    length_penalty: float = number(
        1.0, "length penalty: a hypothesis' log-probability is divided by length ** this", most=10
    )
    coverage_penalty: float = number(0.0, "coverage penalty: punishes source tokens without attention", most=10)
    min_length: int = number(0, "shortest output in tokens", most=50)
    no_repeat_ngram: int = number(0, "no n-gram of this many tokens occurs twice in an output; 0 = no such rule")
    batch_size: int = number(64, "sentences translated at once", least=1)


@dataclass(frozen=True, slots=True)
class Config:
    task: TaskConfig = field(default_factory=TaskConfig)
    data: DataConfig = field(default_factory=DataConfig)
    text: TextConfig = field(default_factory=TextConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    decode: DecodeConfig = field(default_factory=DecodeConfig)

    @property
    def longest_output(self) -> int:
        """The most tokens that search allows in an output, including <s> and </s>."""
        return longest_output(self.data.max_tokens)

    @property
    def places(self) -> int:
        """Number of positions of a Transformer."""
        if self.model.kind != "gpt":
            return self.model.max_length or self.longest_output
        window = self.task.window if TASKS[self.task.name].shape == "continues" else 0
        return self.model.max_length or window or self.places_for(self.data.max_tokens)

    def places_for(self, source_tokens: int) -> int:
        """Number of positions that a Transformer needs for sources of this many tokens."""
        if SHAPES[TASKS[self.task.name].shape].encoder_only:
            return source_tokens + 2  # <s> x </s>
        before = source_tokens + 1 if self.model.kind == "gpt" else 0  # the source and </s> are the prompt
        return before + longest_output(source_tokens)


def longest_output(source_tokens: int) -> int:
    """Twice the source and 50, both with </s> (decode.options), after <s>, which takes the place of the last token."""
    return 2 * (source_tokens + 1) + 50


SECTIONS: dict[str, type] = {f.name: f.default_factory for f in dataclasses.fields(Config)}  # type: ignore[misc]
