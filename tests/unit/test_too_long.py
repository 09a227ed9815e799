"""Lines with more tokens than data.max_tokens: plain text is cut and nothing of it lost, else little may be lost."""

from pathlib import Path
from typing import Any

import pytest

from seqloom.config import Config, DataConfig, load_config
from seqloom.data.corpus import CorpusSpec
from seqloom.data.prepare import prepare
from seqloom.data.store import Store
from seqloom.errors import DataError
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.training.data import gather_data
from seqloom.training.request import Settled, TrainRequest

CHARS = learn_tokenizer("char", [], 260)
LIMIT = DataConfig(max_tokens=20, valid_pairs=2)
LONG = "one two  three four five six seven eight nine ten eleven"
LINES = [*(f"short {n}" for n in range(30)), LONG, "x" * 45, "last"]


def text_spec(tmp_path: Path, lines: list[str]) -> CorpusSpec:
    (tmp_path / "a.txt").write_text("\n".join(lines) + "\n", "utf-8")
    return CorpusSpec.parse(str(tmp_path / "a.txt"), form="text")


def texts_of(store: Store, tokenizer=CHARS) -> list[tuple[int, str]]:
    rows = range(len(store))
    return [(int(store.lines[row]), tokenizer.decode(store.pair_ids(row)[0])) for row in rows]


@pytest.mark.parametrize("kind", ["char", "bpe", "unigram", "word"])
def test_long_lines_of_text_are_cut_between_words_and_nothing_is_lost(kind: str, tmp_path: Path) -> None:
    tokenizer = learn_tokenizer(kind, LINES, 270)
    config = DataConfig(max_tokens=5 if kind == "word" else 20, valid_pairs=2)
    both, spec = Tokenizers(tokenizer, tokenizer), text_spec(tmp_path, LINES)
    train, _ = prepare(tmp_path / "store", [spec], both, config, 1, [spec])
    found = texts_of(train, tokenizer)
    for line, text in enumerate(LINES, 1):
        parts = [part for place, part in found if place == line]
        assert "".join("".join(parts).split()) == "".join(text.split())
        assert {word for part in parts for word in part.split()} == set(text.split()) or text.startswith("xx")
    assert max(train.source_lengths) <= config.max_tokens
    account = train.account
    assert (account.kept, account.total, account.excluded) == (len(LINES), len(LINES), {})
    assert account.cut == sum(len(ids) > config.max_tokens for ids in tokenizer.encode_batch(LINES)) > 0
    assert f"cut between words: {account.cut} (every part is used)" in account.render()
    assert len(train) > len(LINES)


def test_the_texts_of_parts_are_those_of_their_tokens(tmp_path: Path) -> None:
    spec = text_spec(tmp_path, LINES)
    _, valid = prepare(tmp_path / "store", [spec], Tokenizers(CHARS, CHARS), LIMIT, 1, [spec])
    assert [(pair.line, pair.source) for pair in valid.texts] == [
        (line, text.strip()) for line, text in texts_of(valid)
    ]
    assert [text for line, text in texts_of(valid) if line == 32] == ["x" * 20, "x" * 20, "x" * 5]


def test_one_long_line_is_text_enough(tmp_path: Path) -> None:
    spec = text_spec(tmp_path, [" ".join(f"word{n}" for n in range(2000))])
    train, valid = prepare(tmp_path / "store", [spec], Tokenizers(CHARS, CHARS), LIMIT, 1)
    words = [word for store in (train, valid) for _, text in texts_of(store) for word in text.split()]
    assert sorted(words) == sorted(f"word{n}" for n in range(2000))  # also beyond data.max_chars
    assert len(valid) == 2


def gather(folder: Path, spec: CorpusSpec, config: Config, **options: Any) -> tuple[Tokenizers, Store, Store]:
    request = TrainRequest((spec.name,), folder, quiet=True, **options)
    return gather_data(Settled(request, config, (spec,)))


@pytest.mark.parametrize("task", ["masked", "denoise"])
def test_training_on_plain_text_loses_none_of_it(task: str, tmp_path: Path) -> None:
    settings = [f"task.name={task}", "text.tokenizer=char", "text.vocab_size=300", "data.max_tokens=20"]
    told: list[str] = []
    (tmp_path / "run").mkdir()
    spec = text_spec(tmp_path, LINES)
    config = load_config(overrides=[*settings, "data.valid_pairs=2", "model.kind=transformer"])
    gathered = gather(tmp_path / "run", spec, config, tell=told.append)
    letters = sum(
        len(text.replace(" ", "")) for store in gathered[1:] for _, text in texts_of(store, gathered[0].source)
    )
    assert letters == sum(len(line.replace(" ", "")) for line in LINES)
    assert any("kept 33 of 33" in text and "cut between words: 2" in text for text in told)


def pairs_spec(tmp_path: Path, name: str, long_ones: int, of: int = 40) -> CorpusSpec:
    rows = [f"{'long ' * 5 * (n < long_ones)}{n}\tb" for n in range(of)]
    (tmp_path / name).write_text("\n".join(rows) + "\n", "utf-8")
    return CorpusSpec.parse(str(tmp_path / name))


def test_more_than_a_twentieth_is_not_lost_for_its_length_unless_that_is_allowed(tmp_path: Path) -> None:
    both = Tokenizers(CHARS, CHARS)
    few, many = pairs_spec(tmp_path, "few.tsv", 2), pairs_spec(tmp_path, "many.tsv", 4)
    assert prepare(tmp_path / "a", [few], both, LIMIT, 1)[0].account.excluded == {"too many tokens": 2}
    with pytest.raises(DataError) as caught:
        prepare(tmp_path / "b", [few, many], both, LIMIT, 1)  # the rule is for each file
    said = str(caught.value)
    assert said.startswith(f"{many.name}: 10.0% of the lines cannot be used; 5% may be lost.\n")
    assert "left out, too many tokens: 4 (lines 1, 2, 3, 4); the first: 26 tokens, data.max_tokens = 20" in said
    assert "4 of 40 lines have more than data.max_tokens = 20 tokens on a side, the longest 26." in said
    assert "--set data.max_tokens=26" in said and "--allow-loss" in said
    assert not list(tmp_path.glob("b*"))
    assert prepare(tmp_path / "b", [few, many], both, LIMIT, 1, allow_loss=True)[0].account.kept == 74
    with pytest.raises(DataError, match=r"many\.tsv: 10\.0%"):
        prepare(tmp_path / "c", [few], both, LIMIT, 1, [many])


def test_when_all_is_too_long_the_limit_is_told_and_no_loss_is_offered(tmp_path: Path) -> None:
    for allow_loss in (False, True):
        with pytest.raises(DataError) as caught:
            spec = pairs_spec(tmp_path, "all.tsv", 9, of=9)
            prepare(tmp_path / "a", [spec], Tokenizers(CHARS, CHARS), LIMIT, 1, allow_loss=allow_loss)
        said = str(caught.value)
        assert "9 of 9 lines have more than data.max_tokens = 20 tokens" in said
        assert "--set data.max_tokens=26" in said and "--allow-loss" not in said


def test_training_is_refused_for_long_lines_and_goes_on_when_allowed(tmp_path: Path) -> None:
    settings = ["text.tokenizer=char", "text.vocab_size=300", "data.max_tokens=20", "data.valid_pairs=2"]
    spec, config = pairs_spec(tmp_path, "many.tsv", 4), load_config(overrides=settings)
    (tmp_path / "run").mkdir()
    with pytest.raises(DataError, match=r"data\.max_tokens = 20"):
        gather(tmp_path / "run", spec, config)
    gather(tmp_path / "run", spec, config, allow_loss=True)
