"""Settings: frozen dataclasses, filled from a TOML recipe and `a.b=value` overrides; all errors at once."""

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
from seqloom.config.tables import ACTIVATIONS, ATTENTIONS, CELLS, DECODERS, MODELS, NORMS, OPTIMIZERS, POSITIONS, TASKS

__all__ = [
    "ACTIVATIONS",
    "ATTENTIONS",
    "CELLS",
    "DECODERS",
    "MODELS",
    "NORMS",
    "OPTIMIZERS",
    "POSITIONS",
    "SECTIONS",
    "TASKS",
    "Config",
    "DataConfig",
    "ModelConfig",
    "TaskConfig",
    "TextConfig",
    "TrainConfig",
    "apply_override",
    "build_config",
    "dump_config",
    "idle_overrides",
    "load_config",
    "read_toml",
]
