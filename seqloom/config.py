"""Settings: frozen dataclasses, filled from a TOML recipe and `a.b=value` overrides; all errors at once.

The names a recipe may use stand in the tables below, free of torch, so that `--help` and `doctor` start fast;
a test keeps them equal to the registries (`CELLS`, `MODELS`, ...) beside the classes they name.
"""

import dataclasses
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from seqloom.errors import UsageError, did_you_mean

MODELS = ("rnn", "transformer")
CELLS = ("rnn", "rnn_relu", "lstm", "gru", "gru_fused")
ATTENTIONS = ("none", "dot", "scaled_dot", "gaussian", "bilinear", "additive")
DECODERS = ("bahdanau", "luong")
POSITIONS = ("sinusoidal", "learned", "rotary", "none")
NORMS = ("pre", "post")
TOKENIZERS = ("bpe", "unigram", "char", "word")
TARGET_TOKENIZERS = ("same", *TOKENIZERS)
OPTIMIZERS = ("adamw", "sgd", "adadelta")
SCHEDULES = ("inverse_sqrt", "cosine", "wsd", "halving", "constant")
AVERAGES = ("last", "best")
DEVICES = ("auto", "cpu", "cuda")
NORMALISATIONS = ("none", "nfc")
NO_LIMIT = 10**15  # beyond all that is meant; infinity is no setting


def one_of(default: str, allowed: tuple[str, ...], help: str) -> Any:
    return field(default=default, metadata={"allowed": allowed, "help": help})


def number(default: float | int, help: str, least: float = 0, most: float = NO_LIMIT) -> Any:
    return field(default=default, metadata={"least": least, "most": most, "help": help})


def value(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True, slots=True)
class DataConfig:
    source_lang: str = value("", "language code of the source; inferred from names like a.en,a.fr")
    target_lang: str = value("", "language code of the target")
    normalise: str = one_of("none", NORMALISATIONS, "Unicode normalisation of every text")
    max_chars: int = number(5000, "a longer line is excluded and reported", least=1)
    max_tokens: int = number(250, "a pair with more tokens on a side is excluded and reported", least=2)
    reverse_source: bool = value(False, "rnn: read each source back to front")
    valid_pairs: int = number(1000, "pairs held out when no --valid is given (at most a tenth of the data)", least=1)


@dataclass(frozen=True, slots=True)
class TextConfig:
    tokenizer: str = one_of("bpe", TOKENIZERS, "how text becomes tokens")
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
    heads: int = number(4, "transformer: attention heads", least=1)
    ffn_size: int = number(0, "transformer: width of the feed-forward layer; 0 = 4 x width", most=10**6)
    norm: str = one_of("pre", NORMS, "transformer: layer norm before or after each sublayer")
    positions: str = one_of("sinusoidal", POSITIONS, "transformer: how a place in the sequence is told")


@dataclass(frozen=True, slots=True)
class TrainConfig:
    max_steps: int = number(0, "stop after this many updates; 0 = no limit")
    max_epochs: int = number(0, "stop after this many passes over the data; 0 = no limit")
    batch_tokens: int = number(4096, "tokens of a batch on each side, padding included", least=1)
    accumulate: int = number(1, "batches whose gradients are summed into one update", least=1)
    seed: int = number(1, "everything random follows from it")
    threads: int = number(0, "threads of torch; 0 = all cores. Part of the run: the sums round differently", most=1024)
    device: str = one_of("auto", DEVICES, "where to compute")
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
    valid_every: int = number(500, "updates between validations", least=1)
    save_every: int = number(500, "updates between checkpoints", least=1)
    log_every: int = number(20, "updates between progress lines", least=1)
    keep: int = number(3, "newest checkpoints kept, beside the best", least=1)
    average: int = number(5, "weights averaged at the end", least=1)
    average_of: str = one_of("last", AVERAGES, "which checkpoints are averaged")
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
    data: DataConfig = field(default_factory=DataConfig)
    text: TextConfig = field(default_factory=TextConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    decode: DecodeConfig = field(default_factory=DecodeConfig)


SECTIONS: dict[str, type] = {f.name: f.default_factory for f in dataclasses.fields(Config)}  # type: ignore[misc]


def load_config(recipe: Path | None = None, overrides: Iterable[str] = ()) -> Config:
    """The recipe file with each `section.name=value` laid over it."""
    table = read_toml(recipe) if recipe else {}
    faults: list[str] = []
    for override in overrides:
        apply_override(table, override, faults)
    return build_config(table, where=str(recipe) if recipe else "the settings", faults=faults)


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path}: no such recipe. `seqloom recipes` lists the built-in ones.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not a TOML file: {error}") from None


def apply_override(table: dict[str, Any], override: str, faults: list[str]) -> None:
    name, equals, text = override.partition("=")
    section, dot, key = name.strip().partition(".")
    if not (equals and dot and section and key):
        faults.append(f"--set {override}: want section.name=value, e.g. model.width=256")
        return
    try:
        parsed = tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        parsed = text  # a bare word is a string: --set model.kind=rnn
    settings = table.setdefault(section, {})
    if isinstance(settings, dict):  # else build_config says what is wrong with the section
        settings[key] = parsed


def build_config(table: Mapping[str, Any], where: str, faults: list[str] | None = None) -> Config:
    """A checked Config, or one UsageError that lists everything wrong."""
    faults = list(faults or ())
    sections = {}
    for name, settings in table.items():
        if name not in SECTIONS or not isinstance(settings, dict):
            faults.append(f"{name}: no such section.{did_you_mean(name, SECTIONS)} Sections: {', '.join(SECTIONS)}")
        else:
            sections[name] = build_section(name, settings, faults)
    if not faults:
        config = Config(**sections)
        faults += [*check_together(config)]
    if faults:
        raise UsageError(f"{where}: {len(faults)} wrong setting(s)\n" + "\n".join(f"  {fault}" for fault in faults))
    return config


def build_section(section: str, settings: Mapping[str, Any], faults: list[str]) -> Any:
    kind = SECTIONS[section]
    fields = {f.name: f for f in dataclasses.fields(kind)}
    good = {}
    for name, got in settings.items():
        if name not in fields:
            faults.append(f"{section}.{name}: no such setting.{did_you_mean(name, fields)}")
        elif fault := fault_of(fields[name], got):
            faults.append(f"{section}.{name} = {got!r}: {fault}")
        else:
            good[name] = msgspec.convert(got, fields[name].type, strict=True)
    return kind(**good)


def fault_of(setting: dataclasses.Field[Any], got: Any) -> str:
    """What is wrong with one value; empty when nothing is."""
    try:
        msgspec.convert(got, setting.type, strict=True)
    except msgspec.ValidationError:
        return f"want {getattr(setting.type, '__name__', setting.type)}, got {type(got).__name__}"
    rule = setting.metadata
    if "allowed" in rule and got not in rule["allowed"]:
        return f"allowed: {', '.join(rule['allowed'])}.{did_you_mean(str(got), rule['allowed'])}"
    if "least" in rule and not rule["least"] <= got <= rule["most"]:
        return f"want {rule['least']} <= value <= {rule['most']}"
    return ""


def check_together(config: Config) -> Iterable[str]:
    """Rules between settings."""
    yield from check_transformer(config) if config.model.kind == "transformer" else check_rnn(config)
    if config.text.joint and (config.text.target_tokenizer != "same" or config.text.target_vocab_size):
        yield "text.target_tokenizer and text.target_vocab_size are for a target of its own: set text.joint = false"
    if config.decode.coverage_penalty and config.model.kind == "rnn" and config.model.attention == "none":
        yield "decode.coverage_penalty reads the attention, and model.attention = none has none; use 0"
    if config.train.batch_tokens < config.data.max_tokens + 2:
        yield (
            f"train.batch_tokens = {config.train.batch_tokens} cannot hold a sentence of data.max_tokens = "
            f"{config.data.max_tokens}; raise the one or lower the other"
        )


def check_transformer(config: Config) -> Iterable[str]:
    model = config.model
    if model.width % model.heads:
        yield f"model.width = {model.width} does not divide into model.heads = {model.heads}"
    elif model.positions == "rotary" and model.width // model.heads % 2:
        yield f"model.positions = rotary turns pairs: a head's width, {model.width} / {model.heads}, must be even"
    if model.embed_size not in (0, model.width):
        yield f"model.embed_size = {model.embed_size}: a transformer's is its width; use 0"
    if config.data.reverse_source or model.init_range:
        yield "data.reverse_source and model.init_range are for model.kind = rnn; leave them out"


def check_rnn(config: Config) -> Iterable[str]:
    model = config.model
    name, encoder_width = ("encoder_width", model.encoder_width) if model.encoder_width else ("width", model.width)
    if model.bidirectional and encoder_width % 2:
        yield f"model.{name} = {encoder_width} does not divide into two directions; use an even one"
    if model.bidirectional and config.data.reverse_source:
        yield "data.reverse_source: both directions are read already; set it or model.bidirectional to false"
    if model.attention in ("dot", "scaled_dot", "gaussian") and encoder_width != model.width:
        yield (
            f"model.attention = {model.attention} compares state and annotation entry by entry: model.encoder_width = "
            f"{encoder_width} must be model.width = {model.width}; or use bilinear or additive"
        )
    if model.attention != "none" and model.feed_context:
        yield "model.feed_context is for model.attention = none; with attention every step has a context of its own"
    reads_context = model.feed_context if model.attention == "none" else model.decoder == "bahdanau"
    if model.maxout and not reads_context:
        yield "model.maxout reads word, state and context: use model.decoder = bahdanau or model.feed_context = true"
    if model.maxout and model.tied and model.maxout != (model.embed_size or model.width):
        yield (
            f"model.maxout = {model.maxout} is compared with the word vectors: it must be their width "
            f"({model.embed_size or model.width}), or set model.tied = false"
        )


def dump_config(config: Config) -> str:
    """The TOML text that `load_config` reads back to an equal Config."""
    import tomli_w

    return tomli_w.dumps(dataclasses.asdict(config))
