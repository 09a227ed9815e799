"""The models that are shipped: their sizes, their cards, and the outputs that they were packed with."""

import pytest

import seqloom
from seqloom.runtime.bundled import BOX, LINEAGE, NAMES, is_installed
from seqloom.runtime.folder import read_facts
from seqloom.workflows.check_folder import check_golden

MB = 1_000_000
pytestmark = pytest.mark.skipif(not is_installed("en-fr"), reason="this tree has no bundled models")


def size(*names: str) -> int:
    return sum(file.stat().st_size for name in names for file in (BOX / name).rglob("*") if file.is_file())


def test_they_are_as_small_as_promised():
    assert size("en-fr") < 10 * MB and size("fr-en") < 10 * MB
    assert size(*LINEAGE) < 20 * MB
    assert size("pronounce") < 4 * MB


@pytest.mark.parametrize("name", NAMES)
def test_a_model_has_a_card_and_gives_the_outputs_that_it_was_packed_with(name):
    card, facts = (BOX / name / "card.md").read_text("utf-8"), read_facts(BOX / name)
    assert "| Training data |" in card and "| Scores, 95 % intervals |" in card
    assert "## What it must not be used for" in card
    assert facts.licence and facts.licence in card
    assert facts.measured and facts.measured in card
    assert check_golden(BOX / name) >= 3


def test_words_are_pronounced_in_any_case():
    model = seqloom.load("pronounce")
    assert model.translate("sequence") == model.translate("SEQUENCE") == "S IY K W AH N S"


def test_the_first_translations_are_right():
    """By the engine that the command line uses, whose arithmetic differs a little from torch's."""
    assert seqloom.load().translate("They are watching.") == "Ils regardent."
    assert seqloom.load("fr-en").translate("Il est riche.") == "He is rich."
