"""Rules between settings: combinations that make no sense although each value is allowed."""

from collections.abc import Iterable

from seqloom.config.families import FAMILIES, families_of
from seqloom.config.sections import Config
from seqloom.config.tasks import TASKS


def check_together(config: Config) -> Iterable[str]:
    """Yield one sentence per broken rule."""
    yield from check_task(config)
    reads, task = FAMILIES[config.model.kind].settings, TASKS[config.task.name]
    if reads == "transformer":
        yield from check_transformer(config)
    elif reads == "rnn" and task.shape != "continues":  # a language model has neither a source nor attention
        yield from check_rnn(config)
    if reads != "rnn" and (config.data.reverse_source or config.model.init_range):
        yield "data.reverse_source and model.init_range are only for model.kind = rnn; leave them out"
    if config.text.joint and (config.text.target_tokenizer != "same" or config.text.target_vocab_size):
        yield "text.target_tokenizer and text.target_vocab_size need separate vocabularies: set text.joint = false"
    if config.decode.coverage_penalty and reads == "rnn" and config.model.attention == "none":
        yield "decode.coverage_penalty needs attention, but model.attention = none; set decode.coverage_penalty = 0"
    if task.form == "stream":
        if config.train.batch_tokens < config.task.window:
            yield f"train.batch_tokens = {config.train.batch_tokens} cannot hold task.window = {config.task.window}"
    elif config.train.batch_tokens < config.data.max_tokens + 2:
        yield (
            f"train.batch_tokens = {config.train.batch_tokens} cannot hold a sentence of data.max_tokens = "
            f"{config.data.max_tokens}; raise the one or lower the other"
        )


def check_task(config: Config) -> Iterable[str]:
    name, kind = config.task.name, config.model.kind
    task, kinds = TASKS[name], families_of(TASKS[name].shape)
    if kind not in kinds:
        yield f"task {name}: model.kind = {kind} cannot learn it; use {' or '.join(kinds)}"
    if config.task.hide == 0 and task.shape == "fills":
        yield "task.hide = 0: no token is hidden, so nothing is learned; use 0.15"
    if config.task.hide == 0 and task.shape == "restores" and not config.task.permute:
        yield "task.hide = 0: the text has no noise, so nothing is learned; use 0.3, or set task.permute = true"
    if task.form == "pairs" and FAMILIES[kind].one_sequence and not config.text.joint:
        yield f"model.kind = {kind} reads source and target as one sequence: it needs text.joint = true"
    if task.form != "pairs" and config.train.scheduled_sampling:
        yield f"task {name}: train.scheduled_sampling is only for tasks with pairs; use 0"
    if config.model.adapter_rank and not config.train.init:
        yield "model.adapter_rank: adapters need weights that are already trained; give --init DIR"


def check_transformer(config: Config) -> Iterable[str]:
    model = config.model
    if model.width % model.heads:
        yield f"model.width = {model.width} is not divisible by model.heads = {model.heads}"
    elif model.positions == "rotary" and model.width // model.heads % 2:
        yield f"model.positions = rotary needs an even width per head, not {model.width} / {model.heads}"
    if model.embed_size not in (0, model.width):
        yield f"model.embed_size = {model.embed_size}: a Transformer's embeddings have its width; use 0"
    if model.positions == "learned" and model.max_length:
        yield from check_places(config)


def check_places(config: Config) -> Iterable[str]:
    """Refuse texts that may be longer than the learned positions: training would fail at the first of them."""
    places, longest = config.model.max_length, config.data.max_tokens
    if TASKS[config.task.name].shape == "continues":
        if config.task.window > places:
            yield f"task.window = {config.task.window} is longer than model.max_length = {places}; use {places} or less"
        return
    needed = config.places_for(longest)
    if needed > places:
        per_token = config.places_for(1) - config.places_for(0)
        fits = max(0, (places - config.places_for(0)) // per_token)
        lower = f"set data.max_tokens to {fits} or less, or " if fits >= 2 else ""
        yield (
            f"data.max_tokens = {longest} may need {needed} positions, but model.max_length = {places}: "
            f"{lower}raise model.max_length"
        )


def check_rnn(config: Config) -> Iterable[str]:
    model = config.model
    name, encoder_width = ("encoder_width", model.encoder_width) if model.encoder_width else ("width", model.width)
    if model.bidirectional and encoder_width % 2:
        yield f"model.{name} = {encoder_width} cannot be halved for two directions; use an even number"
    if model.bidirectional and config.data.reverse_source:
        yield "data.reverse_source: the encoder already reads both directions; set it or model.bidirectional to false"
    if model.attention != "none" and model.feed_context:
        yield "model.feed_context is for model.attention = none; with attention, every step has its own context"
    reads_context = model.feed_context if model.attention == "none" else model.decoder == "bahdanau"
    if model.maxout and not reads_context:
        yield "model.maxout reads word, state and context: use model.decoder = bahdanau or model.feed_context = true"
    if model.maxout and model.tied and model.maxout != (model.embed_size or model.width):
        yield (
            f"model.maxout = {model.maxout}: with model.tied = true it must be the embedding size "
            f"({model.embed_size or model.width}); or set model.tied = false"
        )
