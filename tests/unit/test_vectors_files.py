"""Vector files: written and read again; errors name the place of what is broken."""

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqloom.errors import DataError, UsageError
from seqloom.vectors.files import load_vectors, save_vectors
from seqloom.vectors.word_vectors import WordVectors

NAMES = ("v.bin", "v.txt", "v.vec.gz", "v.bin.gz")


def vectors(words="the été don't", width=3) -> WordVectors:
    words = words.split()
    return WordVectors(words, np.random.default_rng(0).normal(size=(len(words), width)).astype(np.float32))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [1, 3, 300])
def test_what_is_written_is_read_again(name, width, tmp_path):
    made = vectors(width=width)
    save_vectors(made, tmp_path / "sub" / name)
    found = load_vectors(tmp_path / "sub" / name)
    assert found.words == made.words
    np.testing.assert_array_equal(found.matrix, made.matrix)
    assert [file.name for file in (tmp_path / "sub").iterdir()] == [name]


@settings(max_examples=30)
@given(arrays.arrays(np.float32, (2, 3), elements=st.floats(width=32, allow_nan=False, allow_infinity=False)))
def test_text_gives_every_number_again(matrix):
    with TemporaryDirectory() as folder:
        for name in ("v.txt", "v.bin"):
            save_vectors(WordVectors(["a", "b"], matrix), Path(folder, name))
            np.testing.assert_array_equal(load_vectors(Path(folder, name)).matrix, matrix)


def test_many_words_cross_the_blocks_of_reading(tmp_path, monkeypatch):
    monkeypatch.setattr("seqloom.vectors.binary_format.BLOCK_SIZE", 5000)
    made = vectors(" ".join(f"w{n}" for n in range(900)), 30)
    for name in ("v.bin", "v.bin.gz"):
        save_vectors(made, tmp_path / name)
        found = load_vectors(tmp_path / name)
        assert found.words == made.words
        np.testing.assert_array_equal(found.matrix, made.matrix)


def test_the_forms_of_other_tools(tmp_path):
    file = tmp_path / "v"
    floats = np.array([1, -2], "<f4").tobytes()
    for content in (
        b"2 2\na 1 -2 \nb 1 -2 \n\n",  # a space before the end of a line, as word2vec.c writes it
        b"\xef\xbb\xbf2 2\r\na 1 -2\r\nb 1e0 -2.",
        b"a 1 -2\nb 1 -2\n",  # GloVe: no header
        b"2 2\na " + floats + b"b " + floats,  # gensim
        b"2 2\na " + floats + b"\nb " + floats + b"\n",  # word2vec.c
    ):
        file.write_bytes(content)
        found = load_vectors(file)
        assert found.words == ["a", "b"]
        assert found.matrix.tolist() == [[1, -2], [1, -2]]


def test_a_long_file_without_a_header(tmp_path):
    (tmp_path / "g.txt").write_text("".join(f"w{n} {n} 0.5\n" for n in range(5000)))
    found = load_vectors(tmp_path / "g.txt")
    assert (len(found), found["w4999"].tolist()) == (5000, [4999, 0.5])


def test_a_word_with_spaces_is_read_where_the_form_allows_it(tmp_path):
    (tmp_path / "v.txt").write_text("2 2\nnew york 1 2\nb 3 4\n")
    assert load_vectors(tmp_path / "v.txt").words == ["new york", "b"]


def test_the_first_vector_of_a_repeated_word_counts(tmp_path):
    (tmp_path / "v.txt").write_text("3 1\na 1\nb 2\na 3\n")
    said = []
    found = load_vectors(tmp_path / "v.txt", said.append)
    assert (found.words, found.matrix.ravel().tolist()) == (["a", "b"], [1, 2])
    assert "1 words occur more than once" in said[0]


FLOATS = np.zeros(2, "<f4").tobytes()
BROKEN = {
    b"": "line 1: not a vector file",
    b"2 2\na 1 2\n": "ends after 1 of the 2",
    b"3 2\na 1 2\n": "announces 3 words",
    b"1 2\na 1 2\nb 1 2\n": "line 3: more words than the 1",
    b"2 2\na 1 2\nb 1\n": "line 3: 1 numbers after 'b', want 2",
    b"2 2\na 1 2\nb 1 2 3\n": "line 3: 3 numbers after 'b', want 2",
    b"2 2\na 1 2\nb 1 x\n": "line 3: the vector of 'b': 'x' is not a number",
    b"2 2\na 1 2\nb 1 nan\n": "line 3: the vector of 'b' has",
    b"2 2\na 1 2\nb 1 1e39\n": "line 3: the vector of 'b' has",
    b"2 2\na 1 2\n\nb 1 2\n": "line 3: a blank line",
    b"2 2\na 1 2\n\xff\xfe 1 2\n": "line 3: invalid UTF-8",
    b"0 2\n": "line 1: 0 words",
    b"2 0\na\nb\n": "width 0",
    b"1 999999999999\na 1\n": "width 999999999999",
    b"999999999999 300\na 1\n": "announces 999,999,999,999 words",
    b"9" * 50 + b" 300\na 1\n": "announces 99,999",
    b"1 2\na " + FLOATS[:-1]: "word 1 of 1: the file ends here",
    b"1 9\na " + FLOATS: "announces 1 words",
    b"2 2\naaaaaaaaaa " + FLOATS + b"b" + FLOATS: "word 2 of 2",
    b"1 2\n" + b"a" * 5000 + FLOATS: "word 1: longer than",
    b"1 2\n\xff " + FLOATS: "word 1: b'\\xff' is not UTF-8",
    b"1 2\n " + FLOATS + b"xxx": "word 1: an empty word",
    b"1 2\na " + np.array([np.inf, 0], "<f4").tobytes(): "word 1 ('a'): its vector has a number that is not finite",
    b"1 2\na " + FLOATS + b"\nb": "has data after the 1 words",
}


@pytest.mark.parametrize("content", BROKEN, ids=range(len(BROKEN)))
@pytest.mark.parametrize("packed", [False, True])
def test_a_broken_file_is_told_with_its_place(content, packed, tmp_path):
    file = tmp_path / ("v.gz" if packed else "v")
    file.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(DataError) as error:
        load_vectors(file)
    said = str(error.value)
    assert said.startswith(str(file))
    # What a packed file announces can only be compared with what gzip could make of it.
    assert BROKEN[content] in said or (packed and "announces" in BROKEN[content] and "ends" in said)


@given(st.binary(max_size=200), st.sampled_from([b"", b"1 1\n", b"3 2\n", b"2 4\na "]))
def test_any_bytes_are_vectors_or_a_sentence(content, start):
    with TemporaryDirectory() as folder:
        Path(folder, "v").write_bytes(start + content)
        try:
            found = load_vectors(Path(folder, "v"))
        except DataError as error:
            assert str(error).startswith(folder)
        else:
            assert np.isfinite(found.matrix).all()


def test_a_damaged_gzip_file_and_a_missing_file(tmp_path):
    (tmp_path / "v.bin.gz").write_bytes(gzip.compress(b"2 2\na 1 2\nb 1 2\n" * 9)[:-9])
    with pytest.raises(DataError, match=r"v\.bin\.gz: a damaged gzip"):
        load_vectors(tmp_path / "v.bin.gz")
    with pytest.raises(UsageError, match=r"no such file. Did you mean 'v.bin.gz'"):
        load_vectors(tmp_path / "v.bim.gz")
    with pytest.raises(UsageError, match="cannot be read from standard input"):
        load_vectors(Path("-"))


@pytest.mark.parametrize("word", ["", "a b", "a\nb"])
def test_a_word_that_no_file_can_hold_is_refused_and_nothing_is_written(word, tmp_path):
    with pytest.raises(DataError, match="cannot be written"):
        save_vectors(WordVectors([word], np.ones((1, 2), np.float32)), tmp_path / "v.bin")
    assert not any(tmp_path.iterdir())
