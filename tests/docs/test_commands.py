"""Every command and every Python snippet of README and the guide is run, page by page, in the order of the page.

A page has a folder of its own with the files that it names (toy_files.py) and the models that it takes as given. The
commands are typed into bash as they stand; only the program behind `seqloom` is one that trains toys (toy_program.py).
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.docs import toy_files
from tests.docs.not_run import NOT_RUN, reason
from tests.docs.page_commands import Shown, pages_with_commands
from tests.docs.toy_program import CLIENT, shrink
from tests.faults.scenes import WRITE_BERT

pytestmark = pytest.mark.skipif(sys.platform != "linux" or not shutil.which("bash"), reason="bash, fork, sockets")

PAGES = pages_with_commands()
QUICK = ("docs/how-to/check-your-data.md", "docs/lessons/word-vectors.md")  # below three seconds of processor time
KINDS = {  # the models that a page may take as given
    "rnn": ["--set", "model.kind=rnn", "--set", "text.tokenizer=word"],
    "transformer": ["--set", "model.kind=transformer", "--set", "text.tokenizer=word"],
    "marian": ["--set", "model.kind=transformer", "--set", "model.positions=sinusoidal"],  # what transformers knows
    "pieces": ["--set", "model.kind=rnn", "--set", "text.tokenizer=bpe"],  # which can write any text
    "en-de": ["--set", "model.kind=rnn", "--set", "data.source_lang=en", "--set", "data.target_lang=de"],
    "de-en": ["--set", "model.kind=rnn", "--set", "data.source_lang=de", "--set", "data.target_lang=en"],
    "labels": ["--task", "classify"],
    "tags": ["--task", "tag"],
    "language": ["--task", "language"],
}
FILE_OF = {"labels": "reviews.tsv", "tags": "tagged.tsv", "language": "book.txt"}  # what a kind learns from
GIVEN = {  # (page, model folder): its kind, where it is not a recurrent translator
    ("docs/how-to/export.md", "runs/x"): "marian",
    ("docs/how-to/translate-fast.md", "runs/x"): "transformer",
    ("docs/how-to/classify-and-tag.md", "runs/bag"): "labels",
    ("docs/how-to/search.md", "runs/x"): "pieces",
    ("docs/how-to/serve.md", "runs/en-de"): "en-de",
    ("docs/how-to/serve.md", "runs/de-en"): "de-en",
    ("docs/how-to/serve.md", "runs/reviews"): "labels",
    ("docs/how-to/serve.md", "runs/tags"): "tags",
    ("docs/how-to/serve.md", "runs/book"): "language",
}
WORDS = (
    "docs/how-to/production.md",
    "docs/how-to/translate-fast.md",
)  # their models write words: the bytes that a toy writes would be no text
ADDRESS = "http://127.0.0.1:5000"  # where the pages say that a server is
SERVED = "seqloom serve en-fr fr-en reviews=runs/reviews runs/tags runs/book"  # and the one that they ask
INSTEAD = {("docs/tour.md", "make demo"): "seqloom demo"}  # what make starts, where the page uses what it leaves
LEFT = {  # what must be there at the end of a page, and not empty
    "docs/tour.md": ["date.html", "both.html", "runs/mine/model.safetensors"],
    "docs/how-to/production.md": ["clean.tsv", "scores.tsv", "kept.tsv", "runs/student/engine/manifest.json"],
}
TOY_RUN = "".join(f" --set {s}" for s in ("train.max_steps=4", "train.warmup=1", "model.width=16", "model.layers=1"))


@pytest.fixture(scope="module")
def around(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a shell in which `seqloom` is the toy program."""
    place = tmp_path_factory.mktemp("toy")
    words = [sys.executable, "-m", "tests.docs.toy_program", str(place / "socket")]
    (place / "seqloom").write_text(CLIENT.format(python=sys.executable, address=str(place / "socket")), "utf-8")
    (place / "seqloom").chmod(0o755)
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, env=environment, text=True) as program:
        assert program.stdin is not None and program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        path = os.pathsep.join([str(place), str(Path(sys.executable).parent), os.environ["PATH"]])
        yield environment | {"PATH": path, "HOME": str(place), "PYTHONWARNINGS": "ignore"}
        program.stdin.close()


@pytest.fixture(scope="module")
def given(around: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Path], None]:
    """given(kind, folder): put a trained model there."""
    made: dict[str, Path] = {}

    def put(kind: str, folder: Path) -> None:
        if kind not in made:
            place = made[kind] = tmp_path_factory.mktemp("given")
            file = FILE_OF.get(kind, "pairs.tsv")
            toy_files.write_named(place, file)
            run(["seqloom", "train", file, "--out", "model", *KINDS[kind]], place, around)
        shutil.copytree(made[kind] / "model", folder)

    return put


def run(words: list[str], folder: Path, around: dict[str, str]) -> None:
    done = subprocess.run(
        words, cwd=folder, env=around, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, f"{words[-1]}\nexit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
    assert "Traceback" not in done.stderr, f"{words[-1]}\n{done.stderr}"


@pytest.mark.filterwarnings("ignore")  # those of the other libraries that snippets use
@pytest.mark.parametrize("page", [pytest.param(p, marks=() if p in QUICK else pytest.mark.slow) for p in PAGES])
def test_the_commands_of_a_page_run_in_their_order(
    page: str, around: dict[str, str], given: Callable[[str, Path], None], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    text = "\n".join(shown.text for shown in PAGES[page])
    toy_files.write_named(tmp_path, text)
    prepare(page, text, tmp_path, around, given)
    names: dict[str, Any] = {"frame": pandas_frame()} if "(frame, " in text else {}
    with ExitStack() as stack:
        address = stack.enter_context(serving(SERVED, tmp_path, around)) if ADDRESS in text else ""
        for shown in PAGES[page]:
            command = shown.text.replace(ADDRESS, address)
            if shown.is_python:
                run_snippet(replace(shown, text=command), names, monkeypatch)
            elif not reason(page, shown.text):
                of_words = page in WORDS and "seqloom train" in command and "--init" not in command
                command += " --set text.tokenizer=word" * of_words
                if command.startswith("seqloom serve"):
                    with serving(command, tmp_path, around):
                        pass
                else:
                    type_in(command, tmp_path, around)
            elif (page, shown.text) in INSTEAD:
                type_in(INSTEAD[page, shown.text], tmp_path, around)
    for name in LEFT.get(page, []):
        assert (tmp_path / name).stat().st_size, name
    if "kept.tsv" in LEFT.get(page, []):
        texts = len(toy_files.MORE)
        assert [lines(tmp_path / name) for name in ("taught.tsv", "scores.tsv")] == [texts, texts], "none is lost"
        assert texts // 2 < lines(tmp_path / "kept.tsv") <= texts


def lines(file: Path) -> int:
    return file.read_text("utf-8").count("\n")


def prepare(page: str, text: str, folder: Path, around: dict[str, str], given: Callable[[str, Path], None]) -> None:
    """Put the models that the page takes as given beside its files: those that none of its commands writes first."""
    written = {"runs/demo"} if "make demo" in text else set[str]()
    for command in text.splitlines():
        for name in re.findall(r"\bruns/[\w-]+", command):
            out = re.search(rf"--out {name}\b|out=\"{name}\"", command)
            if out is None and name not in written and name != "runs/ladder":
                given(GIVEN.get((page, name), "rnn"), folder / name)
            written.add(name)
    for name in re.findall(r"-o (docs/\w+)/", text):  # the page is about pictures of this project
        (folder / name).mkdir(parents=True, exist_ok=True)
    for name, make in FOREIGN.items():
        if re.search(rf"\bimport {name}\b", text):
            run([sys.executable, "-c", make, name], folder, around)
    for name in re.findall(r"--recipe (\w+\.toml)", text):
        if f"> {name}" not in text:
            type_in(f"seqloom recipes characters-rnn > {name}", folder, around)


# Public weights as a reader would have downloaded them, written by a Python of its own: transformers takes seconds to
# import.
WRITE_MARIAN = """
import io, json, sys, sentencepiece, torch, transformers
from pathlib import Path
folder, pieces = Path(sys.argv[1]), {"</s>": 0, "<unk>": 1}
folder.mkdir()
texts = ["a small cat sat on the mat", "the king sees the queen", "un petit chat dort sur le tapis"] * 5
for side in ("source", "target"):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, vocab_size=40, model_type="bpe", minloglevel=2,
        hard_vocab_limit=False, num_threads=1)
    (folder / f"{side}.spm").write_bytes(model.getvalue())
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    for index in range(processor.get_piece_size()):
        if not (processor.is_control(index) or processor.is_unknown(index)):
            pieces.setdefault(processor.id_to_piece(index), len(pieces))
pieces["<pad>"] = pad = len(pieces)
(folder / "vocab.json").write_text(json.dumps(pieces), "utf-8")
transformers.MarianMTModel(transformers.MarianConfig(
    vocab_size=pad + 1, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
    decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, activation_function="swish",
    scale_embedding=True, pad_token_id=pad, decoder_start_token_id=pad, eos_token_id=0, forced_eos_token_id=None,
    max_position_embeddings=64)).save_pretrained(folder)
"""
FOREIGN = {"minilm": WRITE_BERT, "MINILM": WRITE_BERT, "opus-mt-en-de": WRITE_MARIAN}


def type_in(command: str, folder: Path, around: dict[str, str]) -> None:
    if "-m seqloom train" in command:  # torchrun starts the real program
        command += TOY_RUN
    run(["bash", "-e", "-o", "pipefail", "-c", command], folder, around)


@contextmanager
def serving(command: str, folder: Path, around: dict[str, str]) -> Iterator[str]:
    """Type it, with a port that is free; ask the server whether it is ready; press Ctrl-C when its address was used."""
    command = re.sub(r"--port \d+", "", command) + " --port 0"
    with subprocess.Popen(
        ["bash", "-c", f"exec {command}"], cwd=folder, env=around, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True,
    ) as server:  # fmt: skip
        assert server.stderr is not None
        said = ""
        for line in server.stderr:
            said += line
            if found := re.search(r"http://[\w.]+:(\d+)", line):
                address = f"http://127.0.0.1:{found[1]}"
                with urllib.request.urlopen(f"{address}/v1/readyz", timeout=60) as answer:
                    assert answer.status == 200
                try:
                    yield address
                finally:
                    server.send_signal(signal.SIGINT)
                break
        said += server.stderr.read()
        assert server.wait(60) == 0, f"{command}\n{said}"


def run_snippet(shown: Shown, names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run it after the snippets above it, with their names."""
    with monkeypatch.context() as patch:
        shrink(patch.setattr)
        exec(compile(shown.text, shown.page, "exec"), names)


def pandas_frame() -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(toy_files.MANY, columns=["english", "french"])


def test_what_is_not_run_is_still_on_its_page() -> None:
    for page, begin in NOT_RUN:
        assert any(shown.text.startswith(begin) for shown in PAGES[page]), f"{page} has no `{begin}`: mend not_run.py"
