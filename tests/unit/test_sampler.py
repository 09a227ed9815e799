"""The sampler: every pair gets its turn, budgets are kept, padding is small, and only (seed, epoch) decides."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.config import DataConfig
from seqloom.data.corpus import CorpusSpec, usable_pairs
from seqloom.data.sampler import Sampler, padding_share
from seqloom.errors import UsageError
from seqloom.text.learn import learn_tokenizer


def lengths(number, seed=0, mean=14):
    """Lengths as translations have them: the target a little longer or shorter than the source."""
    draw = np.random.default_rng(seed)
    source = np.clip(draw.gamma(6, mean / 6, number), 1, 100).astype(np.int32)
    target = np.clip(source * draw.normal(1.05, 0.15, number), 1, 100).astype(np.int32)
    return source, target


def batches(sampler, epoch=0):
    plan = sampler.epoch(epoch)
    return [plan[index] for index in range(len(plan))]


@settings(max_examples=60)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=120),
    batch_tokens=st.integers(31, 200),
    epoch=st.integers(0, 5),
)
def test_each_pair_once_and_both_budgets_kept(pairs, batch_tokens, epoch):
    source, target = np.array(pairs, np.int32).reshape(-1, 2).T
    dealt = batches(Sampler(source, target, batch_tokens, seed=3), epoch)
    assert sorted(index for batch in dealt for index in batch) == list(range(len(pairs)))
    for batch in dealt:
        assert len(batch) * (source[batch].max() + 1) <= batch_tokens
        assert len(batch) * (target[batch].max() + 1) <= batch_tokens
        assert batch.dtype == np.int64


def test_a_pure_function_of_seed_and_epoch():
    source, target = lengths(2000)

    def dealt(seed, epoch):
        return [tuple(batch) for batch in batches(Sampler(source, target, 512, seed), epoch)]

    sampler = Sampler(source, target, 512, 1)
    sampler.epoch(7)  # earlier epochs leave no trace
    assert [tuple(batch) for batch in batches(sampler, 2)] == dealt(1, 2)
    assert dealt(1, 2) != dealt(1, 3)
    assert dealt(1, 2) != dealt(2, 2)


def test_long_and_short_batches_are_shuffled():
    source, target = lengths(5000)
    widths = [int(target[batch].max()) for batch in batches(Sampler(source, target, 512, 1))]
    rises = sum(a < b for a, b in pairwise(widths))
    assert 0.3 < rises / len(widths) < 0.7


def test_pairs_of_equal_length_meet_others_each_epoch():
    same = np.full(1000, 9, np.int32)
    sampler = Sampler(same, same, 100, 1)
    first, second = ({frozenset(batch) for batch in batches(sampler, epoch)} for epoch in (0, 1))
    assert len(first) == 100 and not first & second


def test_batches_are_full_and_the_last_is_not_tiny():
    same = np.full(1001, 9, np.int32)  # 100 batches of 10, and one row that is left
    sizes = sorted(len(batch) for batch in batches(Sampler(same, same, 100, 1)))
    assert sizes == [5, 6] + [10] * 99
    source, target = lengths(20_000)
    dealt = batches(Sampler(source, target, 2048, 1))
    cells = [len(batch) * (1 + max(source[batch].max(), target[batch].max())) for batch in dealt]
    assert np.mean(cells) > 0.95 * 2048 and min(cells) > 0.3 * 2048


def test_one_long_pair_after_many_short_ones_keeps_the_budget():
    source = np.array([4] * 20 + [49], np.int32)
    sizes = sorted(len(batch) for batch in batches(Sampler(source, source, 100, 1)))
    assert sizes == [2, 19]  # not 10 and 11: the last two share as evenly as the budget allows


@pytest.mark.parametrize(("batch_tokens", "most"), [(1024, 0.02), (4096, 0.03), (16384, 0.06)])
def test_little_padding(batch_tokens, most):
    source, target = lengths(50_000)
    plan = Sampler(source, target, batch_tokens, 1).epoch(0)
    assert padding_share(plan, source, target) < most


def test_padding_share_counts_cells_of_both_sides():
    source, target = np.array([1, 3], np.int32), np.array([4, 4], np.int32)
    plan = Sampler(source, target, 10, 1).epoch(0)
    assert len(plan) == 1 and padding_share(plan, source, target) == pytest.approx(2 / 18)


@pytest.mark.data
def test_padding_on_multi30k_is_below_five_percent(data_dir):
    folder = data_dir / "multi30k"
    spec = CorpusSpec.parse(f"{folder / 'train.en.gz'},{folder / 'train.de.gz'}")
    pairs = [(pair.source, pair.targets[0]) for pair in usable_pairs(spec, DataConfig())]
    assert len(pairs) == 29_000
    tokenizer = learn_tokenizer("bpe", (text for pair in pairs[:5000] for text in pair), 8000)
    source, target = (
        np.array([len(ids) for ids in tokenizer.encode_batch(list(texts))], np.int32)
        for texts in zip(*pairs, strict=True)
    )
    assert padding_share(Sampler(source, target, 4096, 1).epoch(0), source, target) < 0.04


def test_a_pair_beyond_the_budget_is_refused():
    lengths = np.array([3, 99, 5], np.int32)
    short = np.array([3, 3, 3], np.int32)
    for source, target in [(lengths, short), (short, lengths)]:
        with pytest.raises(UsageError, match=r"batch_tokens = 99 .* 100 tokens"):
            Sampler(source, target, 99, 1)
        assert len(Sampler(source, target, 100, 1).epoch(0)) > 1


def test_nothing_to_deal():
    none = np.empty(0, np.int32)
    assert len(Sampler(none, none, 100, 1).epoch(0)) == 0


# ---- weights


def counts(sampler, epoch):
    return Counter(int(index) for batch in batches(sampler, epoch) for index in batch)


def weighted(weights, sizes, seed=1):
    source, target = lengths(sum(sizes))
    corpora = np.repeat(np.arange(len(sizes), dtype=np.uint16), sizes)
    return Sampler(source, target, 512, seed, corpora, weights), corpora


def test_whole_weights_repeat_each_pair():
    sampler, corpora = weighted([1, 2], [40, 60])
    assert counts(sampler, 0) == {index: int(corpora[index]) + 1 for index in range(100)}


def test_a_fraction_takes_turns():
    sampler, corpora = weighted([1, 0.25], [40, 200])
    seen = [counts(sampler, epoch) for epoch in range(8)]
    for count in seen:
        assert all(count[index] == 1 for index in range(40))
        assert sum(number for index, number in count.items() if corpora[index] == 1) == 50
    assert seen[0] != seen[1]
    assert all(sum(count[index] for count in seen[:4]) == 1 for index in range(40, 240))  # all had their turn
    assert all(sum(count[index] for count in seen) == 2 for index in range(40, 240))


def test_a_mixed_weight_is_whole_plus_fraction_in_the_long_run():
    sampler, _ = weighted([1.3], [70])
    total = sum((counts(sampler, epoch) for epoch in range(10)), Counter())
    assert set(total.values()) == {13}
    assert set(counts(sampler, 3).values()) == {1, 2}


def test_weights_of_one_change_nothing():
    source, target = lengths(300)
    plain = [tuple(batch) for batch in batches(Sampler(source, target, 512, 1))]
    corpora = np.zeros(300, np.uint16)
    assert [tuple(b) for b in batches(Sampler(source, target, 512, 1, corpora, [1.0]))] == plain


def test_a_tiny_weight_may_give_an_epoch_nothing():
    sampler, _ = weighted([0.001], [100])
    assert [len(sampler.epoch(epoch)) for epoch in (0, 9)] == [0, 1]
