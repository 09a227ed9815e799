"""From settings to a model: the only file of this layer that reads a config."""

from collections.abc import Callable

from torch import nn

from seqloom.config import Config
from seqloom.models.api import Seq2Seq
from seqloom.models.recurrent_sizes import RecurrentSizes
from seqloom.models.rnn import RecurrentSeq2Seq
from seqloom.models.transformer import Transformer


def build_rnn(config: Config, source_vocab_size: int, target_vocab_size: int, joint: bool) -> Seq2Seq:
    model = config.model
    one_way = "backward" if config.data.reverse_source else "forward"
    sizes = RecurrentSizes(
        cell=model.cell,
        attention=model.attention,
        decoder=model.decoder,
        width=model.width,
        encoder_width=model.encoder_width or model.width,
        embed_size=model.embed_size or model.width,
        encoder_layers=model.layers,
        decoder_layers=model.decoder_layers or model.layers,
        directions=("forward", "backward") if model.bidirectional else (one_way,),
        feed_context=model.feed_context,
        maxout=model.maxout,
        dropout=model.dropout,
    )
    network = RecurrentSeq2Seq(
        source_vocab_size, target_vocab_size, sizes, tied=model.tied, joint=joint, scaled=not model.init_range
    )
    if model.init_range:
        for parameter in network.parameters():
            nn.init.uniform_(parameter, -model.init_range, model.init_range)
    return network


def build_transformer(config: Config, source_vocab_size: int, target_vocab_size: int, joint: bool) -> Seq2Seq:
    model = config.model
    return Transformer(
        source_vocab_size,
        target_vocab_size,
        width=model.width,
        heads=model.heads,
        ffn_size=model.ffn_size or 4 * model.width,
        encoder_layers=model.layers,
        decoder_layers=model.decoder_layers or model.layers,
        dropout=model.dropout,
        norm=model.norm,
        positions=model.positions,
        max_length=2 * config.data.max_tokens + 52,  # the longest output search allows, with <s> and </s>
        tied=model.tied,
        joint=joint,
    )


MODELS: dict[str, Callable[[Config, int, int, bool], Seq2Seq]] = {"rnn": build_rnn, "transformer": build_transformer}


def build_model(config: Config, source_vocab_size: int, target_vocab_size: int, joint: bool) -> Seq2Seq:
    """The model that `config.model` describes, with fresh weights; `joint` = both sides share one vocabulary."""
    return MODELS[config.model.kind](config, source_vocab_size, target_vocab_size, joint)
