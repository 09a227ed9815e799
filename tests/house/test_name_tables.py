"""The names a recipe may use stand in torch-free tables in config, the classes in registries: both agree."""

from importlib import import_module

import pytest

from seqloom import config

# config's table: (where the registry is, the names that mean "none of them")
REGISTRIES = {
    "MODELS": ("seqloom.models.build:MODELS", set()),
    "CELLS": ("seqloom.nn.cells:CELLS", set()),
    "ATTENTIONS": ("seqloom.nn.scores:SCORES", {"none"}),
    "DECODERS": ("seqloom.models.rnn:DECODERS", set()),
    "POSITIONS": ("seqloom.nn.positions:POSITIONS", set()),
    "TOKENIZERS": ("seqloom.text.learn:LEARNERS", set()),
    "TARGET_TOKENIZERS": ("seqloom.text.learn:LEARNERS", {"same"}),
    "OPTIMIZERS": ("seqloom.train.optim:OPTIMIZERS", set()),
    "SCHEDULES": ("seqloom.train.optim:SCHEDULES", set()),
}


@pytest.mark.parametrize("table", REGISTRIES)
def test_a_table_of_names_equals_its_registry(table):
    place, none = REGISTRIES[table]
    module, _, name = place.partition(":")
    names = getattr(config, table)
    assert len(names) == len(set(names))
    assert set(names) - none == set(getattr(import_module(module), name))
    assert none <= set(names)


def test_every_table_is_used_by_a_setting():
    fields = [field for kind in config.SECTIONS.values() for field in kind.__dataclass_fields__.values()]
    used = {field.metadata["allowed"] for field in fields if "allowed" in field.metadata}
    tables = {value for name, value in vars(config).items() if name.isupper() and isinstance(value, tuple)}
    assert used == tables
