"""Rules between settings: what each alone allows and together makes no sense."""

from collections.abc import Iterable

from seqloom.config.sections import Config
from seqloom.config.tables import TASKS


def check_together(config: Config) -> Iterable[str]:
    """Rules between settings."""
    yield from check_task(config)
    if config.model.kind in ("transformer", "gpt"):
        yield from check_transformer(config)
    elif config.model.kind == "rnn" and config.task.name != "language":  # which has neither a source nor attention
        yield from check_rnn(config)
    if config.model.kind != "rnn" and (config.data.reverse_source or config.model.init_range):
        yield "data.reverse_source and model.init_range are for model.kind = rnn; leave them out"
    if config.text.joint and (config.text.target_tokenizer != "same" or config.text.target_vocab_size):
        yield "text.target_tokenizer and text.target_vocab_size are for a target of its own: set text.joint = false"
    if config.decode.coverage_penalty and config.model.kind == "rnn" and config.model.attention == "none":
        yield "decode.coverage_penalty reads the attention, and model.attention = none has none; use 0"
    if TASKS[config.task.name][0] == "stream":
        if config.train.batch_tokens < config.task.window:
            yield f"train.batch_tokens = {config.train.batch_tokens} cannot hold a task.window = {config.task.window}"
    elif config.train.batch_tokens < config.data.max_tokens + 2:
        yield (
            f"train.batch_tokens = {config.train.batch_tokens} cannot hold a sentence of data.max_tokens = "
            f"{config.data.max_tokens}; raise the one or lower the other"
        )


def check_task(config: Config) -> Iterable[str]:
    form, kinds = TASKS[config.task.name]
    if config.model.kind not in kinds:
        yield f"task {config.task.name}: model.kind = {config.model.kind} cannot learn it; use {' or '.join(kinds)}"
    if config.task.hide == 0 and config.task.name == "masked":
        yield "task.hide = 0: nothing is hidden, so that nothing is learned; use 0.15"
    if config.task.hide == 0 and config.task.name == "denoise" and not config.task.permute:
        yield "task.hide = 0: nothing is noised, so that nothing is learned; use 0.3, or set task.permute = true"
    if form == "pairs" and config.model.kind == "gpt" and not config.text.joint:
        yield "model.kind = gpt reads source and target as one sequence: it needs text.joint = true"
    if form != "pairs" and config.train.scheduled_sampling:
        yield f"task {config.task.name}: train.scheduled_sampling is for tasks that write a target; use 0"
    if config.model.adapter_rank and not config.train.init:
        yield "model.adapter_rank: adapters stand beside weights that were learned before; give --init DIR"


def check_transformer(config: Config) -> Iterable[str]:
    model = config.model
    if model.width % model.heads:
        yield f"model.width = {model.width} does not divide into model.heads = {model.heads}"
    elif model.positions == "rotary" and model.width // model.heads % 2:
        yield f"model.positions = rotary turns pairs: a head's width, {model.width} / {model.heads}, must be even"
    if model.embed_size not in (0, model.width):
        yield f"model.embed_size = {model.embed_size}: a transformer's is its width; use 0"
    if model.positions == "learned" and model.max_length:
        yield from check_places(config)


def check_places(config: Config) -> Iterable[str]:
    """Learned places have an end: a run would go well until a text comes that reaches beyond it."""
    places, longest = config.model.max_length, config.data.max_tokens
    if config.task.name == "language":
        if config.task.window > places:
            yield f"task.window = {config.task.window} is longer than model.max_length = {places}; use {places} or less"
        return
    needed = config.places_for(longest)
    if needed > places:
        fits = max((shorter for shorter in range(longest) if config.places_for(shorter) <= places), default=0)
        lower = f"set data.max_tokens to {fits} or less, or " if fits >= 2 else ""
        yield (
            f"data.max_tokens = {longest} may fill {needed} places, and model.max_length = {places} has fewer: "
            f"{lower}raise model.max_length"
        )


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
