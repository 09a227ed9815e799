"""The names a recipe may use stand in torch-free tables in config, the classes in registries: both agree."""

from importlib import import_module

import pytest

from seqloom import config
from seqloom.config import tables as named
from seqloom.models.build import FAMILIES, MODELS

# config's table: (where the registry is, the names that mean "none of them")
REGISTRIES = {
    "CELLS": ("seqloom.nn.cells:CELLS", set()),
    "ATTENTIONS": ("seqloom.nn.scores:SCORES", {"none"}),
    "DECODERS": ("seqloom.models.rnn:DECODERS", set()),
    "POSITIONS": ("seqloom.nn.positions:POSITIONS", set()),
    "ACTIVATIONS": ("seqloom.nn.blocks:ACTIVATIONS", set()),
    "TASKS": ("seqloom.tasks.build:TASKS", set()),
    "TOKENIZERS": ("seqloom.text.learn:LEARNERS", {"foreign"}),
    "TARGET_TOKENIZERS": ("seqloom.text.learn:LEARNERS", {"same", "foreign"}),
    "OPTIMIZERS": ("seqloom.train.optim:OPTIMIZERS", set()),
    "SCHEDULES": ("seqloom.train.optim:SCHEDULES", set()),
}


@pytest.mark.parametrize("table", REGISTRIES)
def test_a_table_of_names_equals_its_registry(table):
    place, none = REGISTRIES[table]
    module, _, name = place.partition(":")
    names = tuple(getattr(named, table))
    assert len(names) == len(set(names))
    assert set(names) - none == set(getattr(import_module(module), name))
    assert none <= set(names)


def test_every_table_is_used_by_a_setting():
    fields = [field for kind in config.SECTIONS.values() for field in kind.__dataclass_fields__.values()]
    used = {field.metadata["allowed"] for field in fields if "allowed" in field.metadata} - {tuple(config.TASKS)}
    tables = {value for name, value in vars(named).items() if name.isupper() and isinstance(value, tuple)}
    assert used == tables


def test_every_task_has_the_families_of_models_that_its_table_names():
    for task, (_, kinds) in config.TASKS.items():
        assert set(kinds) == set(FAMILIES.get(task, MODELS)), task
    assert set(config.MODELS) == {kind for _, kinds in config.TASKS.values() for kind in kinds}
