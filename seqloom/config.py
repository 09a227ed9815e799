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
CELLS = ("rnn", "lstm", "gru", "gru_fused")
ATTENTIONS = ("none", "additive")
POSITIONS = ("sinusoidal", "learned")
NORMS = ("pre", "post")
TOKENIZERS = ("bpe", "unigram", "char", "word")
SCHEDULES = ("inverse_sqrt", "cosine", "wsd", "constant")
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
    valid_pairs: int = number(1000, "pairs held out when no --valid is given (at most a tenth of the data)", least=1)


@dataclass(frozen=True, slots=True)
class TextConfig:
    tokenizer: str = one_of("bpe", TOKENIZERS, "how text becomes tokens")
    vocab_size: int = number(8000, "tokens in the vocabulary, the four special ones included", least=5, most=10**6)
    joint: bool = value(True, "one vocabulary for both sides")


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
    cell: str = one_of("gru", CELLS, "rnn: the cell")
    attention: str = one_of("additive", ATTENTIONS, "rnn: none = the fixed context vector")
    bidirectional: bool = value(True, "rnn: read the source in both directions")
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
    learning_rate: float = number(1e-3, "peak learning rate")
    schedule: str = one_of("inverse_sqrt", SCHEDULES, "how the learning rate changes after warm-up")
    warmup: int = number(400, "updates of linear warm-up (a run with --budget: at most 5 % of the budget)")
    weight_decay: float = number(0.01, "AdamW's decay of matrices")
    beta2: float = number(0.98, "AdamW's memory of squared gradients", most=0.9999)
    label_smoothing: float = number(0.1, "probability spread over the whole vocabulary", most=0.99)
    clip_norm: float = number(1.0, "largest global gradient norm; 0 = never clip")
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
    length_penalty: float = number(1.0, "a hypothesis' log-probability is divided by length ** this")
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
    if config.model.kind == "transformer" and config.model.width % config.model.heads:
        yield f"model.width = {config.model.width} does not divide into model.heads = {config.model.heads}"
    if config.model.kind == "transformer" and config.model.embed_size not in (0, config.model.width):
        yield f"model.embed_size = {config.model.embed_size}: a transformer's is its width; use 0"
    if config.model.kind == "rnn" and config.model.bidirectional and config.model.width % 2:
        yield f"model.width = {config.model.width} does not divide into two directions; use an even one"
    if config.train.batch_tokens < config.data.max_tokens + 2:
        yield (
            f"train.batch_tokens = {config.train.batch_tokens} cannot hold a sentence of data.max_tokens = "
            f"{config.data.max_tokens}; raise the one or lower the other"
        )


def dump_config(config: Config) -> str:
    """The TOML text that `load_config` reads back to an equal Config."""
    import tomli_w

    return tomli_w.dumps(dataclasses.asdict(config))
