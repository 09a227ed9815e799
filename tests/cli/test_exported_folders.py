"""Folders of `seqloom export --out` in the hands of other programs, with the lines that the how-to shows."""

import os
import re
import shutil
import stat
from pathlib import Path

import pytest

import seqloom as package
from seqloom.text.vocabulary import EOS

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "export.md"
TRANSFORMER = ("model.kind=transformer", "model.positions=sinusoidal", "model.tied=true", "text.tokenizer=bpe")
TEXT = "a sentence"
UMASK = 0o027
EAGER = 5.0  # logits for the end of an output


def program(heading: str) -> str:
    """The Python block under a heading of the page."""
    section = PAGE.read_text("utf-8").partition(f"\n## {heading}\n")[2]
    found = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert found, heading
    return found[1]


@pytest.fixture(scope="module")
def folder(random_model):
    """A Transformer whose outputs are a few letters."""
    import torch

    from seqloom.models.weights import save_weights
    from seqloom.runtime.folder import load_model, open_run

    folder = random_model(*TRANSFORMER)
    run = open_run(folder)
    model, tokenizer = load_model(run), run.tokenizers.target
    with torch.no_grad():
        for weights in model.parameters():
            weights *= 3.0
        for index, piece in enumerate(tokenizer.pieces(range(len(tokenizer)))):
            model.output.bias[index] = 0.0 if piece.isalpha() else -30.0
        model.output.bias[EOS] = EAGER
    save_weights(model, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize(
    ("heading", "format", "int8"),
    [
        ("CTranslate2", "ctranslate2", False),
        ("CTranslate2", "ctranslate2", True),
        ("Hugging Face transformers", "hf", False),
    ],
    ids=["ctranslate2", "int8", "hf"],
)
@pytest.mark.filterwarnings("ignore")
def test_the_lines_of_the_page_run_the_exported_folder(heading, format, int8, folder, tmp_path, monkeypatch, capsys):
    name = "exported-hf" if format == "hf" else "exported"
    package.export(folder, format, tmp_path / name, int8=int8, quiet=True)
    wanted = package.Translator.load(folder, engine="torch").translate(TEXT, beam=5)
    assert 2 <= len(wanted) < 60, "it ends by itself"
    monkeypatch.chdir(tmp_path)
    exec(compile(program(heading), str(PAGE), "exec"), {})
    shown = capsys.readouterr().out.rstrip("\n")
    assert shown == wanted if not int8 else shown  # 8 bits may change the words of a random model


def test_int8_into_a_new_folder(seqloom, tiny_pairs, folder, tmp_path):
    """It is smaller, has the tokenizer, its cost in BLEU is told, and the model folder keeps what it has."""
    before = sorted(path.name for path in folder.iterdir())
    package.export(folder, "ctranslate2", tmp_path / "plain")
    words = ["export", folder, "--format", "ctranslate2", "--int8", "--data", tiny_pairs, "--out", tmp_path / "x"]
    done = seqloom(*words)
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'x'}\n"), done.stderr
    assert re.fullmatch(r"int8: BLEU \d+\.\d\d on \d+ validation pairs, .* in fp32\n", done.stderr), done.stderr
    files = [{str(file.relative_to(out)) for file in out.rglob("*")} for out in (tmp_path / "plain", tmp_path / "x")]
    assert files[0] == files[1] >= {"model.bin", "tokenizer/tokenizer.json"}
    assert (tmp_path / "x/model.bin").stat().st_size < (tmp_path / "plain/model.bin").stat().st_size
    assert sorted(path.name for path in folder.iterdir()) == before
    with pytest.raises(package.UsageError, match="not empty"):
        package.export(folder, "ctranslate2", tmp_path / "x", int8=True)


def test_a_refusal_names_the_folder_that_the_user_gave(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "model")
    config = (copy / "config.toml").read_text("utf-8")
    (copy / "config.toml").write_text(config.replace("min_length = 0", "min_length = 3"), "utf-8")
    with pytest.raises(package.UsageError) as refused:
        package.export(copy, "ctranslate2", tmp_path / "x", int8=True)
    assert str(refused.value).startswith(f"{copy}: CTranslate2 defines decode.min_length in another way")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
@pytest.mark.slow
def test_what_is_written_follows_the_umask(launch, folder, random_model, tmp_path):
    """Files 0666 and folders 0777, without the bits of the umask, whatever wrote them."""
    recurrent = shutil.copytree(random_model("model.kind=rnn"), tmp_path / "rnn", copy_function=shutil.copyfile)
    engine = shutil.copytree(folder, tmp_path / "engine", copy_function=shutil.copyfile)
    calls = [
        ["export", folder, "--format", "hf", "--out", "hf"],
        ["export", folder, "--format", "ctranslate2", "--int8", "--out", "ct2"],
        ["export", recurrent, "--format", "onnx"],
        ["export", engine, "--format", "ctranslate2"],
    ]
    for words in calls:
        done = launch([str(word) for word in words], folder=str(tmp_path), umask=UMASK)
        assert done["code"] == 0, done["errors"]
    written = [tmp_path / name for name in ("hf", "ct2", "rnn/engine", "engine/engine")]
    for path in [inner for outer in written for inner in (outer, *outer.rglob("*"))]:
        wanted = (0o777 if path.is_dir() else 0o666) & ~UMASK
        assert stat.S_IMODE(path.stat().st_mode) == wanted, f"{path}: {stat.S_IMODE(path.stat().st_mode):o}"
