"""The settings, section by section: their defaults, what they may be, and what they mean."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from seqloom.config.tables import (
    ACTIVATIONS,
    ATTENTIONS,
    AVERAGES,
    CELLS,
    DECODERS,
    DEVICES,
    MODELS,
    NORMALISATIONS,
    NORMS,
    OPTIMIZERS,
    POSITIONS,
    PRECISIONS,
    SCHEDULES,
    TARGET_TOKENIZERS,
    TASKS,
    TOKENIZERS,
)

NO_LIMIT = 10**15  # beyond all that is meant; infinity is no setting
ONLY_READ = ("classify", "tag", "masked")  # tasks whose models write no text


def one_of(default: str, allowed: tuple[str, ...], help: str) -> Any:
    return field(default=default, metadata={"allowed": allowed, "help": help})


def number(default: float | int, help: str, least: float = 0, most: float = NO_LIMIT) -> Any:
    return field(default=default, metadata={"least": least, "most": most, "help": help})


def value(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True, slots=True)
class TaskConfig:
    name: str = one_of("translate", tuple(TASKS), "what is learned")
    window: int = number(128, "language: tokens read at once; a recurrent network carries its state on", least=2)
    hide: float = number(0.15, "masked, denoise: share of the tokens that is hidden", most=0.9)
    permute: bool = value(False, "denoise: shuffle the sentences of a text too")
    turns: int = number(1, "dialogue: turns in a source, joined by ' <turn> '; chat keeps as many", least=1, most=100)


@dataclass(frozen=True, slots=True)
class DataConfig:
    source_lang: str = value("", "language code of the source; inferred from names like a.en,a.fr")
    target_lang: str = value("", "language code of the target")
    normalise: str = one_of("none", NORMALISATIONS, "Unicode normalisation of every text")
    max_chars: int = number(5000, "a longer line is excluded and reported (of plain text none is)", least=1)
    max_tokens: int = number(250, "a pair with more tokens on a side is excluded and reported; text is cut", least=2)
    reverse_source: bool = value(False, "rnn: read each source back to front")
    valid_pairs: int = number(1000, "pairs held out when no --valid is given (at most a tenth of the data)", least=1)


@dataclass(frozen=True, slots=True)
class TextConfig:
    tokenizer: str = one_of("bpe", TOKENIZERS, "how text becomes tokens; foreign came with an imported model")
    vocab_size: int = number(8000, "tokens in the vocabulary, the four special ones included", least=5, most=10**6)
    joint: bool = value(True, "one vocabulary for both sides")
    target_tokenizer: str = one_of("same", TARGET_TOKENIZERS, "the target's own, where joint = false")
    target_vocab_size: int = number(0, "tokens of the target's own vocabulary; 0 = vocab_size", most=10**6)


@dataclass(frozen=True, slots=True)
class ModelConfig:
    kind: str = one_of("transformer", MODELS, "the family")
    layers: int = number(
        3, "layers of the encoder, and of the decoder unless decoder_layers says otherwise", least=1, most=1000
    )
    decoder_layers: int = number(0, "layers of the decoder; 0 = as many as the encoder", most=1000)
    width: int = number(256, "width of the model: D of a Transformer, H of a recurrent network", least=1, most=10**5)
    embed_size: int = number(0, "width of the word vectors; 0 = width", most=10**5)
    dropout: float = number(0.1, "share of activations dropped in training", most=0.99)
    tied: bool = value(True, "decoder embedding = output matrix (= encoder embedding when the vocabulary is joint)")
    cell: str = one_of("gru", CELLS, "rnn: the cell; gru_fused resets after the product, as fast kernels do")
    attention: str = one_of("additive", ATTENTIONS, "rnn: the score of attention; none = the fixed context vector")
    decoder: str = one_of("bahdanau", DECODERS, "rnn with attention: look before each state, or after it (luong)")
    feed_context: bool = value(False, "rnn without attention: feed the context vector at every step")
    bidirectional: bool = value(True, "rnn: read the source in both directions")
    encoder_width: int = number(0, "rnn: width of the encoder, its directions together; 0 = width", most=10**5)
    maxout: int = number(0, "rnn: width of a maxout layer before the output; 0 = a tanh layer", most=10**5)
    init_range: float = number(0.0, "rnn: draw all weights from -this to this; 0 = each layer its own way", most=1)
    embed_scale: bool = value(True, "word vectors times the root of their size (not of model.kind = bag)")
    heads: int = number(4, "transformer: attention heads", least=1)
    ffn_size: int = number(0, "transformer: width of the feed-forward layer; 0 = 4 x width", most=10**6)
    norm: str = one_of("pre", NORMS, "transformer: layer norm before or after each sublayer")
    positions: str = one_of("sinusoidal", POSITIONS, "transformer: how a place in the sequence is told")
    activation: str = one_of("relu", ACTIVATIONS, "transformer: phi of the feed-forward layer")
    norm_eps: float = number(1e-5, "transformer: what layer norm adds to the variance", most=1)
    max_length: int = number(
        0, "transformer: places of learned positions, learned as far as texts reach; 0 = as long as an output may get"
    )
    embed_norm: bool = value(False, "transformer: layer norm over word vector + position, as BERT has it")
    vectors: str = value("", "a file of word vectors to start the word vectors from (`seqloom vectors train`)")
    adapter_rank: int = number(0, "low-rank adapters of this rank beside frozen matrices (--init); 0 = none", most=1024)


@dataclass(frozen=True, slots=True)
class TrainConfig:
    max_steps: int = number(0, "stop after this many updates; 0 = no limit")
    max_epochs: int = number(0, "stop after this many passes over the data; 0 = no limit")
    batch_tokens: int = number(4096, "tokens of a batch on each side, padding included", least=1)
    accumulate: int = number(1, "batches whose gradients are summed into one update", least=1)
    seed: int = number(1, "everything random follows from it")
    threads: int = number(0, "threads of torch; 0 = all cores. Part of the run: the sums round differently", most=1024)
    device: str = one_of("auto", DEVICES, "where to compute")
    precision: str = one_of(
        "auto", PRECISIONS, "of products in training; auto = bfloat16 where the machine is made for it. Part of the run"
    )
    optimizer: str = one_of("adamw", OPTIMIZERS, "how a gradient becomes an update")
    learning_rate: float = number(1e-3, "peak learning rate")
    schedule: str = one_of("inverse_sqrt", SCHEDULES, "how the learning rate changes after warm-up")
    warmup: int = number(400, "updates of linear warm-up (a run with --budget: at most 5 % of the budget)")
    weight_decay: float = number(0.01, "decay of matrices")
    beta2: float = number(0.98, "memory of squared gradients: AdamW's beta2, Adadelta's rho", most=0.9999)
    label_smoothing: float = number(0.1, "probability spread over the whole vocabulary", most=0.99)
    clip_norm: float = number(1.0, "largest global gradient norm; 0 = never clip")
    scheduled_sampling: float = number(
        0.0, "share of target inputs that are the model's own words; grows from 0 to this over the run", most=1
    )
    valid_every: int = number(
        500, "updates between validations; with --budget they take a tenth of the time at most", least=1
    )
    save_every: int = number(500, "updates between checkpoints", least=1)
    log_every: int = number(20, "updates between progress lines", least=1)
    keep: int = number(3, "newest checkpoints kept, beside the best", least=1)
    average: int = number(5, "weights averaged at the end", least=1)
    average_of: str = one_of("last", AVERAGES, "which checkpoints are averaged")
    init: str = value("", "a model folder to take what fits from: --init")
    rates: str = value("", "learning rate of parts, times the usual: 'encoder=0.1, source_table=0'; 0 = frozen")
    patience: int = number(0, "validations without a better loss before stopping; 0 = never stop early")


@dataclass(frozen=True, slots=True)
class DecodeConfig:
    beam: int = number(5, "hypotheses kept a sentence; 1 = greedy", least=1, most=1000)
    length_penalty: float = number(1.0, "a hypothesis' log-probability is divided by length ** this", most=10)
    coverage_penalty: float = number(0.0, "what source tokens that nobody looked at cost a hypothesis", most=10)
    min_length: int = number(0, "tokens an output has at least", most=50)
    no_repeat_ngram: int = number(0, "no group of this many tokens comes twice in an output; 0 = it may")
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
        """Tokens that search allows, with <s> and </s>."""
        return longest_output(self.data.max_tokens)

    def places_for(self, source_tokens: int) -> int:
        """Positions that a model which attends must know for sources of so many tokens."""
        if self.task.name in ONLY_READ:
            return source_tokens + 2  # <s> x </s>
        before = source_tokens + 1 if self.model.kind == "gpt" else 0  # x </s> are the words before the output
        return before + longest_output(source_tokens)


def longest_output(source_tokens: int) -> int:
    """Twice the source and 50, both with </s> (decode.options), after <s>, which takes the place of the last token."""
    return 2 * (source_tokens + 1) + 50


SECTIONS: dict[str, type] = {f.name: f.default_factory for f in dataclasses.fields(Config)}  # type: ignore[misc]
