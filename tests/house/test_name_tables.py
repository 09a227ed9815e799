"""The names that a setting may have are in torch-free tables of config/, the classes in registries: both agree."""

from importlib import import_module

import pytest

from seqloom import config
from seqloom.config import FAMILIES, SHAPES, TASKS, families_of
from seqloom.config import tables as named
from seqloom.config.tasks import LONG_INPUTS
from seqloom.data.forms import LINE
from seqloom.metrics.measures import METRICS
from seqloom.tasks.build import LOSSES

# config's table: (where the registry is, the names that mean "none of them")
REGISTRIES = {
    "CELLS": ("seqloom.nn.cells:CELLS", set()),
    "ATTENTIONS": ("seqloom.nn.scores:SCORES", {"none"}),
    "DECODERS": ("seqloom.models.rnn:DECODERS", set()),
    "POSITIONS": ("seqloom.nn.positions:POSITIONS", set()),
    "ACTIVATIONS": ("seqloom.nn.blocks:ACTIVATIONS", set()),
    "TOKENIZERS": ("seqloom.text.learn:LEARNERS", {"foreign"}),
    "TARGET_TOKENIZERS": ("seqloom.text.learn:LEARNERS", {"same", "foreign"}),
    "OPTIMIZERS": ("seqloom.training.optimizers:OPTIMIZERS", set()),
    "SCHEDULES": ("seqloom.training.schedules:SCHEDULES", set()),
}
# registries keyed by the shape of a task's answers: each must know every shape
BY_SHAPE = {
    "model builder": "seqloom.models.build:BUILDERS",
    "loss": "seqloom.tasks.build:LOSSES",
    "answerer": "seqloom.runtime.answering:ANSWERERS",
    "subject of explain": "seqloom.inside.prepare:PREPARERS",
    "evaluation": "seqloom.workflows.evaluate:MEASURES",
    "validation sample": "seqloom.training.samples:SAMPLES",
}


def registry(place: str) -> dict:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


@pytest.mark.parametrize("table", REGISTRIES)
def test_a_table_of_names_equals_its_registry(table):
    place, none = REGISTRIES[table]
    names = getattr(named, table)
    assert set(names) - none == set(registry(place)), (
        f"config/tables.py {table} and {place} must have the same names: add the missing one"
    )
    assert none <= set(names)


def test_every_table_is_used_by_a_setting():
    fields = [field for kind in config.SECTIONS.values() for field in kind.__dataclass_fields__.values()]
    used = {id(field.metadata["allowed"]) for field in fields if "allowed" in field.metadata}
    tables = {name for name, value in vars(named).items() if name.isupper() and isinstance(value, dict)}
    unused = {name for name in tables if id(getattr(named, name)) not in used}
    assert not unused, f"config/tables.py: no setting reads {unused}; delete it or use it in config/sections.py"


@pytest.mark.parametrize("what", BY_SHAPE)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_registry_knows_every_shape(what, shape):
    assert shape in registry(BY_SHAPE[what]), f"{BY_SHAPE[what]} has no {what} for tasks of shape {shape!r}: add a row"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_a_builder_for_each_of_its_shapes_and_no_other(family):
    built = {shape for shape, builders in registry(BY_SHAPE["model builder"]).items() if family in builders}
    assert built == set(FAMILIES[family].shapes)


@pytest.mark.parametrize("task", TASKS)
def test_a_task_record_names_only_what_exists(task):
    from seqloom.config.recipes import find_recipe

    record = TASKS[task]
    assert record.form in LINE
    assert record.shape in SHAPES
    assert record.long_inputs in LONG_INPUTS
    assert families_of(record.shape)
    assert set(record.metrics) <= set(METRICS)
    assert (record.loss or record.shape) in LOSSES
    for recipe in filter(None, (record.recipe, record.fine_tune_recipe)):
        assert find_recipe(recipe).is_file()
    assert bool(record.metrics) == SHAPES[record.shape].translates
