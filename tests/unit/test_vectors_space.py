"""Near words, analogies, questions, judged pairs, pictures, and the table a model starts from."""

import numpy as np
import pytest

from seqloom.errors import DataError, UsageError
from seqloom.vectors.picture import k_means, make_picture, project
from seqloom.vectors.questions import Section, answer, read_questions, total, wilson
from seqloom.vectors.start import known_rows
from seqloom.vectors.word_pairs import judge, ranks, read_pairs, spearman
from seqloom.vectors.word_vectors import WordVectors

ROYAL = {  # sex, rank, and what is neither
    "man": (1, 0, 0), "woman": (-1, 0, 0.1), "king": (1, 1, 0), "queen": (-1, 1, 0.1), "table": (0, 0, 1),
    "prince": (1.2, 0.9, 0.1), "chair": (0, 0.1, 1),
}  # fmt: skip


@pytest.fixture
def royal() -> WordVectors:
    return WordVectors([*ROYAL], np.array([*ROYAL.values()], np.float32))


def test_nearest_is_by_cosine_without_the_word_itself(royal):
    scaled = WordVectors(royal.words, royal.matrix * np.arange(1, 8, dtype=np.float32)[:, None])
    for vectors in (royal, scaled):  # the length of a vector does not matter
        found = vectors.nearest("king", 2)
        assert [word for word, _ in found] == ["prince", "man"]
        assert found[1][1] == pytest.approx(np.sqrt(0.5))
    assert len(royal.nearest("king", 99)) == 6
    assert royal.similarity("table", "chair") == pytest.approx(1 / np.sqrt(1.01))


def test_equals_come_in_the_order_of_the_file():
    same = WordVectors(["a", "b", "c", "d"], np.ones((4, 2), np.float32))
    assert [word for word, _ in same.nearest("c", 2)] == ["a", "b"]


def test_a_vector_of_zeros_is_near_nothing():
    vectors = WordVectors(["a", "b"], np.array([[0, 0], [1, 0]], np.float32))
    assert vectors.nearest("a") == [("b", 0.0)]


def test_an_analogy_is_b_minus_a_plus_c(royal):
    assert royal.analogy("man", "king", "woman")[0][0] == "queen"
    assert royal.analogy("king", "man", "queen")[0][0] == "woman"
    assert {"man", "king", "woman"}.isdisjoint(word for word, _ in royal.analogy("man", "king", "woman", 9))


def test_a_word_is_found_as_written_else_in_lower_case(royal):
    both = WordVectors(["May", "may"], np.eye(2, dtype=np.float32))
    assert (both.find("May"), both.find("may"), both.find("MAY")) == (0, 1, 1)
    assert royal.find("King") == royal.find("king")
    assert "KING" in royal
    with pytest.raises(UsageError, match=r"'quene' is not among the 7 words. Did you mean 'queen'"):
        royal.find("quene")
    with pytest.raises(UsageError, match=r"'xyzzy' is not among the 7 words.$"):
        royal.find("xyzzy")


def test_words_and_rows_must_be_as_many():
    with pytest.raises(ValueError, match="2 words"):
        WordVectors(["a", "b"], np.ones((3, 2), np.float32))


QUESTIONS = ": family\nMan king Woman QUEEN\nman woman king prince\nman king boy prince\n: gram\nking queen man woman\n"


def test_questions_are_asked_by_section_and_what_is_left_out_is_counted(royal, tmp_path):
    (tmp_path / "q.txt").write_text(QUESTIONS + "\n")
    sections = read_questions(tmp_path / "q.txt")
    answer(royal, sections)
    assert [(s.name, s.right, s.asked, s.left_out) for s in sections] == [("family", 1, 2, 1), ("gram", 1, 1, 0)]
    assert (total(sections).right, total(sections).asked, total(sections).left_out) == (2, 3, 1)
    told = sections[0].to_json()
    assert (told["accuracy"], told["low"], told["high"]) == (0.5, *wilson(1, 2))


def test_another_spelling_of_a_word_is_no_other_answer(royal, tmp_path):
    """KING lies nearer than queen; it is king, which was given."""
    more = WordVectors(
        [*royal.words, "KING", "QUEEN"], np.concatenate([royal.matrix, [[-1, 1, 0.05]], [[-1, 1, 0.1]]]).astype("f4")
    )
    section = Section("", [("man", "king", "woman", "queen")])
    answer(more, [section])
    assert section.right == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [("a b c\n", "line 1: 3 word"), (": x\n\n", "no question"), (": x\na b c d e\n", "line 2: 5 word")],
)
def test_a_broken_file_of_questions_is_told_with_its_line(text, said, tmp_path):
    (tmp_path / "q.txt").write_text(text)
    with pytest.raises(DataError, match=said):
        read_questions(tmp_path / "q.txt")


@pytest.mark.parametrize(
    ("right", "asked", "low", "high"),
    [(5, 10, 0.2366, 0.7634), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (0, 0, 0.0, 1.0)],
)
def test_wilson_interval(right, asked, low, high):
    assert wilson(right, asked) == pytest.approx((low, high), abs=1e-4)


def test_ranks_and_their_correlation():
    assert ranks([10, 30, 20, 30]).tolist() == [1, 3.5, 2, 3.5]
    assert spearman([1, 2, 3, 4], [1, 8, 27, 64]) == pytest.approx(1)
    assert spearman([1, 2, 3], [9, 5, 1]) == pytest.approx(-1)
    # By hand: without equals, 1 - 6 sum d^2 / (n (n^2 - 1))
    assert spearman([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]) == pytest.approx(1 - 6 * 4 / (5 * 24))
    assert np.isnan(spearman([1, 1, 1], [1, 2, 3]))


def test_pairs_are_judged_and_those_without_vectors_counted(royal, tmp_path):
    (tmp_path / "p.txt").write_text(
        "word1\tword2\tscore\r\n# by nobody\nking\tprince\t9\r\nKing\tqueen\t8\nking\ttable\t1\nking\tzebra\t5\n\n"
        "table\tchair\t10\n"
    )
    pairs = read_pairs(tmp_path / "p.txt")
    judged = judge(royal, pairs, "p")
    assert (judged.used, judged.total) == (4, 5)
    cosines = [royal.similarity(a, b) for a, b, _ in pairs if "zebra" not in (a, b)]
    assert judged.rho == pytest.approx(spearman(cosines, [9, 8, 1, 10]))
    told = judged.to_json()
    assert (told["low"], told["high"]) == (None, None)
    assert told["no_interval"] == "4 pairs are too few for an interval; want 10 or more"
    assert judge(royal, pairs[:2], "few").to_json()["spearman"] is None


def test_an_interval_wants_ten_pairs(royal):
    words = [*ROYAL]
    pairs = [(a, b, float(place)) for place, (a, b) in enumerate(zip(words * 2, words[2:] * 3, strict=False))]
    enough, few = judge(royal, pairs[:10], "p"), judge(royal, pairs[:9], "p")
    assert -1 <= enough.low < enough.rho < enough.high <= 1
    assert enough.to_json()["no_interval"] is None
    assert np.isfinite(few.rho) and np.isnan(few.low) and np.isnan(few.high)


def test_pairs_with_commas_or_blanks(tmp_path):
    (tmp_path / "p.csv").write_text("Word 1,Word 2,Human (mean)\nlove,sex,6.77\ntiger, cat ,7.35\na b 1\n")
    assert read_pairs(tmp_path / "p.csv") == [("love", "sex", 6.77), ("tiger", "cat", 7.35), ("a", "b", 1.0)]


def test_a_part_of_speech_before_the_number_as_simlex_has_it(tmp_path):
    (tmp_path / "p.txt").write_text(
        "word1\tword2\tPOS\tSimLex999\tconc(w1)\nold\tnew\tA\t1.58\t2.72\ngo\tcome\tV\t2.42\t3.42\n"
    )
    assert read_pairs(tmp_path / "p.txt") == [("old", "new", 1.58), ("go", "come", 2.42)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a b 1\na b\n", "line 2"),
        ("a b\nc d 1\n", "line 1: 'a b': want two words and a number"),
        ("a,b\nc,d,1\n", "line 1"),
        ("a b c d\nc d 1\n", "line 1"),
        ("a b 1\na b nan\n", "line 2"),
        ("a b 1\na b c 2\n", "line 2"),
        ("a b c\n", "has no word pairs"),
        ("", "has no word pairs"),
    ],
)
def test_a_broken_file_of_pairs_is_told_with_its_line(text, said, tmp_path):
    (tmp_path / "p").write_text(text)
    with pytest.raises(DataError, match=said):
        read_pairs(tmp_path / "p")


def test_a_projection_keeps_the_directions_in_which_words_differ_most():
    random = np.random.default_rng(3)
    flat = random.normal(size=(40, 2)) * [5, 2]
    turn, _ = np.linalg.qr(random.normal(size=(6, 6)))
    places, shares = project(np.pad(flat, ((0, 0), (0, 4))) @ turn + 7)
    between = lambda x: np.linalg.norm(x[:, None] - x[None], axis=2)  # noqa: E731
    np.testing.assert_allclose(between(places), between(flat), atol=1e-9)
    assert shares[0] > shares[1] > 0
    assert sum(shares) == pytest.approx(1)
    assert places[np.abs(places[:, 0]).argmax(), 0] > 0


def test_clusters_are_found_and_named_by_the_word_in_their_middle():
    random = np.random.default_rng(0)
    centres = np.eye(3) * 10
    names = [f"{name}{n}" for name in "abc" for n in range(9)]
    matrix = np.repeat(centres, 9, 0) + random.normal(size=(27, 3))
    matrix[[0, 9, 18]] = centres  # a0, b0, c0 stand in the middle, or nearly
    picture = make_picture(WordVectors(names, matrix.astype(np.float32)), names, clusters=3)
    groups = {tuple(sorted({w[0] for w, g in zip(names, picture.clusters, strict=True) if g == k})) for k in range(3)}
    assert groups == {("a",), ("b",), ("c",)}
    assert all(picture.clusters[names.index(name)] == k for k, name in enumerate(picture.names))
    assert len(picture.neighbours[0]) == 5


def test_there_are_no_more_clusters_than_different_words():
    cluster_of, centres = k_means(np.repeat(np.eye(2), 3, 0), 5, np.random.default_rng(0))
    assert len(centres) == 2
    assert len(set(cluster_of[:3])) == 1


def test_a_picture_needs_three_words_and_repeats_count_once(royal):
    assert make_picture(royal, ["king", "King", "queen", "table"], 2).words == ["king", "queen", "table"]
    with pytest.raises(UsageError, match="needs at least 3 words"):
        make_picture(royal, ["king", "KING", "queen"], 2)


def test_a_table_starts_from_the_vectors_of_words_it_has(royal):
    pieces = ["<pad>", "▁king", "▁Queen", "▁", "▁ing", "king"]  # the last is the end of a word: of "viking"
    found, rows = known_rows(royal, pieces, 3, std=0.02)
    assert found.tolist() == [False, True, True, False, False, False]
    np.testing.assert_allclose(rows / rows.std(), royal.matrix[[2, 3]] / royal.matrix[[2, 3]].std(), rtol=1e-5)
    assert (rows.dtype, rows.std()) == (np.float32, pytest.approx(0.02, rel=1e-3))
    assert known_rows(royal, ["king"], 3, std=0.02)[1].shape == (0, 3)
    with pytest.raises(UsageError, match="are 3 wide, the embeddings of this model 8"):
        known_rows(royal, ["▁king"], 8, std=0.02)
