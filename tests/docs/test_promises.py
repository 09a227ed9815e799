"""The promises of the pages are tested: named tests exist, the table is whole, and every cell has a scene."""

import re
from pathlib import Path

import pytest

from tests.faults.promises import FAULTS, STAGES, read_table
from tests.faults.scenes import SCENES

ROOT = Path(__file__).parents[2]


def test_every_test_that_the_threat_model_names_exists():
    page = (ROOT / "docs" / "threat-model.md").read_text("utf-8")
    named = set(re.findall(r"`(tests/[\w./]+)`", page))
    assert len(named) > 15
    assert not [name for name in named if not (ROOT / name).exists()]


def test_every_stage_is_tried():
    assert len(read_table()) == len(STAGES) * len(FAULTS)
    assert set(STAGES) - set(SCENES) == {"serve"}, "serve has a file of its own: tests/faults/test_serve_faults.py"


@pytest.mark.parametrize("wrong", ["| exit 7 ", "| nothing "])
def test_a_table_with_an_unknown_word_is_refused(wrong):
    from tests.faults.promises import TABLE

    with pytest.raises(AssertionError, match="not the words above"):
        read_table(TABLE.replace("| drained ", wrong, 1))
