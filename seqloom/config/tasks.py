"""The tasks: one record per task, and the shapes of answer that tasks share. Does not import torch.

The records contain everything that differs between two tasks of one shape. What differs between shapes (the model that
is built, the loss, how a model answers, how answers are measured and sampled) is in registries keyed by shape. A house
test checks that each registry has every shape.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """The kind of answer that a model gives for a text."""

    translates: bool  # search writes an output for a source
    encoder_only: bool = False  # reads a text but writes no text: BERT, a classifier, a tagger
    why_no_translation: str = ""  # the reason, where it does not translate


SHAPES: dict[str, Shape] = {
    "writes": Shape(translates=True),  # a new text for a source
    "restores": Shape(translates=True),  # the text that noise was added to: it must see the whole source
    "labels": Shape(False, encoder_only=True, why_no_translation="it writes no text"),  # one label per text
    "tags": Shape(False, encoder_only=True, why_no_translation="it writes no text"),  # one tag per word
    "fills": Shape(False, encoder_only=True, why_no_translation="it writes no text"),  # the hidden words of a text
    "continues": Shape(False, why_no_translation="it continues a prompt and reads no source"),  # what comes next
}


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """Everything that the rest of the program needs to know about a task."""

    form: str  # what its files hold: pairs, labelled, tagged, text, stream (data/forms.py)
    shape: str  # the shape of its answers, a key of SHAPES
    recipe: str = ""  # the default recipe; empty = chosen by the size of the data (training/choose_recipe.py)
    fine_tune_recipe: str = ""  # the default recipe with --init
    metrics: tuple[str, ...] = ()  # names of metrics.measures.METRICS, the main one first
    chosen_by: str = ""  # the score of a validation that chooses the final weights; empty = the loss
    diversity: bool = False  # whether reports show how varied the outputs are
    baseline: str = ""  # a simple rule that outputs are compared with, a key of evaluation.translations.BASELINES
    verb: str = "translate"  # the command that tries the trained model
    long_inputs: str = "cut"  # how a text above data.max_tokens is shortened: see LONG_INPUTS
    copies_wordless: bool = False  # whether a text without letters and digits stays as it is (runtime/inputs.py)
    records: str = "pairs"  # the word for its records in reports
    counted: str = "target tokens"  # what the loss counts
    loss: str = ""  # a key of tasks.build.LOSSES; empty = the loss of the shape


LONG_INPUTS = ("cut", "by sentence", "latest turns")  # cut at the limit, split at sentence ends, older turns dropped

TASKS: dict[str, TaskRecord] = {
    "translate": TaskRecord(
        "pairs",
        "writes",
        metrics=("bleu", "chrf", "ter", "exact_match", "token_error_rate", "character_error_rate"),
        long_inputs="by sentence",
        copies_wordless=True,
    ),
    "summarise": TaskRecord(
        "pairs",
        "writes",
        recipe="summarise-small",
        metrics=("rouge_1", "rouge_2", "rouge_l", "chrf", "bleu", "exact_match"),
        baseline="first sentence",
        copies_wordless=True,
    ),
    "dialogue": TaskRecord(
        "pairs",
        "writes",
        recipe="dialogue-small",
        metrics=("perplexity", "chrf", "bleu", "exact_match"),
        diversity=True,
        verb="chat",
        long_inputs="latest turns",
    ),
    "pronounce": TaskRecord(
        "pairs",
        "writes",
        recipe="g2p-rnnsearch",
        metrics=("phoneme_error_rate", "word_error_rate", "chrf"),
        chosen_by="phoneme_error_rate",
        copies_wordless=True,
    ),
    "classify": TaskRecord(
        "labelled",
        "labels",
        chosen_by="accuracy",
        recipe="classify-lstm",
        fine_tune_recipe="finetune-labels",
        records="texts",
        counted="labels",
    ),
    "tag": TaskRecord(
        "tagged",
        "tags",
        chosen_by="accuracy",
        recipe="tag-bilstm",
        fine_tune_recipe="finetune-labels",
        records="texts",
        counted="tags",
    ),
    "language": TaskRecord(
        "stream", "continues", recipe="gpt-small", verb="generate", records="lines", counted="tokens"
    ),
    "masked": TaskRecord("text", "fills", recipe="bert-small", records="texts", counted="hidden tokens"),
    "denoise": TaskRecord(
        "text",
        "restores",
        recipe="bart-small",
        metrics=("perplexity", "chrf", "exact_match"),
        records="texts",
        counted="tokens",
    ),
}


def tasks_of(*shapes: str) -> list[str]:
    """The tasks whose answers have one of these shapes."""
    return [name for name, task in TASKS.items() if task.shape in shapes]
