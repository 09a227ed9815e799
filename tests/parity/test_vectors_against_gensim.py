"""gensim reads our files and we read gensim's; the same questions and pairs give the same numbers."""

import numpy as np
import pytest

from seqloom.vectors.files import load_vectors, save_vectors
from seqloom.vectors.questions import answer, read_questions, total
from seqloom.vectors.word_pairs import judge, read_pairs
from seqloom.vectors.word_vectors import WordVectors

gensim = pytest.importorskip("gensim.models", reason="gensim is not installed: pip install 'seqloom[dev]'")
KeyedVectors = gensim.KeyedVectors
SIZE = 8


@pytest.fixture(scope="module")
def ours() -> WordVectors:
    random = np.random.default_rng(0)
    words = ["été", "don't", "naïve", "北京", *(f"w{n}" for n in range(60))]
    return WordVectors(words, random.normal(size=(len(words), SIZE)).astype(np.float32))


@pytest.fixture(scope="module")
def theirs(ours) -> KeyedVectors:
    vectors = KeyedVectors(SIZE)
    vectors.add_vectors(ours.words, ours.matrix)
    return vectors


@pytest.mark.parametrize(
    ("name", "binary"), [("v.bin", True), ("v.txt", False), ("v.bin.gz", True), ("v.vec.gz", False)]
)
def test_gensim_reads_ours(ours, name, binary, tmp_path):
    save_vectors(ours, tmp_path / name)
    found = KeyedVectors.load_word2vec_format(tmp_path / name, binary=binary)
    assert found.index_to_key == ours.words
    np.testing.assert_array_equal(found.vectors, ours.matrix)


@pytest.mark.parametrize(
    ("name", "binary"), [("v.bin", True), ("v.txt", False), ("v.bin.gz", True), ("v.vec.gz", False)]
)
def test_we_read_gensims(ours, theirs, name, binary, tmp_path):
    theirs.save_word2vec_format(tmp_path / name, binary=binary)
    found = load_vectors(tmp_path / name)
    assert found.words == ours.words
    np.testing.assert_array_equal(found.matrix, ours.matrix)


def test_the_same_words_are_near(ours, theirs):
    for word in ("été", "w7"):
        want = theirs.most_similar(word, topn=5)
        found = ours.nearest(word, 5)
        assert [near for near, _ in found] == [near for near, _ in want]
        np.testing.assert_allclose([cosine for _, cosine in found], [cosine for _, cosine in want], atol=1e-6)
    want = theirs.most_similar(positive=["w2", "w3"], negative=["w1"], topn=3)
    assert [word for word, _ in ours.analogy("w1", "w2", "w3", 3)] == [word for word, _ in want]


def test_the_same_questions_are_right(ours, theirs, tmp_path):
    random = np.random.default_rng(1)
    lines = [": some"]
    for _ in range(300):
        a, b, c = random.choice(60, 3, replace=False)
        best = ours.analogy(f"w{a}", f"w{b}", f"w{c}")[0][0]
        lines.append(f"w{a} W{b} w{c} {best if random.random() < 0.5 else 'w' + str(random.integers(90))}")
    (tmp_path / "q.txt").write_text("\n".join(lines) + "\n", "utf-8")
    sections = read_questions(tmp_path / "q.txt")
    answer(ours, sections)
    score, found = theirs.evaluate_word_analogies(tmp_path / "q.txt")
    assert total(sections).right == len(found[0]["correct"]) > 50
    assert total(sections).asked - total(sections).right == len(found[0]["incorrect"]) > 50
    assert total(sections).right / total(sections).asked == pytest.approx(score)


def test_the_same_correlation_with_people(ours, theirs, tmp_path):
    random = np.random.default_rng(2)
    rows = [f"w{random.integers(70)}\tw{random.integers(70)}\t{random.integers(10)}" for _ in range(100)]
    (tmp_path / "p.txt").write_text("\n".join(rows) + "\n")
    judged = judge(ours, read_pairs(tmp_path / "p.txt"), "p")
    _, (rho, _), left_out = theirs.evaluate_word_pairs(tmp_path / "p.txt")
    assert judged.rho == pytest.approx(rho, abs=1e-6)
    assert 100 * (1 - judged.used / judged.total) == pytest.approx(left_out)
