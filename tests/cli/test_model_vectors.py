"""`seqloom vectors` asked about a model folder: its embedding table, with tokens as words."""

import numpy as np
import pytest

import seqloom as package
from seqloom.runtime.folder import load_model, open_run

KINDS = {
    "one table for all": ("model.kind=transformer", "model.tied=true"),
    "one table, other output": ("model.kind=rnn", "model.tied=false", "text.tokenizer=bpe"),
    "a language model": ("model.kind=gpt", "task.name=language", "text.tokenizer=word"),
    "a masked model": ("model.kind=transformer", "task.name=masked"),
    "a classifier": ("model.kind=rnn", "task.name=classify", "model.tied=false"),
}


@pytest.mark.parametrize("settings", KINDS.values(), ids=KINDS)
def test_each_name_has_the_row_of_its_token(settings, random_model):
    folder = random_model(*settings)
    run, said = open_run(folder), []
    model = load_model(run)
    table = (model.source_table if hasattr(model, "source_table") else model.target_table).weight.detach().numpy()
    from seqloom.vectors.files import load_vectors

    found = load_vectors(folder, say=said.append)
    pieces = run.tokenizers.source.pieces(range(len(table)))
    marked = run.tokenizers.source.kind != "char"
    for name in found.words:
        piece = name.removeprefix("##") if name.startswith("##") or not marked else f"▁{name.removeprefix('▁')}"
        rows = [row for row in range(4, len(table)) if pieces[row] == piece]
        assert any(np.array_equal(found[name], table[row]) for row in rows), name
    assert not [name for name in found.words if name.startswith("<")], "no special token, no loose byte"
    assert said[0].startswith(f"{folder}: the ") and "embedding table of this model" in said[0]


def test_a_character_has_its_own_vector_not_that_of_its_byte(random_model):
    """A vocabulary of characters has `t` twice: as a character, and as a byte that no text uses."""
    folder = random_model("model.kind=rnn")
    run = open_run(folder)
    (index,) = run.tokenizers.source.encode("t")
    vectors = package.load_vectors(folder)
    assert np.array_equal(vectors["t"], load_model(run).source_table.weight[index].detach().numpy())


def test_the_command_says_what_was_used_and_needs_no_torch(seqloom, python, random_model, tmp_path):
    folder = random_model("model.kind=rnn", "text.tokenizer=word")
    spy = "import sys; from seqloom.cli.app import main; main(sys.argv[1:]); sys.exit('torch' in sys.modules)"
    assert python("-c", spy, "vectors", "nearest", folder, "cat").returncode == 0
    done = seqloom("vectors", "nearest", folder, "cat", "--k", "2")
    assert done.returncode == 0, done.stderr
    assert done.stderr == (
        f"{folder}: the embedding table of this model, 19 word tokens of width 8 "
        "(4 special tokens and bytes left out)\n"
    )
    assert len(done.stdout.splitlines()) == 2
    drawn = seqloom("vectors", "plot", folder, "--out", tmp_path / "words.html")
    assert (drawn.returncode, drawn.stdout) == (0, f"{tmp_path / 'words.html'}\n"), drawn.stderr
    assert "sat" in (tmp_path / "words.html").read_text("utf-8")


def test_two_sides(seqloom, tmp_path, tiny_settings):
    """Two vocabularies: a source word has no vector among the target words."""
    rows = [f"{chr(97 + i % 9)}{chr(97 + i // 9)} b\t{chr(65 + i % 9)} Z\n" for i in range(80)]
    (tmp_path / "pairs.tsv").write_text("".join(rows), "utf-8")
    settings = ["--set", "text.joint=false", "--set", "text.tokenizer=word"]
    trained = seqloom("train", tmp_path / "pairs.tsv", "--out", tmp_path / "x", *tiny_settings, *settings)
    assert trained.returncode == 0, trained.stderr
    source = seqloom("vectors", "nearest", tmp_path / "x", "b", "--k", "1")
    target = seqloom("vectors", "nearest", tmp_path / "x", "Z", "--k", "1", "--side", "target")
    assert (source.returncode, target.returncode) == (0, 0), target.stderr
    assert "the source embedding table" in source.stderr
    assert "the target embedding table" in target.stderr
    lost = seqloom("vectors", "nearest", tmp_path / "x", "aa", "--side", "target")
    assert lost.returncode == 2
    assert "'aa' is not among the 10 words" in lost.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nearest", "EMPTY", "cat"], "holds neither vectors (vectors.bin, from `seqloom vectors train`) nor a model"),
        (["nearest", "MODEL", "cat", "--side", "left"], "--side left: want source or target"),
        (["nearest", "FILE", "cat", "--side", "target"], "only a model folder has a source and a target side"),
        (["nearest", "MODEL", "catt"], "Did you mean 'cat'?"),
        (["nearest", "MODEL", "a", "--sentences", "FILE", "--in-context", "FILE"], "want one of them"),
        (["nearest", "FILE", "a", "--sentences", "FILE"], "--sentences needs a model folder"),
        (["nearest", "MODEL", "a", "--sentences", "FILE", "--side", "source"], "leave out --side"),
        (["nearest", "MODEL", "a cat", "--in-context", "FILE"], "want a sentence with one word in brackets"),
        (["nearest", "MODEL", "a", "--sentences", "ABSENT"], "absent.txt"),
        (["plot", "MODEL", "cat", "--sentences", "FILE", "--out", "PICTURE"], "leave out the words"),
        (["plot", "MODEL", "bird", "--in-context", "FILE", "--out", "PICTURE"], "bird: in no sentence of"),
    ],
)
def test_what_is_wrong_is_a_sentence(words, said, seqloom, random_model, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "v.txt").write_text("cat 1 0\ndog 0 1\n", "utf-8")
    folder = random_model("model.kind=rnn", "text.tokenizer=word")
    places = {"EMPTY": tmp_path / "empty", "MODEL": folder, "FILE": tmp_path / "v.txt"}
    places |= {"ABSENT": tmp_path / "absent.txt", "PICTURE": tmp_path / "picture.html"}
    done = seqloom("vectors", *(places.get(word, word) for word in words))
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert said in done.stderr


SENTENCES = ("the cat sat", "the dog sat", "a cat ran", "the cat sat", "", "dogs ran and a cat sat")
MODELS = {
    "attention": ("model.kind=rnn", "text.tokenizer=bpe"),
    "fixed vector": ("model.kind=rnn", "model.attention=none", "text.tokenizer=word"),
    "a language model": ("model.kind=gpt", "task.name=language", "text.tokenizer=word"),
    "a masked model": ("model.kind=transformer", "task.name=masked"),
    "a classifier": ("model.kind=rnn", "task.name=classify", "model.tied=false"),
}


@pytest.fixture
def text(tmp_path):
    file = tmp_path / "text.txt"
    file.write_text("\n".join(SENTENCES) + "\n", "utf-8")
    return file


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS)
def test_nearest_sentences_are_those_of_the_highest_product(settings, random_model, text):
    from seqloom.vectors.measure import nearest

    folder, asked = random_model(*settings), "a dog sat"
    lines = [*dict.fromkeys(line for line in SENTENCES if line)]
    model = package.SentenceVectors.load(folder)
    cosines = dict(zip(lines, model.embed(lines) @ model.embed([asked])[0], strict=True))
    found = nearest(folder, [asked], 10, print, sentences=text)[asked]
    assert [name for name, _ in found] == sorted(lines, key=lambda line: -cosines[line])
    assert dict(found) == pytest.approx(cosines, abs=1e-5)
    own = nearest(folder, [lines[0]], 10, print, sentences=text)[lines[0]]
    assert {name for name, _ in own} == {*lines[1:]}, "a sentence of the file is not its own neighbour"


def test_a_model_with_one_vector_per_sentence_has_no_words_in_context(random_model, text):
    from seqloom.errors import UsageError
    from seqloom.vectors.measure import nearest

    folder = random_model(*MODELS["a classifier"])
    with pytest.raises(UsageError, match="one vector for a whole sentence, not one per word"):
        nearest(folder, ["the [cat] sat"], 1, print, in_context=text)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "a classifier"])
def test_a_word_in_context_is_the_mean_of_its_pieces(name, random_model, text):
    """Checked against the states of the whole sentence: characters are tokens here, or pieces, or whole words."""
    from seqloom.vectors.of_sentences import words_of

    folder = random_model(*MODELS[name])
    model = package.SentenceVectors.load(folder)
    found = words_of(model, text, print)
    assert found.words[:3] == ["[the] cat sat", "the [cat] sat", "the cat [sat]"]
    assert len(found) == 3 + 3 + 3 + 6, "each sentence once"
    ((pieces, states),) = model.tokens(["the cat sat"])
    spelled = "".join(pieces)
    start = spelled.index("cat")
    ends = np.cumsum([len(piece) for piece in pieces])
    rows = [i for i, end in enumerate(ends) if end > start and end - len(pieces[i]) < start + 3]
    assert found["the [cat] sat"] == pytest.approx(states[rows].mean(0), abs=1e-5)
    assert len(words_of(model, text, print, only=["CAT", "dog"])) == 4


def test_sentences_and_words_in_context_from_the_command(seqloom, random_model, text, tmp_path):
    folder = random_model("model.kind=rnn", "text.tokenizer=word")
    done = seqloom("vectors", "nearest", folder, "the [cat] ran", "--in-context", text, "--k", "3")
    assert done.returncode == 0, done.stderr
    rows = [row.split("\t") for row in done.stdout.splitlines()]
    assert len(rows) == 3 and all("[" in name and -1 <= float(cosine) <= 1.0001 for name, cosine in rows)
    picture = tmp_path / "cat.html"
    drawn = seqloom("vectors", "plot", folder, "cat", "--in-context", text, "--out", picture)
    assert (drawn.returncode, drawn.stdout) == (0, f"{picture}\n"), drawn.stderr
    assert "a [cat] ran" in picture.read_text("utf-8")
    assert "[dog]" not in picture.read_text("utf-8")


def test_sentences_on_one_map(random_model, text, tmp_path):
    from seqloom.vectors.plot import plot

    folder, options = random_model("model.kind=rnn"), {"near": 0, "top": 200, "skip": 100, "clusters": 2, "seed": 1}
    (file,) = plot(folder, [], tmp_path / "map.html", **options, sentences=text, warn=print)
    page = file.read_text("utf-8")
    assert "4 sentences of text.txt" in page and "dogs ran and a cat sat" in page


def test_words_behind_the_end_of_what_a_model_reads_are_counted(random_model, tmp_path):
    from seqloom.errors import UsageError
    from seqloom.vectors.measure import nearest
    from seqloom.vectors.of_sentences import words_of

    folder = random_model("model.kind=rnn", "text.tokenizer=word", "data.max_tokens=4")
    (tmp_path / "long.txt").write_text("the cat sat and a dog ran\n", "utf-8")
    said = []
    assert len(words_of(package.SentenceVectors.load(folder), tmp_path / "long.txt", said.append)) == 4
    assert "3 of 7 words left out" in said[0]
    with pytest.raises(UsageError, match="does not read the word in brackets: it reads 4 tokens"):
        nearest(folder, ["the cat sat and a [dog]"], 1, print, in_context=tmp_path / "long.txt")
