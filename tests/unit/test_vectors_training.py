"""word2vec and GloVe: the equations against autograd and differences, the blocks against the equations; learning."""

import itertools
import random as chance
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from seqloom.errors import DataError, TrainingError, UsageError
from seqloom.vectors import glove, train_word2vec
from seqloom.vectors.cbow import cbow_gradients, cbow_loss
from seqloom.vectors.context_windows import WindowMaker
from seqloom.vectors.cooccurrence import count_pairs
from seqloom.vectors.settings import METHODS, VectorSettings
from seqloom.vectors.skipgram import skip_gram_gradients, skip_gram_loss
from seqloom.vectors.team import Team
from seqloom.vectors.train import train_vectors
from seqloom.vectors.train_word2vec import make_windows
from seqloom.vectors.word2vec import keep_chances, noise_table, pair_gradients, pair_loss, sigmoid
from seqloom.vectors.words import WordCorpus, read_corpus

E, K = 4, 5


@pytest.fixture(scope="module")
def toy() -> WordCorpus:
    """Animals eat, machines run: words of one kind have the same neighbours and never meet."""
    draw = chance.Random(5)
    texts = []
    for _ in range(1500):
        kind = draw.choice([(["cat", "dog", "cow"], ["eats", "drinks"]), (["car", "bus", "train"], ["runs", "stops"])])
        texts.append(["the", draw.choice(kind[0]), draw.choice(kind[1]), draw.choice(["today", "now"])])
    return read_corpus(texts, 1, "toy")


def small_windows(window=2, block_size=3, seed=0, texts=("abcab", "ca", "b", "bcbca")):
    corpus = read_corpus([list(text) for text in texts], 1, "t")
    maker = WindowMaker(corpus, np.ones(3, np.float32), noise_table(corpus.counts), window, block_size, 4, 99)
    ((share, blocks),) = maker.batches(np.random.default_rng(seed))
    assert share == 0
    return corpus, maker.draw(blocks, np.random.default_rng(seed))


def tables(seed=1):
    torch.manual_seed(seed)
    return torch.randn(4, E, dtype=torch.float64), torch.randn(4, E, dtype=torch.float64)


def test_the_gradients_of_a_pair_are_the_slopes_of_its_loss():
    random = np.random.default_rng(2)
    v, u, noise = random.normal(size=E), random.normal(size=E), random.normal(size=(3, E))
    analytic = pair_gradients(v, u, noise, K)
    for given, gradient in zip((v, u, noise), analytic, strict=True):
        for place in np.ndindex(given.shape):
            kept = given[place]
            given[place] = kept + 1e-6
            above = pair_loss(v, u, noise, K)
            given[place] = kept - 1e-6
            below = pair_loss(v, u, noise, K)
            given[place] = kept
            assert gradient[place] == pytest.approx((above - below) / 2e-6, abs=1e-6)


def test_windows_hold_the_words_of_the_text_and_those_near_them():
    """Every word once in a block; near are words of the same text, no farther than its own draw, never itself."""
    corpus, windows = small_windows()
    number = len(corpus.words)
    assert sorted(windows.words[windows.words < number].tolist()) == sorted(corpus.ids.tolist())
    near = windows.near.bool()
    for block, place in itertools.product(range(len(near)), range(3)):
        columns = near[block, place].nonzero().flatten() - place - 2
        assert 0 not in columns
        assert (columns.abs() <= 2).all()
        if windows.words[block, place] == number:
            assert not len(columns)
    # Neighbours of distance 1 are always near, in both directions: 4 + 1 + 0 + 4 couples in the four texts.
    couples = [(block, place, c) for block, place, c in near.nonzero().tolist() if abs(c - place - 2) == 1]
    assert len(couples) == 2 * (4 + 1 + 0 + 4)
    assert (near.sum() > len(couples)) and near.sum() < 2 * (4 + 3 + 1 + 4 + 3)


def test_near_is_cut_where_texts_end():
    _, windows = small_windows(window=3, texts=("ab", "ca", "bc"))
    ids = windows.around
    for block, place, column in windows.near.nonzero().tolist():
        pair = "".join(sorted("abc"[i] for i in (windows.words[block, place], ids[block, column])))
        assert pair in ("ab", "ac", "bc")
    assert windows.near.sum() == 6  # each word has one other in its text


def test_a_text_that_is_left_out_wholly_makes_a_batch_of_nothing():
    corpus = read_corpus([["a", "b"]], 1, "t")
    maker = WindowMaker(corpus, np.zeros(2, np.float32), noise_table(corpus.counts), 2, 3, 4, 9)
    ((_, blocks),) = maker.batches(np.random.default_rng(0))
    windows = maker.draw(blocks, np.random.default_rng(0))
    assert windows.near.sum() == 0
    for gradients in (skip_gram_gradients, cbow_gradients):
        found = gradients(windows, *(table.float() for table in tables()), K)
        assert all((gradient == 0).all() for _, gradient in found.of_v + found.of_u)


def reference_pairs(windows):
    """(row of v or its mean, row of u, rows of noise) of every pair, one by one."""
    for block, place in itertools.product(*map(range, windows.words.shape)):
        for column in windows.near[block, place].nonzero().flatten():
            yield windows.words[block, place], windows.around[block, column], windows.noise[block]


def test_blocks_of_skip_gram_sum_up_the_pairs():
    _, windows = small_windows()
    windows = type(windows)(windows.words, windows.around, windows.near.double(), windows.noise)
    v, u = tables()
    total, num_pairs = skip_gram_loss(windows, v, u, K)
    dv, du, loss, number = np.zeros((4, E)), np.zeros((4, E)), 0.0, 0
    for c, o, noise in reference_pairs(windows):
        given = v[c].numpy(), u[o].numpy(), u[noise].numpy()
        loss, number = loss + pair_loss(*given, K), number + 1
        of_v, of_u, of_noise = pair_gradients(*given, K)
        dv[c] += of_v
        du[o] += of_u
        np.add.at(du, noise.numpy(), of_noise)
    assert (float(total), int(num_pairs)) == (pytest.approx(loss), number)
    found = skip_gram_gradients(windows, v, u, K)
    np.testing.assert_allclose(summed(found.of_v), dv, atol=1e-12)
    np.testing.assert_allclose(summed(found.of_u), du, atol=1e-12)


def test_cbow_predicts_a_word_from_the_mean_of_those_near():
    _, windows = small_windows()
    windows = type(windows)(windows.words, windows.around, windows.near.double(), windows.noise)
    v, u = tables()
    loss, number = 0.0, 0
    for block, place in itertools.product(*map(range, windows.words.shape)):
        near = windows.around[block, windows.near[block, place].bool()]
        if len(near):
            given = v[near].mean(0).numpy(), u[windows.words[block, place]].numpy(), u[windows.noise[block]].numpy()
            loss, number = loss + pair_loss(*given, K), number + 1
    total, num_words = cbow_loss(windows, v, u, K)
    assert (float(total), int(num_words)) == (pytest.approx(loss), number)


@pytest.mark.parametrize(
    ("loss", "gradients"),
    [(skip_gram_loss, skip_gram_gradients), (cbow_loss, cbow_gradients)],
    ids=["skipgram", "cbow"],
)
def test_gradients_are_those_of_autograd(loss, gradients):
    _, windows = small_windows(window=3, block_size=4)
    windows = type(windows)(windows.words, windows.around, windows.near.double(), windows.noise)
    v, u = (table.requires_grad_() for table in tables())
    loss(windows, v, u, K)[0].backward()
    found = gradients(windows, v.detach(), u.detach(), K)
    np.testing.assert_allclose(summed(found.of_v), v.grad, atol=1e-12)
    np.testing.assert_allclose(summed(found.of_u), u.grad, atol=1e-12)


def summed(rows):
    """Gradients as one step applies them, by the trainer's own hand."""
    table = torch.zeros(4, E, dtype=torch.float64)
    train_word2vec.descend(table, [(ids, gradient.clone()) for ids, gradient in rows], torch.ones(4, 1).double(), -1.0)
    return table


def test_frequent_words_are_left_out_by_chance_and_noise_is_drawn_by_count():
    counts = np.array([600_000, 399_000, 1000, 16], np.int64)
    keep = keep_chances(counts)
    f = counts / counts.sum()
    np.testing.assert_allclose(keep[:2], np.sqrt(1e-3 / f[:2]) + 1e-3 / f[:2], rtol=1e-5)
    assert keep[2] == keep[3] == 1
    shares = np.bincount(noise_table(counts)) / len(noise_table(counts))
    np.testing.assert_allclose(shares, counts**0.75 / (counts**0.75).sum(), rtol=0.05, atol=2e-6)
    assert shares.min() > 0
    assert sigmoid(np.zeros(1)) == 0.5


def test_a_frequent_word_takes_smaller_steps(toy):
    """With too many gradients at once the vectors fly apart."""
    for method, rate, pairs in (("skipgram", 0.035, 6), ("cbow", 0.1, 1)):
        settings = VectorSettings(method)
        maker = make_windows(toy, settings)
        kept = keep_chances(toy.counts) * toy.counts
        words_at_once = maker.blocks_at_once * maker.block_size
        number = words_at_once * pairs * (1 + 5) * kept / kept.sum()  # of gradients that a batch adds up for v
        slow_v, slow_u = train_word2vec.slowed(maker, settings)
        np.testing.assert_allclose(slow_v[:-1, 0], np.minimum(1, 10 / rate / number), rtol=1e-5)
        assert slow_v.min() < 1
        assert slow_v.min() >= 0.33 or maker.blocks_at_once == 1
        assert slow_v[-1] == slow_u[-1] == 1


def test_a_rare_word_is_not_slowed():
    texts = [[f"w{n}", "the"] for n in range(300)]
    corpus = read_corpus(texts, 1, "t")
    slow_v, slow_u = train_word2vec.slowed(make_windows(corpus, VectorSettings()), VectorSettings())
    assert slow_u[0] < 1  # as noise it comes up in every block
    assert (slow_v[1:] == 1).all()
    assert (slow_u[1:] == 1).all()


def test_co_occurrence_counts_by_distance(monkeypatch):
    texts = [list("abcab"), list("cc"), list("ba")]
    corpus = read_corpus(texts, 1, "t")
    want: dict[tuple[str, str], float] = {}
    for text in texts:
        for i, j in itertools.permutations(range(len(text)), 2):  # every place, and all that is near it
            if abs(j - i) <= 3 and corpus.words.index(text[i]) <= corpus.words.index(text[j]):
                want[text[i], text[j]] = want.get((text[i], text[j]), 0) + 1 / abs(j - i)
    assert want["c", "c"] == 2
    for words_at_once in (1, 4, 1 << 18):  # parts of a text are counted apart and added up
        monkeypatch.setattr("seqloom.vectors.cooccurrence.WORDS_AT_ONCE", words_at_once)
        i, j, x = count_pairs(corpus, 3)
        found = {(corpus.words[a], corpus.words[b]): float(c) for a, b, c in zip(i, j, x, strict=True)}
        assert found == pytest.approx(want)
    assert [len(part) for part in count_pairs(read_corpus([["a"], ["b"]], 1, "t"), 3)] == [0, 0, 0]


def test_gloves_gradients_are_half_of_autograds():
    torch.manual_seed(0)
    w, c = (torch.randn(6, E + 1, dtype=torch.float64, requires_grad=True) for _ in range(2))
    x = torch.tensor([0.2, 1, 5, 10, 20, 300], dtype=torch.float64)
    loss = glove.glove_loss(w, c, x)
    by_hand = sum(
        min(1, (n / 10) ** 0.75) * (a[:-1] @ b[:-1] + a[-1] + b[-1] - np.log(n)) ** 2
        for a, b, n in zip(w.detach().numpy(), c.detach().numpy(), x.numpy(), strict=True)
    )
    assert loss.item() == pytest.approx(by_hand)
    loss.backward()
    dw, dc, J = glove.glove_gradients(w.detach(), c.detach(), x)
    torch.testing.assert_close(2 * dw, w.grad)
    torch.testing.assert_close(2 * dc, c.grad)
    assert float(J) == pytest.approx(by_hand)


def test_adagrad_steps_word_by_word():
    half = glove.Half(torch.zeros(3, 2), torch.ones(3, 2))
    parts = [(torch.tensor([2, 0]), torch.tensor([[1.0, 0], [3, 4]])), (torch.tensor([2]), torch.tensor([[1.0, 2]]))]
    half.step(parts)
    squares = torch.tensor([[10.0, 17], [1, 1], [3, 5]])
    torch.testing.assert_close(half.squares, squares)
    torch.testing.assert_close(half.table, -glove.RATE * torch.tensor([[3.0, 4], [0, 0], [2, 2]]) / squares.sqrt())


@pytest.mark.parametrize(
    ("method", "epochs", "margin"), [("skipgram", 60, 0.1), ("cbow", 150, 0.1), ("glove", 200, 0.002)]
)
def test_words_with_the_same_neighbours_come_near(method, epochs, margin, toy):
    """cat is nearer to dog, which it never meets, than to a machine; the same seed gives the same vectors."""
    settings = VectorSettings(method, size=10, window=2, epochs=epochs, min_count=1, seed=3, threads=1)
    shown = []
    made = train_vectors(toy, settings, lambda done, fields: shown.append((done, fields["loss"])))
    for here, there in (("cat dog cow", "car bus train"), ("eats drinks", "runs stops")):
        for mine, others in ((here.split(), there.split()), (there.split(), here.split())):
            for (a, b), other in itertools.product(itertools.combinations(mine, 2), others):
                assert made.similarity(a, b) > made.similarity(a, other) + margin, (a, b, other)
    assert shown[-1][0] == epochs * len(toy.ids)
    assert shown[-1][1] < shown[0][1]
    np.testing.assert_array_equal(made.matrix, train_vectors(toy, settings).matrix)
    assert made.matrix.shape == (len(toy.words), 10)
    assert (train_vectors(toy, VectorSettings(method, size=10, epochs=1, seed=4)).matrix != made.matrix).any()


@pytest.mark.parametrize("method", METHODS)
def test_threads_share_the_work_and_change_nothing_by_their_order(method, toy, monkeypatch):
    monkeypatch.setattr(train_word2vec, "LEAST_BLOCKS", 1)
    settings = VectorSettings(method, size=10, epochs=2, seed=3, threads=3)
    first = train_vectors(toy, settings)
    for _ in range(3):
        np.testing.assert_array_equal(first.matrix, train_vectors(toy, settings).matrix)
    if method == "glove":  # no draw in the parts: only the sums round differently
        one = train_vectors(toy, replace(settings, threads=1))
        np.testing.assert_allclose(first.matrix, one.matrix, atol=1e-5)


def test_a_team_answers_in_order_and_passes_faults_on():
    with Team(3) as team:
        assert team.do([partial(pow, n, 2) for n in range(7)]) == [n * n for n in range(7)]
        with pytest.raises(ZeroDivisionError):
            team.do([partial(pow, 2, 2), partial(pow, 0, -1)])
        with pytest.raises(ZeroDivisionError):
            team.do([partial(pow, 0, -1), partial(pow, 2, 2)])


def test_a_team_leaves_the_threads_of_others_as_they_were():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with Team(2):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)


def test_words_that_stand_alone_teach_nothing():
    with pytest.raises(DataError, match="has two frequent words"):
        train_vectors(read_corpus([["a"], ["b"], ["a"]], 1, "t"), VectorSettings())


def test_vectors_that_fly_apart_are_no_result(toy, monkeypatch):
    monkeypatch.setattr(train_word2vec, "FARTHEST", 1e30)  # and so nobody is slowed
    wild = replace(train_word2vec.OBJECTIVES["skipgram"], first_rate=1e20)
    monkeypatch.setitem(train_word2vec.OBJECTIVES, "skipgram", wild)
    with pytest.raises(TrainingError, match="training diverged"):
        train_vectors(toy, VectorSettings("skipgram", size=4, epochs=5))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"method": "skipgramm"}, "--method skipgramm.*Did you mean 'skipgram'"),
        ({"size": 0}, "--size 0: want a whole number from 1 to 10,000"),
        ({"min_count": -1}, "--min-count -1"),
        ({"window": 0}, "--window 0"),
        ({"threads": 0}, "--threads 0"),
        ({"seed": -1}, "--seed -1"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, said):
    with pytest.raises(UsageError, match=said):
        VectorSettings(**settings).check()
