"""Files of labels, tags and plain text become pairs; what does not fit becomes a fault with its line."""

import gzip
from pathlib import Path

import pytest

from seqloom.config import DataConfig
from seqloom.data.corpus import CorpusSpec, Fault, Pair, checked_rows, read_rows
from seqloom.data.doctor import examine_alone
from seqloom.data.prepare import prepare
from seqloom.errors import UsageError
from seqloom.text.labels import learn_labels
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import FIRST_WORD, PAD


def rows_of(file: Path, content: str, form: str, columns: str | None = None) -> list[tuple[object, ...]]:
    file.write_text(content, "utf-8")
    rows = read_rows(CorpusSpec.parse(str(file), columns, form=form))
    return [(r.line, r.source, r.target) if isinstance(r, Pair) else (r.line, r.kind, r.detail) for r in rows]


def test_a_label_then_a_tab_then_a_text(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "a.tsv", "very good\ta fine film\nbad\ta  dull one\n", "labelled") == [
        (1, "a fine film", "very▁good"),
        (2, "a  dull one", "bad"),
    ]


@pytest.mark.parametrize("name", ["sst.train", "sst.txt", "sst"])
def test_a_label_then_a_blank_then_a_text(name: str, tmp_path: Path) -> None:
    assert rows_of(tmp_path / name, "1 a fine film\n0  dull\n\n1\n", "labelled") == [
        (1, "a fine film", "1"),
        (2, "dull", "0"),
        (3, "missing column", "a blank line"),
        (4, "empty side", "a label ('1') without a text"),
    ]


def test_labels_may_be_packed(tmp_path: Path) -> None:
    file = tmp_path / "sst.train.gz"
    file.write_bytes(gzip.compress(b"1 a fine film\n"))
    assert list(read_rows(CorpusSpec.parse(str(file), form="labelled"))) == [Pair(1, "a fine film", ("1",))]


def test_lines_with_a_tab_make_a_table(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "a.txt", "1\ta fine film\n", "labelled") == [(1, "a fine film", "1")]


@pytest.mark.parametrize(("first", "kind"), [("", "a blank line"), ("# films and what was said", "1 column, want 2")])
def test_a_first_line_without_a_tab_hides_no_table(first: str, kind: str, tmp_path: Path) -> None:
    assert rows_of(tmp_path / "a.txt", f"{first}\nvery good\ta fine film\nbad\tdull\n", "labelled") == [
        (1, "missing column", kind),
        (2, "a fine film", "very▁good"),
        (3, "dull", "bad"),
    ]


def test_a_few_tabs_make_no_table_and_never_belong_to_a_label(tmp_path: Path) -> None:
    plain = "1 a fine film\n" * 5
    assert rows_of(tmp_path / "a.txt", f"0 dull\tand long\n0\tdull\n{plain}", "labelled")[:3] == [
        (1, "dull\tand long", "0"),
        (2, "dull", "0"),
        (3, "a fine film", "1"),
    ]


@pytest.mark.parametrize(("form", "names"), [("labelled", "label text"), ("tagged", "tokens tags")])
def test_faults_name_what_the_file_holds(form: str, names: str, tmp_path: Path) -> None:
    first, second = names.split()
    file = tmp_path / "a.tsv"
    assert [row[2] for row in rows_of(file, "\tx\nx\t\n\t\n", form)] == [first, second, f"{first} and {second}"]
    rows_of(file, "alone\n", form)
    told = examine_alone(CorpusSpec.parse(str(file), form=form), DataConfig(), allow_loss=False).render()
    assert f"write each line as {first}<TAB>{second}" in told and f"a line is {first}<TAB>{second}" in told
    assert "source" not in told and "target" not in told


def test_a_header_and_columns_say_which_is_the_label(tmp_path: Path) -> None:
    table = "text\tlabel\na fine film\tpos\n"
    assert rows_of(tmp_path / "a.tsv", table, "labelled")[1:] == [(2, "a fine film", "pos")]
    assert rows_of(tmp_path / "b.csv", "id,words,kind\n1,a fine film,pos\n", "labelled", "kind,words")[1:] == [
        (2, "a fine film", "pos")
    ]
    assert rows_of(tmp_path / "c.tsv", "a fine film\tpos\n", "labelled", "2,1") == [(1, "a fine film", "pos")]
    assert rows_of(tmp_path / "d.jsonl", '{"text": "fine", "label": "pos"}\n', "labelled") == [(1, "fine", "pos")]


def test_further_columns_are_a_fault_and_no_further_label(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("pos\tfine\tmore\n", "utf-8")
    (fault,) = checked_rows(CorpusSpec.parse(str(file), form="labelled"), DataConfig(), references=True)
    assert isinstance(fault, Fault) and fault.kind == "extra column"


def test_as_many_tags_as_words(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "a.tsv", "the end\tDET NOUN\nthe end\tDET\nend\tNOUN PUNCT\n\tDET\n", "tagged") == [
        (1, "the end", "DET NOUN"),
        (2, "ragged tags", "2 word(s), 1 tag(s)"),
        (3, "ragged tags", "1 word(s), 2 tag(s)"),
        (4, "empty side", "tokens"),
    ]


def test_tags_may_stand_in_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("the end\n", "utf-8")
    (tmp_path / "tags.txt").write_text("DET NOUN\n", "utf-8")
    spec = CorpusSpec.parse(f"{tmp_path}/words.txt,{tmp_path}/tags.txt", form="tagged")
    assert list(read_rows(spec)) == [Pair(1, "the end", ("DET NOUN",))]


def test_plain_text_and_running_text(tmp_path: Path) -> None:
    content = "one\n\n  \ntwo\tthree\n"
    assert rows_of(tmp_path / "a.txt", content, "text") == [
        (1, "one", ""),
        (2, "blank line", ""),
        (3, "blank line", ""),
        (4, "two\tthree", ""),
    ]
    assert rows_of(tmp_path / "b.txt", content, "stream") == [
        (1, "one", ""),
        (2, "", ""),
        (3, "  ", ""),
        (4, "two\tthree", ""),
    ]


@pytest.mark.parametrize(
    ("name", "columns", "said"), [("a.txt,a.txt", None, "one file"), ("a.txt", "1,2", "whole lines")]
)
def test_plain_text_is_one_file_of_whole_lines(name: str, columns: str | None, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n", "utf-8")
    files = ",".join(f"{tmp_path}/{part}" for part in name.split(","))
    with pytest.raises(UsageError, match=said):
        CorpusSpec.parse(files, columns, form="text")


@pytest.mark.parametrize("form", ["text", "stream"])
def test_nothing_but_blank_lines_is_no_text(form: str, tmp_path: Path) -> None:
    assert rows_of(tmp_path / "a.txt", "\n \n", form) == [(1, "blank line", ""), (2, "blank line", "")]
    report = examine_alone(CorpusSpec.parse(str(tmp_path / "a.txt"), form=form), DataConfig(), allow_loss=True)
    assert (report.kept, report.hard) == (0, True)
    assert "only blank lines" in report.render()


def test_blank_lines_before_running_text_are_part_of_it(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "a.txt", "\n \none\n\n", "stream") == [
        (1, "", ""),
        (2, " ", ""),
        (3, "one", ""),
        (4, "", ""),
    ]


@pytest.mark.parametrize(
    ("form", "said", "not_said"),
    [
        ("pairs", ["--fix OUT", "--columns", "source<TAB>target"], []),
        ("labelled", ["--columns", "label<TAB>text", "delete these lines"], ["--fix"]),
        ("tagged", ["--columns", "tokens<TAB>tags", "delete these lines"], ["--fix"]),
        ("text", ["a line is a text", "delete these lines"], ["--fix", "--columns", "separator"]),
        ("stream", ["a line is running text", "delete these lines"], ["--fix", "--columns", "separator"]),
    ],
)
def test_advice_names_only_what_works_for_such_files(
    form: str, said: list[str], not_said: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "latin.tsv"
    file.write_bytes("müde\n".encode("latin-1") * 3)
    told = examine_alone(CorpusSpec.parse(str(file), form=form), DataConfig(), allow_loss=False).render()
    assert "looks like windows-1252" in told and "--encoding windows-1252" in told
    assert [words for words in said if words not in told] == []
    assert [words for words in not_said if words in told] == []


def test_two_files_have_no_separator_to_check(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("\n")
    (tmp_path / "a.fr").write_text("\n")
    told = examine_alone(CorpusSpec.parse(f"{tmp_path}/a.en,{tmp_path}/a.fr"), DataConfig(), allow_loss=False).render()
    assert "no usable pair" in told and "--columns" not in told


def test_json_labels_may_be_numbers_or_truths(tmp_path: Path) -> None:
    lines = ['{"label": 1, "text": "fine"}', '{"label": true, "text": "x"}', '{"label": 0.5, "text": "y"}']
    lines += ['{"label": ["a"], "text": "z"}', '{"label": "a", "text": 7}']
    assert rows_of(tmp_path / "a.jsonl", "\n".join(lines), "labelled") == [
        (1, "fine", "1"),
        (2, "x", "true"),
        (3, "y", "0.5"),
        (4, "bad JSON", "field 'label' is not a text: ['a']"),
        (5, "bad JSON", "field 'text' is not a text: 7"),
    ]
    assert rows_of(tmp_path / "b.jsonl", '{"src": 1, "tgt": "x"}\n', "pairs")[0][1] == "bad JSON"


def test_json_words_and_tags_may_be_lists(tmp_path: Path) -> None:
    lines = [
        '{"tokens": ["the", "end"], "tags": ["DET", "NOUN"]}', '{"tokens": ["the", "end"], "tags": [0, 7]}',
        '{"tokens": "the end", "tags": ["DET", "NOUN"]}', '{"tokens": ["New York"], "tags": ["X", "Y"]}',
        '{"tokens": ["a", ""], "tags": ["X", "Y"]}', '{"tokens": ["a"], "tags": ["X", "Y"]}',
        '{"tokens": [], "tags": []}', '{"tokens": [1], "tags": ["X"]}',
    ]  # fmt: skip
    found = rows_of(tmp_path / "a.jsonl", "\n".join(lines), "tagged")
    assert found[:3] == [(1, "the end", "DET NOUN"), (2, "the end", "0 7"), (3, "the end", "DET NOUN")]
    assert [(line, kind) for line, kind, _ in found[3:]] == [
        (4, "bad JSON"), (5, "bad JSON"), (6, "ragged tags"), (7, "empty side"), (8, "bad JSON"),
    ]  # fmt: skip
    assert "list of words without blanks: ['New York']" in str(found[3][2])


def test_json_fields_with_other_names_are_asked_for_by_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"line 1: which fields are label and text\? .* --columns label,text"):
        rows_of(tmp_path / "a.jsonl", '{"mark": 5, "remark": "fine"}\n', "labelled")
    assert rows_of(tmp_path / "a.jsonl", '{"mark": 5, "remark": "fine"}\n', "labelled", "mark,remark") == [
        (1, "fine", "5")
    ]


def test_blank_lines_part_texts_and_are_not_lost_ones(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\n\n" * 30, "utf-8")
    report = examine_alone(CorpusSpec.parse(str(file), form="text"), DataConfig(), allow_loss=False)
    assert (report.kept, report.total, report.hard) == (30, 30, False)


def build(tmp_path: Path, form: str, train: str, valid: str):
    for name, content in (("train.tsv", train), ("valid.tsv", valid)):
        (tmp_path / name).write_text(content, "utf-8")
    specs = [CorpusSpec.parse(str(tmp_path / name), form=form) for name in ("train.tsv", "valid.tsv")]
    pairs = [row for row in read_rows(specs[0]) if isinstance(row, Pair)]
    source = learn_tokenizer("bpe", [pair.source for pair in pairs], 270)
    tokenizers = Tokenizers(source, learn_labels(pair.target for pair in pairs))
    return tokenizers, *prepare(tmp_path / "store", specs[:1], tokenizers, DataConfig(max_tokens=50), 1, specs[1:])


def test_a_store_of_labels_leaves_unknown_ones_out_and_says_where(tmp_path: Path) -> None:
    tokenizers, train, valid = build(
        tmp_path, "labelled", "very good\tfine\nbad\tdull\n", "bad\tx\nfair\ty\nso so\tz\n"
    )
    assert [train.pair_ids(row)[1] for row in range(2)] == [tokenizers.target.encode(w) for w in ("very▁good", "bad")]
    assert len(valid) == 1
    assert valid.account.excluded == {"unknown label": 2}
    excluded = (tmp_path / "store" / "excluded.tsv").read_text("utf-8")
    assert f"{tmp_path}/valid.tsv\t2\tunknown label: fair\n" in excluded
    assert f"{tmp_path}/valid.tsv\t3\tunknown label: so so\n" in excluded


def test_a_store_of_tags_is_as_long_on_both_sides(tmp_path: Path) -> None:
    train = "the unlikely end\tDET ADJ NOUN\nan\u2003end\x1cof\tDET NOUN ADP\n"  # blanks of all sorts part words
    tokenizers, store, valid = build(tmp_path, "tagged", train, "end zzz\tNOUN X\nend\tNOUN\n")
    for row, words in enumerate((3, 3)):
        source, target = store.pair_ids(row)
        assert len(source) == len(target)
        assert len([tag for tag in target if tag >= FIRST_WORD]) == words
        assert set(target) & {1, 2, 3} == set()
        assert len([tag for tag in target if tag == PAD]) == len(target) - words
    assert tokenizers.target.decode(tag for tag in store.pair_ids(1)[1] if tag != PAD) == "DET NOUN ADP"
    assert len(valid) == 1
    assert valid.account.first == {"unknown label": [(f"{tmp_path}/valid.tsv", 1)]}
