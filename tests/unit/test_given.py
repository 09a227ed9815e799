"""Pairs given to Python as objects: the same pairs as from a file, the same errors, exact resume."""

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import seqloom
from seqloom.data.corpus import Pair, ReadAs, read_rows
from seqloom.data.given import GIVEN, Given, named_or_given, spool_given
from seqloom.errors import DataError, UsageError
from seqloom.training import run as running

PAIRS = [(f"word {n} and {n * 7}", f"mot {n} et {n * 7}") for n in range(60)]
SETTINGS = [
    "model.kind=rnn", "model.width=8", "model.layers=1", "train.max_steps=3", "train.schedule=constant",
    "text.tokenizer=char", "text.vocab_size=300", "data.valid_pairs=5", "train.threads=1",
]  # fmt: skip


class Frame:
    """What given.py uses of a pandas DataFrame; `test_a_real_data_frame` uses pandas where it is installed."""

    def __init__(self, **columns: list[Any]) -> None:
        self.table, self.columns = list(columns.values()), list(columns)

    def itertuples(self) -> Iterator[tuple[Any, ...]]:
        return zip(*self.table, strict=True)

    def head(self, number: int) -> "Frame":
        return Frame(**{name: cells[:number] for name, cells in zip(self.columns, self.table, strict=True)})

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    @property
    def iloc(self) -> "Places":
        return Places(self.table)


class Places:
    """Columns by their places: frame.iloc[:, 1]"""

    def __init__(self, table: list[list[Any]]) -> None:
        self.table = table

    def __getitem__(self, key: tuple[slice, int]) -> list[Any]:
        return self.table[key[1]]


def frame(**columns: list[Any]) -> Frame:
    return Frame(**columns)


def read(pairs: Any, folder: Path, columns: str | None = None, form: str = "pairs") -> tuple[list[Any], list[str]]:
    given = named_or_given(pairs)
    assert isinstance(given, Given)
    uses: list[str] = []
    rows = list(read_rows(spool_given(folder, "given", given, ReadAs(columns), form=form), uses=uses))
    return [(row.source, row.target) if isinstance(row, Pair) else row.kind for row in rows], uses


@pytest.mark.parametrize("kind", ["list", "lists", "iterator", "generator", "zip", "objects"])
def test_every_kind_of_object_gives_the_same_pairs(kind: str, tmp_path: Path) -> None:
    given = {
        "list": PAIRS,
        "lists": [list(pair) for pair in PAIRS],
        "iterator": iter(PAIRS),
        "generator": (pair for pair in PAIRS),
        "zip": zip(*zip(*PAIRS, strict=True), strict=True),
        "objects": [{"en": source, "fr": target} for source, target in PAIRS],
    }[kind]
    found, uses = read(given, tmp_path)
    assert found == PAIRS
    assert uses == (["field 'en'", "field 'fr'"] if kind == "objects" else ["field 'source'", "field 'target'"])


def test_texts_that_a_line_cannot_hold_stay_whole(tmp_path: Path) -> None:
    odd = [("a\nb\tc", "\u2028 d"), ('"quoted", text', "e\r")]
    assert read(odd, tmp_path)[0] == odd


def test_a_data_frame_by_its_names_its_texts_or_the_columns_that_are_asked_for(tmp_path: Path) -> None:
    english, french = ([pair[side] for pair in PAIRS] for side in (0, 1))
    found, uses = read(frame(id=list(range(60)), French=french, English=english), tmp_path, "English,French")
    assert (found, uses) == (PAIRS, ["field 'English'", "field 'French'"])
    found, uses = read(frame(id=list(range(60)), English=english, French=french), tmp_path)
    assert (found, uses) == (PAIRS, ["field 'English'", "field 'French'"])
    found, uses = read(frame(n=list(range(60)), phrase=english, traduction=french), tmp_path)
    assert (found, uses) == (PAIRS, ["field 'phrase'", "field 'traduction'"])
    assert read(frame(x=english, **{"a,b": french}), tmp_path)[0] == PAIRS
    assert read(frame(a=english, b=french, c=english), tmp_path, "3,2")[0] == PAIRS
    with pytest.raises(UsageError, match=r"which columns of the DataFrame are source and target\? It has: a, b, c"):
        read(frame(a=english, b=french, c=english), tmp_path)
    with pytest.raises(UsageError, match="no column 'd'; it has: a, b"):
        read(frame(a=english, b=french), tmp_path, "a,d")
    with pytest.raises(UsageError, match="label and text"):
        read(frame(a=english, b=french), tmp_path, form="labelled")


def test_missing_cells_are_empty_and_numbers_are_reported(tmp_path: Path) -> None:
    table = frame(en=["a", None, math.nan, "d", "e"], fr=["A", "B", "C", 7, "E"])
    assert read(table, tmp_path)[0] == [("a", "A"), "empty side", "empty side", "bad JSON", ("e", "E")]


def test_a_real_data_frame(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"n": range(60), "English": [s for s, _ in PAIRS], "French": [t for _, t in PAIRS]})
    assert read(table, tmp_path) == (PAIRS, ["field 'English'", "field 'French'"])
    table.loc[3, "French"] = None
    assert read(table, tmp_path)[0][3] == "empty side"
    assert read(pandas.DataFrame(PAIRS), tmp_path)[0] == PAIRS  # its columns are 0 and 1
    assert seqloom.doctor(table).reports[0].kept == 59


@pytest.mark.parametrize("verb", ["train", "doctor", "evaluate"])
@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (
            ["train.en", "train.fr"],
            r"pair 1: got 'train.en'.*Pairs are tuples.*\"train.en,train.fr\".*mix=\[\"b.tsv\"\]",
        ),
        ([Path("a.tsv"), Path("b.tsv")], "Pairs are tuples"),
        (None, "got NoneType; want the name of a file, or pairs"),
        ([("a", "b"), ("c",)], r"pair 2: got \('c',\); want \(source, target\)"),
        ([], "the given pairs: there are none; is the iterator used up"),
        (7, "got int"),
    ],
)
def test_what_is_not_pairs_is_refused_with_the_ways_out(
    verb: str, pairs: Any, said: str, tmp_path: Path, random_model: Path
) -> None:
    calls: dict[str, Any] = {
        "train": lambda: seqloom.train(pairs, out=tmp_path / "run", overrides=SETTINGS, quiet=True),
        "doctor": lambda: seqloom.doctor(pairs),
        "evaluate": lambda: seqloom.evaluate(random_model, pairs, quiet=True),
    }
    with pytest.raises(UsageError, match=said):
        calls[verb]()
    assert not (tmp_path / "run").exists()


def test_the_doctor_examines_objects_and_compares_them(tmp_path: Path) -> None:
    checkup = seqloom.doctor([*PAIRS, ("alone", ""), PAIRS[0]], test=iter(PAIRS[:2]), fix=tmp_path / "clean.tsv")
    (report,) = checkup.reports
    assert (report.name, report.kept, report.unusable) == (GIVEN, 61, {"empty side": 1})
    assert {finding.kind: finding.lines for finding in report.findings} == {
        "empty side": [61], "duplicate": [62], "overlap": [1, 2, 62],
    }  # fmt: skip
    assert len((tmp_path / "clean.tsv").read_text().splitlines()) == 58


@pytest.fixture(scope="module")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("given") / "run"
    threads = torch.get_num_threads()
    seqloom.train(PAIRS, out=out, overrides=SETTINGS, quiet=True)
    torch.set_num_threads(threads)
    return out


def weights(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def test_training_on_objects_equals_training_on_a_file(random_model: Path, tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS), "utf-8")
    seqloom.train(tmp_path / "pairs.tsv", out=tmp_path / "run", overrides=SETTINGS, quiet=True)
    assert weights(tmp_path / "run") == weights(random_model)


@pytest.mark.parametrize("again", ["the same", pytest.param("used up", marks=pytest.mark.slow)])
def test_a_stopped_run_continues_exactly_with_the_same_call(
    again: str, random_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    real = running.train_model

    def stop(run: Any, began: float, signals: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "train_model", stop)
    with pytest.raises(KeyboardInterrupt):
        seqloom.train(iter(PAIRS), out=out, valid=PAIRS[:5], overrides=SETTINGS, quiet=True)
    monkeypatch.setattr(running, "train_model", real)
    short = [*SETTINGS[:3], "train.max_steps=2", *SETTINGS[4:]]
    seqloom.train(iter(PAIRS), out=out, valid=iter(PAIRS[:5]), overrides=short, quiet=True)
    assert (out / "run.json").is_file() and (out / "given.jsonl").is_file()
    pairs: Iterator[Any] = iter(PAIRS if again == "the same" else [])
    done = seqloom.train(pairs, out=out, valid=PAIRS[:5], overrides=SETTINGS, quiet=True)
    whole = seqloom.train(PAIRS, out=tmp_path / "whole", valid=PAIRS[:5], overrides=SETTINGS, quiet=True)
    assert (done.facts.step, weights(out)) == (3, weights(whole.run))
    with pytest.raises(UsageError, match=r"the given pairs: other pairs than .*given\.jsonl"):
        seqloom.train(PAIRS[1:], out=out, valid=PAIRS[:5], overrides=SETTINGS, quiet=True)
    with pytest.raises(UsageError, match=r"other pairs than .*given-valid\.jsonl"):
        seqloom.train(PAIRS, out=out, valid=PAIRS[1:6], overrides=SETTINGS, quiet=True)


def test_hard_faults_of_objects_name_the_doctor_of_python(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"the given pairs: kept 1 of 2 pairs(.|\n)*`seqloom.doctor\(pairs\)` shows all"
    ):
        seqloom.train([("a", "b"), ("c", "")], out=tmp_path / "run", overrides=SETTINGS, quiet=True)


def test_evaluating_scoring_and_labels(random_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS[:9]), "utf-8")
    from_file = seqloom.evaluate(random_model, tmp_path / "test.tsv", beam=1, quiet=True)
    given = seqloom.evaluate(random_model, PAIRS[:9], beam=1)
    assert given.scores == from_file.scores
    assert "seqloom-" not in capsys.readouterr().err
    sources, targets = zip(*PAIRS[:4], strict=True)
    wanted = seqloom.score(random_model, sources, targets)
    for pairs in (PAIRS[:4], iter(PAIRS[:4]), frame(en=list(sources), fr=list(targets))):
        assert seqloom.score(random_model, pairs) == wanted
    labelled = [("good" if n % 2 else "bad", f"film {n}") for n in range(60)]
    checkup = seqloom.doctor(labelled, task="classify")
    assert "field 'label' is the label, field 'text' the text; line 1: bad | film 0" in checkup.reports[0].reads
    assert seqloom.doctor(["one text", "another text"], task="language").reports[0].kept == 2
    (tmp_path / "book.txt").write_text("x\n", "utf-8")
    with pytest.raises(UsageError, match=r"text 1: got .*want texts, or one file by its name alone"):
        seqloom.doctor([str(tmp_path / "book.txt")], task="language")
