"""One tokenizer for a ladder: learned once, and never taken for that of other data or settings."""

import json
from pathlib import Path

import pytest

from seqloom.config import Config, load_config
from seqloom.data.corpus import CorpusSpec
from seqloom.errors import ModelError, UsageError
from seqloom.ladder import tokenizer as ladder_tokenizer
from seqloom.ladder.tokenizer import make_tokenizer
from seqloom.text.sides import Tokenizers

WORDS = ("text.tokenizer=word", "text.vocab_size=50")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "ladder"
    folder.mkdir()
    return folder


def write(folder: Path, text: str = "one two\tdeux un\nthree\ttrois\n") -> CorpusSpec:
    file = folder / "pairs.tsv"
    file.write_text(text * 20, "utf-8")
    return CorpusSpec.parse(str(file))


def make(out: Path, *settings: str, text: str | None = None) -> Tokenizers:
    spec = write(out.parent, text) if text else write(out.parent)
    config: Config = load_config(None, [*WORDS, *settings])
    return make_tokenizer(out, spec, None, config, True, lambda told: None, True)


def test_it_is_learned_once(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = make(out)
    assert first.fingerprint == Tokenizers.load(out).fingerprint
    monkeypatch.setattr(ladder_tokenizer, "learn_tokenizers", lambda *_: pytest.fail("learned again"))
    assert make(out, "model.width=8", "data.max_tokens=9").fingerprint == first.fingerprint


def test_what_was_left_before_the_end_is_learned_anew(out: Path) -> None:
    first = make(out)
    (out / "ladder.json").write_text("{}", "utf-8")
    (out / "tokenizer" / "tokenizer.json").write_text("{", "utf-8")
    assert make(out).fingerprint == first.fingerprint


@pytest.mark.parametrize(
    ("settings", "text", "said"),
    [
        (["text.vocab_size=40"], None, r"text.vocab_size: 50 there, 40 now"),
        (["text.tokenizer=char"], None, r"text.tokenizer: 'word' there, 'char' now"),
        (["data.normalise=nfc"], None, r"data.normalise: 'none' there, 'nfc' now"),
        ([], "one two\tdeux un\nfour\tquatre\n", r"hash of the data: '\w{12}' there, '\w{12}' now"),
    ],
)
def test_other_data_and_settings_are_refused(out: Path, settings: list[str], text: str | None, said: str) -> None:
    make(out)
    with pytest.raises(UsageError, match=said):
        make(out, *settings, text=text)


@pytest.mark.parametrize("file", ["tokenizer/tokenizer.json", "ladder.json"])
def test_a_damaged_file_is_named_and_left_alone(out: Path, file: str) -> None:
    make(out)
    (out / file).write_text("{", "utf-8")
    with pytest.raises(ModelError, match=Path(file).name):
        make(out)
    assert (out / file).read_text("utf-8") == "{"


def test_the_file_can_be_moved_and_renamed(out: Path) -> None:
    first = make(out)
    moved = out.parent / "other.tsv"
    (out.parent / "pairs.tsv").rename(moved)
    spec = CorpusSpec.parse(str(moved))
    again = make_tokenizer(out, spec, None, load_config(None, [*WORDS]), True, lambda told: None, True)
    assert again.fingerprint == first.fingerprint
    assert "text.vocab_size" in json.loads((out / "ladder.json").read_text("utf-8"))
