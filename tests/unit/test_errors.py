"""Exit codes are an interface: scripts rely on them."""

import pytest

from seqloom import errors


@pytest.mark.parametrize(
    ("name", "code"), [("UsageError", 2), ("DataError", 3), ("ModelError", 4), ("TrainingError", 5)]
)
def test_each_class_has_its_exit_code(name, code):
    error = getattr(errors, name)("what happened")
    assert isinstance(error, errors.SeqloomError)
    assert error.exit_code == code
    assert str(error) == "what happened"


def test_an_interruption_carries_the_code_of_its_signal():
    assert errors.Interrupted("saved", 143).exit_code == 143
    assert errors.Interrupted("saved", 130).exit_code == 130
    assert str(errors.Interrupted("saved", 130)) == "saved"


def test_a_near_miss_gets_a_suggestion_and_a_far_one_none():
    assert errors.did_you_mean("attenton", ["attention", "cell"]) == " Did you mean 'attention'?"
    assert errors.did_you_mean("zzz", ["attention", "cell"]) == ""
    assert errors.did_you_mean("x", []) == ""
    assert (
        errors.did_you_mean("bahdanau", ["bahdanau2015-rnnsearch50", "b"])
        == " Did you mean 'bahdanau2015-rnnsearch50'?"
    )
    assert errors.did_you_mean("ladder", ["ladder/rnn-of-one-layer", "ladder/lstm-of-four-layers"]) == ""
