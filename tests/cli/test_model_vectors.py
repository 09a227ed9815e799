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
    ],
)
def test_what_is_wrong_is_a_sentence(words, said, seqloom, random_model, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "v.txt").write_text("cat 1 0\ndog 0 1\n", "utf-8")
    folder = random_model("model.kind=rnn", "text.tokenizer=word")
    places = {"EMPTY": tmp_path / "empty", "MODEL": folder, "FILE": tmp_path / "v.txt"}
    done = seqloom("vectors", *(places.get(word, word) for word in words))
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert said in done.stderr
