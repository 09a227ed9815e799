"""Builds a model from settings; the only file of this folder that reads a config."""

from collections.abc import Callable
from typing import Any, TypeVar

from torch import nn

from seqloom.config import SHAPES, TASKS, Config
from seqloom.errors import UsageError
from seqloom.models.api import LanguageModel, Reader, Seq2Seq
from seqloom.models.encoder_only import BagReader, RecurrentReader, TransformerReader
from seqloom.models.gpt import GPT
from seqloom.models.recurrent_decoder import RecurrentSizes
from seqloom.models.rnn import RecurrentSeq2Seq
from seqloom.models.rnn_language import RecurrentLanguageModel
from seqloom.models.transformer import Transformer
from seqloom.models.transformer_encoder import TransformerSizes
from seqloom.nn.scores import SCORES

Network = TypeVar("Network", bound=nn.Module)


def build_rnn(config: Config, source_vocab_size: int, target_vocab_size: int, joint: bool) -> Seq2Seq:
    model = config.model
    sizes = RecurrentSizes(
        cell=model.cell,
        attention=model.attention,
        decoder=model.decoder,
        width=model.width,
        encoder_width=model.encoder_width or model.width,
        embed_size=model.embed_size or model.width,
        encoder_layers=model.layers,
        decoder_layers=model.decoder_layers or model.layers,
        directions=directions_of(config),
        feed_context=model.feed_context,
        maxout=model.maxout,
        tied=model.tied,
        dropout=model.dropout,
    )
    network = RecurrentSeq2Seq(source_vocab_size, target_vocab_size, sizes, joint=joint, scaled=model.embed_scale)
    return draw_evenly(network, model.init_range)


def directions_of(config: Config) -> tuple[str, ...]:
    """The directions in which the encoder reads; source reversal (data.reverse_source) is backward reading alone."""
    if config.model.bidirectional:
        return "forward", "backward"
    return ("backward" if config.data.reverse_source else "forward",)


def draw_evenly(network: Network, init_range: float) -> Network:
    """Re-initialise all weights uniformly from -init_range to init_range; 0 = leave them unchanged."""
    for parameter in network.parameters() if init_range else ():
        nn.init.uniform_(parameter, -init_range, init_range)
    return network


def transformer_sizes(config: Config) -> TransformerSizes:
    model = config.model
    return TransformerSizes(
        width=model.width,
        heads=model.heads,
        ffn_size=model.ffn_size or 4 * model.width,
        dropout=model.dropout,
        norm=model.norm,
        positions=model.positions,
        # Training uses at most data.max_tokens + 1 positions: an output longer than every training text continues
        # with learned positions that were never trained.
        max_length=config.places,
        activation=model.activation,
        embed_scale=model.embed_scale,
        embed_norm=model.embed_norm,
        norm_eps=model.norm_eps,
    )


def build_transformer(config: Config, source_vocab_size: int, target_vocab_size: int, joint: bool) -> Seq2Seq:
    model = config.model
    return Transformer(
        source_vocab_size,
        target_vocab_size,
        transformer_sizes(config),
        encoder_layers=model.layers,
        decoder_layers=model.decoder_layers or model.layers,
        tied=model.tied,
        joint=joint,
    )


def build_transformer_reader(config: Config, source_vocab_size: int, target_vocab_size: int, joint: bool) -> Reader:
    model = config.model
    return TransformerReader(
        source_vocab_size,
        target_vocab_size,
        transformer_sizes(config),
        layers=model.layers,
        whole_text=TASKS[config.task.name].shape == "labels",
        tied=model.tied and joint,
    )


def build_rnn_reader(config: Config, source_vocab_size: int, target_vocab_size: int, joint: bool) -> Reader:
    model = config.model
    network = RecurrentReader(
        source_vocab_size,
        target_vocab_size,
        cell=model.cell,
        embed_size=model.embed_size or model.width,
        width=model.encoder_width or model.width,
        layers=model.layers,
        directions=directions_of(config),
        dropout=model.dropout,
        whole_text=TASKS[config.task.name].shape == "labels",
        tied=model.tied and joint,
        scaled=model.embed_scale,
    )
    return draw_evenly(network, model.init_range)


def build_bag_reader(config: Config, source_vocab_size: int, target_vocab_size: int, joint: bool) -> Reader:
    model = config.model
    return BagReader(source_vocab_size, target_vocab_size, model.embed_size or model.width, model.dropout)


def build_gpt(config: Config, source_vocab_size: int, target_vocab_size: int, joint: bool) -> LanguageModel:
    window = config.task.window if TASKS[config.task.name].shape == "continues" else 0
    layers = config.model.decoder_layers or config.model.layers
    return GPT(target_vocab_size, transformer_sizes(config), layers=layers, tied=config.model.tied, context=window)


def build_rnn_language(config: Config, source_vocab_size: int, target_vocab_size: int, joint: bool) -> LanguageModel:
    model = config.model
    network = RecurrentLanguageModel(
        target_vocab_size,
        model.cell,
        width=model.width,
        embed_size=model.embed_size or model.width,
        layers=model.decoder_layers or model.layers,
        dropout=model.dropout,
        tied=model.tied,
        scaled=model.embed_scale,
    )
    return draw_evenly(network, model.init_range)


Build = Callable[[Config, int, int, bool], nn.Module]

SEQ2SEQ: dict[str, Build] = {"rnn": build_rnn, "transformer": build_transformer}
ENCODERS: dict[str, Build] = {"rnn": build_rnn_reader, "transformer": build_transformer_reader}
BUILDERS: dict[str, dict[str, Build]] = {  # shape of the answers (config/tasks.py) -> family -> builder
    "writes": {**SEQ2SEQ, "gpt": build_gpt},
    "restores": SEQ2SEQ,
    "labels": {**ENCODERS, "bag": build_bag_reader},
    "tags": ENCODERS,
    "fills": ENCODERS,
    "continues": {"rnn": build_rnn_language, "gpt": build_gpt},
}


def check_model(config: Config) -> None:
    """Raise a UsageError, before any data is read, if the settings do not meet what the model's classes need."""
    model, encoder_width = config.model, config.model.encoder_width or config.model.width
    attends = model.kind == "rnn" and SHAPES[TASKS[config.task.name].shape].translates and model.attention != "none"
    if attends and SCORES[model.attention].entrywise and encoder_width != model.width:
        raise UsageError(
            f"model.attention = {model.attention} compares state and annotation entry by entry: model.encoder_width = "
            f"{encoder_width} must equal model.width = {model.width}; or use bilinear or additive"
        )


def build_model(config: Config, source_vocab_size: int, target_vocab_size: int, joint: bool) -> Any:
    """The model that task and model settings describe, with fresh weights; `joint` = one vocabulary for both sides."""
    check_model(config)
    build = BUILDERS[TASKS[config.task.name].shape][config.model.kind]
    return build(config, source_vocab_size, target_vocab_size, joint)
