"""Training reads each of its files at most twice: once to check, hash and learn the tokenizer, once to encode."""

import builtins
import gzip
import hashlib
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from seqloom import train
from seqloom.config import Config
from seqloom.data.corpus import CorpusSpec
from seqloom.data.lines import FileHash, read_lines
from seqloom.data.origin import describe_corpus
from seqloom.data.sample import HEAD, PIECE, PIECES, Sample, sample_of
from seqloom.data.text_spool import TextSpool
from seqloom.errors import DataError
from seqloom.runtime.run_facts import RunFacts, write_facts
from seqloom.training.data import refuse_bad_data
from seqloom.training.run_parts import known_facts

SHORT = (
    "train.max_steps=1", "train.schedule=constant", "model.width=8", "model.layers=1", "data.valid_pairs=5",
    "text.vocab_size=300",
)  # fmt: skip
RNN = "model.kind=rnn"
SENTENCES = [f"word {n} and {n * 7}" for n in range(60)]
LINES = {
    "pairs.tsv": [f"{s}\t{s[::-1]}" for s in SENTENCES],
    "turns.tsv": [f"{s} <turn> {s}\t{s[::-1]}" for s in SENTENCES],
    "labelled.tsv": [f"{'even' if n % 2 else 'odd'}\t{s}" for n, s in enumerate(SENTENCES)],
    "tagged.tsv": [f"{s}\tA B C D" for s in SENTENCES],
    "text.txt": SENTENCES,
    "source.en": SENTENCES,
    "target.de": [s[::-1] for s in SENTENCES],
    "pairs.csv": [f"{s},{s[::-1]}" for s in SENTENCES],
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, lines in LINES.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    (tmp_path / "packed.tsv.gz").write_bytes(gzip.compress((tmp_path / "pairs.tsv").read_bytes()))
    return tmp_path


@pytest.fixture(autouse=True)
def no_steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stop when the data is ready: the model, the steps and the end of a run read only what the run has written."""
    threads = torch.get_num_threads()

    def begin(run: Any, began: float, stop: Any) -> RunFacts:
        facts = replace(known_facts(run, 0), step=0, finished=False)
        write_facts(run.request.out, facts)
        return facts

    monkeypatch.setattr("seqloom.training.run.train_model", begin)
    yield
    torch.set_num_threads(threads)  # a run sets it for the whole process


@pytest.fixture
def opened(files: Path, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each input file is opened to be read, by whatever part of the code; a look at samples is none."""
    counts: Counter[str] = Counter()
    real, looking = io.open, []

    def count(file: Any, *args: Any, **options: Any) -> Any:
        if isinstance(file, (str, Path)) and Path(file).parent == files and not looking:
            counts[Path(file).name] += 1
        return real(file, *args, **options)

    def look(file: Path) -> Sample:
        looking.append(file)
        try:
            return sample_of(file)
        finally:
            looking.pop()

    monkeypatch.setattr("seqloom.data.recognise.sample_of", look)
    monkeypatch.setattr(io, "open", count)
    monkeypatch.setattr(builtins, "open", count)
    return counts


@pytest.mark.parametrize(
    ("pairs", "task", "settings"),
    [
        ("pairs.tsv", "translate", RNN),
        ("pairs.csv", "translate", RNN),
        ("packed.tsv.gz", "translate", RNN),
        ("source.en,target.de", "translate", RNN),
        ("pairs.tsv", "translate", f"{RNN} text.joint=false text.target_tokenizer=word"),
        ("turns.tsv", "dialogue", f"{RNN} task.turns=2"),
        ("labelled.tsv", "classify", "model.kind=bag"),
        ("tagged.tsv", "tag", f"{RNN} text.tokenizer=char"),
        ("text.txt", "masked", RNN),
        ("text.txt", "denoise", RNN),
        ("text.txt", "language", f"{RNN} task.window=8"),
    ],
)
def test_each_file_is_read_twice(pairs: str, task: str, settings: str, files: Path, opened: Counter[str]) -> None:
    names = [str(files / name) for name in pairs.split(",")]
    recipe = files / "runs"
    recipe.mkdir()
    (recipe / "empty.toml").write_text("", "utf-8")
    overrides = [*SHORT, *settings.split()]
    train(",".join(names), out=recipe / "run", recipe=recipe / "empty.toml", overrides=overrides, task=task, quiet=True)
    assert opened == dict.fromkeys(pairs.split(","), 2)
    train(",".join(names), out=recipe / "run", overrides=overrides, quiet=True)
    assert max(opened.values()) == 3, "a run that continues hashes them: size and time do not show other content"


def test_a_look_at_a_large_file_reaches_its_end_and_reads_little(files: Path) -> None:
    lines = [f"{n}\t{'x' * 90}" for n in range(50_000)]
    (files / "large.tsv").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    sample = sample_of(files / "large.tsv")
    assert len(sample.bytes) <= HEAD + PIECES * (PIECE + 3) < (files / "large.tsv").stat().st_size / 10
    seen, known = sample.lines("utf-8"), set(lines)
    assert [line for piece in seen for line in piece if line not in known] == [], "whole lines only"
    assert seen[0][0] == lines[0] and seen[-1][-1] == lines[-1]
    assert len(sample_of(files / "pairs.tsv").lines("utf-8")[0]) == len(LINES["pairs.tsv"])


def test_the_validation_file_too_and_only_the_choice_of_a_recipe_looks_at_the_head(
    files: Path, opened: Counter[str]
) -> None:
    (files / "other.tsv").write_text("".join(f"more {line}\n" for line in LINES["pairs.tsv"]), "utf-8")
    opened.clear()
    out, valid = files / "runs" / "run", files / "other.tsv"
    train(files / "pairs.tsv", valid=valid, out=out, overrides=SHORT[:-2], quiet=True)
    assert opened == {"pairs.tsv": 3, "other.tsv": 2}


def test_a_given_tokenizer_changes_nothing(files: Path, opened: Counter[str]) -> None:
    runs = files / "runs"
    runs.mkdir()
    (runs / "empty.toml").write_text("", "utf-8")
    for name, tokenizer in (("first", None), ("second", runs / "first")):
        opened.clear()
        settings = SHORT if tokenizer is None else SHORT[:-1]
        given = {"recipe": runs / "empty.toml", "tokenizer": tokenizer, "quiet": True}
        train(files / "pairs.tsv", out=runs / name, overrides=[*settings, RNN], **given)
        assert opened == {"pairs.tsv": 2}


def test_the_spooled_texts_are_those_of_the_file(files: Path) -> None:
    """Also with line ends, tabs and nothing in them: no text is cut or joined on its way."""
    (files / "odd.jsonl").write_text('{"source": "a\\nb", "target": "\\t c \\u2028"}\n{"source": "d", "target": "é"}\n')
    spec = CorpusSpec.parse(str(files / "odd.jsonl"))
    with TextSpool(files, ("source", "target")) as spool:
        refuse_bad_data([spec], None, Config(), True, lambda text: None, [spool.add])
        assert list(spool.read(("source", "target"))) == ["a\nb", "\t c \u2028", "d", "é"]
        assert list(spool.read(("target",))) == ["\t c \u2028", "é"]
        assert spool.pairs == 2
    assert not [file for file in files.iterdir() if file.name not in {*LINES, "packed.tsv.gz", "odd.jsonl"}]


@pytest.mark.parametrize("name", ["pairs.tsv", "packed.tsv.gz", "padded.tsv.gz"])
def test_the_pass_hashes_the_bytes_on_the_disk(name: str, files: Path) -> None:
    (files / "padded.tsv.gz").write_bytes((files / "packed.tsv.gz").read_bytes() + bytes(5000))
    spec = CorpusSpec.parse(str(files / name))
    (report,) = refuse_bad_data([spec], None, Config(), False, lambda text: None)
    found = (files / name).stat()
    digest = hashlib.sha256((files / name).read_bytes()).hexdigest()
    assert report.hashes == ((str((files / name).resolve()), found.st_size, found.st_mtime_ns, digest),)


def test_a_file_that_is_not_read_to_its_end_has_no_hash(files: Path) -> None:
    hashes: list[FileHash] = []
    lines = read_lines(files / "text.txt", hashes=hashes)
    assert next(lines) == SENTENCES[0]
    assert hashes == []
    assert len(list(lines)) == len(SENTENCES) - 1
    assert len(hashes) == 1


def test_a_file_that_changed_after_the_pass_is_refused(files: Path) -> None:
    spec = CorpusSpec.parse(str(files / "pairs.tsv"))
    (report,) = refuse_bad_data([spec], None, Config(), False, lambda text: None)
    known = replace(spec, hashes=report.hashes)
    assert describe_corpus(known) == describe_corpus(spec)
    with (files / "pairs.tsv").open("a", encoding="utf-8") as file:
        file.write("new\tneu\n")
    with pytest.raises(DataError, match=r"pairs\.tsv: has changed since it was checked"):
        describe_corpus(known)
