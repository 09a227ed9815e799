"""From settings to a model: the only file of this layer that reads a config."""

from collections.abc import Callable

from seqloom.config import Config
from seqloom.models.api import Seq2Seq
from seqloom.models.rnn import RecurrentSeq2Seq
from seqloom.models.transformer import Transformer


def build_rnn(config: Config, source_vocab_size: int, target_vocab_size: int, joint: bool) -> Seq2Seq:
    model = config.model
    return RecurrentSeq2Seq(
        source_vocab_size,
        target_vocab_size,
        cell=model.cell,
        attention=model.attention,
        width=model.width,
        embed_size=model.embed_size or model.width,
        encoder_layers=model.layers,
        decoder_layers=model.decoder_layers or model.layers,
        bidirectional=model.bidirectional,
        dropout=model.dropout,
        tied=model.tied,
        joint=joint,
    )


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
