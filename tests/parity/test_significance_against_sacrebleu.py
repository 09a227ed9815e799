"""Stars beside those of sacrebleu's two tests, and under the null hypothesis: `benchmarks/significance.py` in small."""

import importlib.util
import random
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "significance.py"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("benchmark_significance", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def references():
    draw = random.Random(7)
    return [" ".join(draw.choices([f"w{n}" for n in range(300)], k=draw.randint(6, 16))) for _ in range(150)]


@pytest.mark.slow
def test_p_is_that_of_approximate_randomisation(benchmark, references):
    """The gaps of the error rates reach from nothing to much, so that both kinds of verdict occur.

    The p of sacrebleu's bootstrap is about half as large: it looks at one tail of the absolute differences.
    """
    gaps = (0, 0, 0, 0, 0.02, 0.3, 0.3)
    found = [benchmark.all_p(benchmark.make_pair(references, gap, seed), "bleu") for seed, gap in enumerate(gaps)]
    assert max(abs(one["seqloom"] - one["ar"]) for one in found) < 0.05  # a thousand draws against ten thousand
    assert all(one["bs"] <= one["seqloom"] for one in found)
    assert {one["seqloom"] < 0.05 for one in found} == {True, False}


def test_equal_systems_rarely_get_a_star(benchmark, references):
    found = [benchmark.our_p(pair, "bleu") for pair in benchmark.null_pairs(references, 60, 50)]
    assert np.mean(np.array(found) < 0.05) <= 0.12  # 5 % and two standard errors
    assert 0.3 < np.mean(found) < 0.7  # p is spread evenly: the test does not just refuse all


def test_one_lucky_sentence_is_no_proof(benchmark, references):
    """Approximate randomisation as sacrebleu runs it counts no ties, and every shuffle of one lucky sentence is one."""
    found = benchmark.all_p(benchmark.lopsided_pair(references[:100], 1), "bleu")
    assert found["seqloom"] > 0.6  # twice the 36.6 % of resamples without that sentence
    assert found["ar"] < 0.001
