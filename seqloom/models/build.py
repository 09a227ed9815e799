"""From settings to a model: the only file of this layer that reads a config."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from torch import nn

from seqloom.config import Config
from seqloom.models.api import LanguageModel, Reader, Seq2Seq
from seqloom.models.gpt import GPT
from seqloom.models.readers import BagReader, RecurrentReader, TransformerReader
from seqloom.models.recurrent_sizes import RecurrentSizes
from seqloom.models.rnn import RecurrentSeq2Seq
from seqloom.models.rnn_language import RecurrentLanguageModel
from seqloom.models.transformer import Transformer
from seqloom.models.transformer_encoder import TransformerSizes

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
    if config.model.bidirectional:
        return "forward", "backward"
    return ("backward" if config.data.reverse_source else "forward",)


def draw_evenly(network: Network, init_range: float) -> Network:
    """All weights anew from -init_range to init_range; 0 = they stay as they are."""
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
        # Training fills data.max_tokens + 1 places at most: an output longer than every training text goes on at
        # learned places that nothing was learned of.
        max_length=model.max_length or config.longest_output,
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
        whole_text=config.task.name == "classify",
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
        whole_text=config.task.name == "classify",
        tied=model.tied and joint,
        scaled=model.embed_scale,
    )
    return draw_evenly(network, model.init_range)


def build_bag_reader(config: Config, source_vocab_size: int, target_vocab_size: int, joint: bool) -> Reader:
    model = config.model
    return BagReader(source_vocab_size, target_vocab_size, model.embed_size or model.width, model.dropout)


def build_gpt(config: Config, source_vocab_size: int, target_vocab_size: int, joint: bool) -> LanguageModel:
    window = config.task.window if config.task.name == "language" else 0
    places = config.model.max_length or window or config.places_for(config.data.max_tokens)
    sizes = replace(transformer_sizes(config), max_length=places)
    layers = config.model.decoder_layers or config.model.layers
    return GPT(target_vocab_size, sizes, layers=layers, tied=config.model.tied, context=window)


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

MODELS: dict[str, Build] = {  # one sequence into another
    "rnn": build_rnn,
    "transformer": build_transformer,
    "gpt": build_gpt,
}
READERS: dict[str, Build] = {  # a text into tags or hidden words, place by place
    "rnn": build_rnn_reader,
    "transformer": build_transformer_reader,
}
TEXT_READERS: dict[str, Build] = {**READERS, "bag": build_bag_reader}  # a whole text into one label
LANGUAGE_MODELS: dict[str, Build] = {"rnn": build_rnn_language, "gpt": build_gpt}  # what comes next
DENOISERS: dict[str, Build] = {kind: build for kind, build in MODELS.items() if kind != "gpt"}  # reads all it restores
FAMILIES = {
    "classify": TEXT_READERS,
    "tag": READERS,
    "masked": READERS,
    "denoise": DENOISERS,
    "language": LANGUAGE_MODELS,
}


def build_model(config: Config, source_vocab_size: int, target_vocab_size: int, joint: bool) -> Any:
    """The model that task and model settings describe, with fresh weights; `joint` = one vocabulary for both sides."""
    family = FAMILIES.get(config.task.name, MODELS)
    return family[config.model.kind](config, source_vocab_size, target_vocab_size, joint)
