"""Settings: frozen dataclasses, filled from a TOML recipe and `a.b=value` overrides; all errors at once.

tasks        one record per task: its files, the shape of its answers, recipe, metrics, words
families     one record per model family: which answers it can give, whose settings it reads
sections     the settings: section by section, with default, allowed values and help
tables       the names that settings may take (cells, attention scores, optimizers ...)
rules        rules between settings: combinations that make no sense although each value is allowed
load         build a checked Config from a recipe and overrides; write a Config as TOML
recipes      the built-in recipes: find, list and read them
"""

from seqloom.config.families import FAMILIES, Family, families_of
from seqloom.config.load import apply_override, build_config, dump_config, idle_overrides, load_config, read_toml
from seqloom.config.sections import (
    SECTIONS,
    Config,
    DataConfig,
    ModelConfig,
    TaskConfig,
    TextConfig,
    TrainConfig,
)
from seqloom.config.tables import ACTIVATIONS, ATTENTIONS, CELLS, DECODERS, NORMS, OPTIMIZERS, POSITIONS
from seqloom.config.tasks import SHAPES, TASKS, TaskRecord, tasks_of

__all__ = [
    "ACTIVATIONS",
    "ATTENTIONS",
    "CELLS",
    "DECODERS",
    "FAMILIES",
    "NORMS",
    "OPTIMIZERS",
    "POSITIONS",
    "SECTIONS",
    "SHAPES",
    "TASKS",
    "Config",
    "DataConfig",
    "Family",
    "ModelConfig",
    "TaskConfig",
    "TaskRecord",
    "TextConfig",
    "TrainConfig",
    "apply_override",
    "build_config",
    "dump_config",
    "families_of",
    "idle_overrides",
    "load_config",
    "read_toml",
    "tasks_of",
]
