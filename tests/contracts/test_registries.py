"""The names a recipe may use (config.py, free of torch) are the names of the registries beside the classes."""

from seqloom import config
from seqloom.models.build import MODELS
from seqloom.nn.cells import CELLS
from seqloom.nn.positions import POSITIONS
from seqloom.nn.scores import SCORES


def test_config_names_every_registry_entry() -> None:
    assert tuple(MODELS) == config.MODELS
    assert tuple(CELLS) == config.CELLS
    assert ("none", *SCORES) == config.ATTENTIONS
    assert tuple(POSITIONS) == config.POSITIONS
