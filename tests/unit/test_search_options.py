"""The options of a search are checked in one place; each refusal says what was got and what is allowed."""

import subprocess
import sys

import pytest
import torch

from seqloom.decode.options import SearchRequest, check_vocabulary
from seqloom.decode.search import search
from seqloom.errors import UsageError


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"beam": 0}, "beam = 0: want 1 to 1000"),
        ({"beam": 1001}, "beam = 1001"),
        ({"beam": 2, "n_best": 3}, "beam = 2, n_best = 3: want 1 <= n_best <= beam <= 1000"),
        ({"n_best": 0}, "n_best = 0"),
        ({"length_penalty": -0.1}, "length_penalty = -0.1: want 0 to 10"),
        ({"length_penalty": float("nan")}, "length_penalty = nan: want 0 to 10"),
        ({"length_penalty": 1e300}, "want 0 to 10"),
        ({"coverage_penalty": -1.0}, "coverage_penalty = -1.0: want 0 to 10"),
        ({"min_length": -1}, "min_length = -1: want 0 (off) or more"),
        ({"no_repeat_ngram": -2}, "no_repeat_ngram = -2: want 0 (off) or more"),
        ({"max_length": 0}, "max_length = 0: want at least 1 token"),
        ({"max_length": 4, "min_length": 4}, "min_length = 4: want less than max_length = 4"),
    ],
)
def test_a_wrong_option_of_a_search(wrong, said):
    with pytest.raises(UsageError) as caught:
        SearchRequest(**wrong).check()
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"sample": 0}, "sample = 0: want 1 to 1000"),
        ({"sample": 1001}, "sample = 1001: want 1 to 1000"),
        ({"seed": -1}, "seed = -1: want 0 or more"),
        ({"temperature": 0.0}, "temperature = 0.0: want 0.01 to 100"),
        ({"temperature": float("nan")}, "temperature = nan"),
        ({"temperature": float("inf")}, "temperature = inf"),
        ({"top_k": -1}, "top_k = -1: want 0 (off) or more"),
        ({"top_p": 0.0}, "top_p = 0.0: want above 0 up to 1"),
        ({"top_p": 1.1}, "top_p = 1.1: want above 0 up to 1"),
    ],
)
def test_a_wrong_option_of_sampling(wrong, said):
    with pytest.raises(UsageError) as caught:
        SearchRequest(**{"sample": 1, **wrong}).check()
    assert said in str(caught.value)


def test_all_faults_are_named_at_once():
    with pytest.raises(UsageError, match=r"beam = 0.*min_length = -1"):
        SearchRequest(beam=0, min_length=-1).check()


def test_what_is_just_allowed():
    SearchRequest(beam=1000, n_best=1000, length_penalty=10, coverage_penalty=0, min_length=3, max_length=4).check()
    SearchRequest(sample=1000, temperature=0.01, top_k=1, top_p=1e-9).check()
    check_vocabulary(9, 9, "beam = 9")


def test_a_beam_larger_than_the_vocabulary():
    with pytest.raises(UsageError, match="beam = 10: the model's vocabulary has 9 tokens; want at most that many"):
        check_vocabulary(10, 9, "beam = 10")


def test_a_minimum_that_a_source_has_no_room_for(make_model, five):
    """The shortest source has one token, so 2 x 1 + 50 may be written, the end among them."""
    model = make_model(0)
    memory = model.encode(*five)
    found = search(model, memory, beam=1, min_length=51)
    assert all(len(best.ids) >= 51 for (best,) in found)
    with pytest.raises(UsageError, match="min_length = 52: the output for a source of 1 tokens is cut at 52"):
        search(model, memory, beam=1, min_length=52)


def test_limits_are_those_of_each_source():
    options = SearchRequest().filled()
    assert options.limits(torch.tensor([4, 7])).tolist() == [58, 64] == [options.limit(4), options.limit(7)]
    assert SearchRequest(max_length=9).filled().limits(torch.tensor([4, 7])).tolist() == [9, 9]


def test_checking_needs_no_torch():
    code = "import sys; from seqloom.decode.options import SearchRequest; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0
