"""The token store: every pair is in it or in the account, it is built once, and a kill never leaves half of one."""

import errno
import gzip
import json
import os
import random
from pathlib import Path

import numpy as np
import pytest

from seqloom.config import DataConfig
from seqloom.data import corpus, origin
from seqloom.data import store_builder as build
from seqloom.data.corpus import CorpusSpec
from seqloom.data.hold_out import HoldOut
from seqloom.data.prepare import prepare, wanted_data_hash
from seqloom.data.store import Store
from seqloom.errors import DataError, UsageError, WriteError
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers

BPE = learn_tokenizer("bpe", ["the cat sat on the mat", "die katze saß auf der matte"] * 3, 300)
WORD = learn_tokenizer("word", ["the cat sat on the mat"], 20)
JOINT = Tokenizers(BPE, BPE)
CONFIG = DataConfig(valid_pairs=20)


def write_pairs(file, pairs):
    file.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    return CorpusSpec.parse(str(file))


@pytest.fixture
def pairs():
    draw = random.Random(3)
    return [(f"the cat {n}", "saß " * draw.randint(1, 8) + str(n)) for n in range(300)]


@pytest.fixture
def spec(tmp_path, pairs):
    return write_pairs(tmp_path / "pairs.tsv", pairs)


def texts_of(store, tokenizers=JOINT):
    ids = [store.pair_ids(index) for index in range(len(store))]
    return [(tokenizers.source.decode(source), tokenizers.target.decode(target)) for source, target in ids]


@pytest.mark.parametrize("chunk", [1, 7, 4096])
def test_every_pair_is_in_one_part_and_knows_its_line(tmp_path, pairs, spec, chunk, monkeypatch):
    monkeypatch.setattr(corpus, "MOST_ROWS", chunk)
    train, valid = prepare(tmp_path / "store", [spec], JOINT, CONFIG, seed=1)
    assert len(valid) == 20 and len(train) == 280 and train.held_out
    for store in (train, valid):
        assert texts_of(store) == [pairs[line - 1] for line in store.lines]
        assert list(store.lines) == sorted(store.lines)
    assert sorted([*train.lines, *valid.lines]) == list(range(1, 301))
    assert [(pair.line, pair.source, pair.targets[0]) for pair in valid.texts] == [
        (line, *pairs[line - 1]) for line in valid.lines
    ]
    assert train.where(0) == f"{spec.name}:{train.lines[0]}"
    assert train._ids["source"].dtype == np.uint16


def test_a_large_vocabulary_takes_wider_ids(tmp_path, spec, monkeypatch):
    monkeypatch.setattr(type(BPE), "__len__", lambda self: 70_000)
    train, _ = prepare(tmp_path / "store", [spec], JOINT, CONFIG, seed=1)
    assert train._ids["source"].dtype == np.uint32
    assert texts_of(train)[0][0].startswith("the cat")


def test_one_tokenizer_a_side(tmp_path, pairs, spec):
    sides = Tokenizers(WORD, BPE)
    train, _ = prepare(tmp_path / "store", [spec], sides, CONFIG, seed=1)
    index = list(train.lines).index(int(train.lines[5]))
    source, target = train.pair_ids(index)
    assert WORD.decode(source) == "the cat" and BPE.decode(target) == pairs[train.lines[index] - 1][1]


def test_lengths_count_no_end_of_sentence(tmp_path, pairs, spec):
    train, _ = prepare(tmp_path / "store", [spec], JOINT, CONFIG, seed=1)
    assert train.source_lengths.dtype == train.target_lengths.dtype == np.int32
    assert list(train.target_lengths) == [len(BPE.encode(pairs[line - 1][1])) for line in train.lines]
    assert list(train.source_lengths) == [len(BPE.encode(pairs[line - 1][0])) for line in train.lines]


def test_take_gives_the_rows_asked_for(tmp_path, spec):
    train, _ = prepare(tmp_path / "store", [spec], JOINT, CONFIG, seed=1)
    flat, lengths = train.take("target", np.array([9, 2, 9]))
    assert flat.tolist() == train.pair_ids(9)[1] + train.pair_ids(2)[1] + train.pair_ids(9)[1]
    assert lengths.tolist() == [len(train.pair_ids(n)[1]) for n in (9, 2, 9)]


def test_what_is_left_out_is_accounted_for(tmp_path):
    rows = [f"the cat {n}\tkatze" for n in range(60)]
    rows[4] = "one column"
    rows[9] = "the mat\t" + "xyz " * 100
    rows[10] = "\tempty"
    rows[20] = "a\tb\tc"
    rows[30] = "y" * 101 + "\tlong"
    rows[40:52] = ["blank"] * 12
    rows += ["none"] * 15
    file = tmp_path / "pairs.tsv"
    file.write_text("\n".join(rows) + "\n")
    config = DataConfig(valid_pairs=3, max_tokens=99, max_chars=450)
    train, valid = prepare(tmp_path / "store", [CorpusSpec.parse(str(file))], JOINT, config, seed=1, allow_loss=True)
    account = train.account
    assert (account.total, account.kept) == (75, 43) == (75, len(train) + len(valid))
    assert account.excluded == {"missing column": 28, "too many tokens": 2, "empty side": 1, "extra column": 1}
    assert account.first["too many tokens"] == [(str(file), 10), (str(file), 31)]
    assert account.first["missing column"] == [(str(file), line) for line in (5, *range(41, 53), *range(61, 68))]
    listing = [line.split("\t") for line in (tmp_path / "store" / "excluded.tsv").read_text().splitlines()]
    assert listing[0] == ["file", "line", "reason"]
    assert [int(line) for _, line, _ in listing[1:]] == [5, 10, 11, 21, 31, *range(41, 53), *range(61, 76)]
    assert listing[2][0] == str(file) and "tokens, data.max_tokens = 99" in listing[2][2]
    assert "kept 43 of 75 pairs" in account.render() and "too many tokens: 2 (lines 10, 31)" in account.render()


def test_the_limit_on_tokens_is_the_longest_that_fits(tmp_path):
    spec = write_pairs(tmp_path / "p.tsv", [("a" * n, "b") for n in range(1, 31)])
    plain = learn_tokenizer("char", [], 260)
    config, both = DataConfig(max_tokens=20), Tokenizers(plain, plain)
    train, valid = prepare(tmp_path / "store", [spec], both, config, seed=1, allow_loss=True)
    assert max([*train.source_lengths, *valid.source_lengths]) == 20
    assert train.account.excluded == {"too many tokens": 10}


def test_a_header_is_no_pair(tmp_path, pairs):
    spec = write_pairs(tmp_path / "p.tsv", [("source", "target"), *pairs])
    train, _ = prepare(tmp_path / "store", [spec], JOINT, CONFIG, seed=1)
    assert (train.account.total, train.account.kept, train.account.excluded) == (300, 300, {})


def test_valid_files_of_their_own_keep_every_reference(tmp_path, spec):
    file = tmp_path / "valid.tsv"
    file.write_text("the mat\tmatte\tdie matte\nthe cat\tkatze\n")
    train, valid = prepare(tmp_path / "store", [spec], JOINT, CONFIG, 1, [CorpusSpec.parse(str(file))])
    assert len(train) == 300 and len(valid) == 2 and not valid.held_out
    assert texts_of(valid) == [("the mat", "matte"), ("the cat", "katze")]
    assert valid.texts[0].targets == ("matte", "die matte")
    assert (valid.account.total, train.account.total) == (2, 300)
    assert valid.where(1) == f"{file}:2"


def test_several_corpora(tmp_path, pairs, spec):
    other = write_pairs(tmp_path / "other.tsv", [("the mat", "matte"), ("on", "auf")] * 10)
    heavy = CorpusSpec.parse(str(tmp_path / "other.tsv"), weight=2.5)
    train, valid = prepare(tmp_path / "store", [spec, heavy], JOINT, CONFIG, 1)
    assert train.weights == [1.0, 2.5] and train.names == [spec.name, other.name]
    everything = {(int(c), int(n)) for store in (train, valid) for c, n in zip(store.corpora, store.lines, strict=True)}
    assert everything == {(0, n) for n in range(1, 301)} | {(1, n) for n in range(1, 21)}


def test_no_usable_pair_and_unequal_files(tmp_path):
    file = tmp_path / "p.tsv"
    file.write_text("a\nb\n")
    with pytest.raises(DataError, match=r"p\.tsv: no usable pair"):
        prepare(tmp_path / "store", [CorpusSpec.parse(str(file))], JOINT, CONFIG, 1)
    (tmp_path / "a.en").write_text("a\nb\n")
    (tmp_path / "a.de").write_text("a\n")
    with pytest.raises(DataError, match="differ in length from line 2"):
        prepare(tmp_path / "store", [CorpusSpec.parse(f"{tmp_path}/a.en,{tmp_path}/a.de")], JOINT, CONFIG, 1)
    assert not list(tmp_path.glob("*store*"))  # nothing half-built is left


def test_too_few_sources_to_hold_any_out(tmp_path):
    spec = write_pairs(tmp_path / "p.tsv", [("same", str(n)) for n in range(50)])
    with pytest.raises(DataError, match="--valid"):
        prepare(tmp_path / "store", [spec], JOINT, CONFIG, 1)


# ---- hold-out


def test_the_same_source_is_never_in_both_parts(tmp_path):
    draw = random.Random(5)
    spec = write_pairs(tmp_path / "p.tsv", [(f"source {draw.randint(0, 80)}", f"t {n}") for n in range(600)])
    train, valid = prepare(tmp_path / "store", [spec], JOINT, DataConfig(valid_pairs=50), 1)
    sources = [{source for source, _ in texts_of(store)} for store in (train, valid)]
    assert not sources[0] & sources[1]
    assert 30 <= len(valid) <= 50


def test_hold_out_is_a_function_of_seed_and_texts(tmp_path, pairs, spec):
    def held(name, specs, seed):
        return {text for text, _ in texts_of(prepare(tmp_path / name, specs, JOINT, CONFIG, seed)[1])}

    shuffled = write_pairs(tmp_path / "shuffled.tsv", random.Random(1).sample(pairs, len(pairs)))
    first = held("a", [spec], 1)
    assert held("b", [spec], 1) == first == held("c", [shuffled], 1)
    assert held("d", [spec], 2) != first


def test_at_most_a_tenth_is_held_out(tmp_path):
    spec = write_pairs(tmp_path / "p.tsv", [(f"s {n}", "t") for n in range(95)])
    assert len(prepare(tmp_path / "a", [spec], JOINT, DataConfig(), 1)[1]) == 9
    two = write_pairs(tmp_path / "two.tsv", [("a", "b"), ("c", "d")])
    train, valid = prepare(tmp_path / "b", [two], JOINT, DataConfig(), 1)
    assert (len(train), len(valid)) == (1, 1)


@pytest.mark.parametrize("seed", range(8))
def test_candidates_are_always_whole_groups(seed):
    draw = random.Random(seed)
    rows = [(f"text {int(draw.paretovariate(0.6)) % 40}", n) for n in range(400)]
    held = HoldOut(30, seed)
    for text, number in rows:
        held.add(text, number)
    chosen = set(held.choose(25))
    texts = {text for text, number in rows if number in chosen}
    assert chosen == {number for text, number in rows if text in texts}
    assert 0 < len(chosen) <= 25
    assert held.size == sum(map(len, held.groups.values())) <= 4 * 30


# ---- built once


def test_an_unchanged_store_is_not_built_again(tmp_path, spec, monkeypatch):
    first, _ = prepare(tmp_path / "store", [spec], JOINT, CONFIG, 1)
    before = (tmp_path / "store" / "manifest.json").stat().st_mtime_ns
    (hashed,) = origin.with_hashes([spec])
    monkeypatch.setattr(origin, "open_bytes", lambda *_: pytest.fail("hashed in this call: no need to read again"))
    again, _ = prepare(tmp_path / "store", [hashed], JOINT, CONFIG, 1)
    assert (tmp_path / "store" / "manifest.json").stat().st_mtime_ns == before
    assert again.data_hash == first.data_hash


def rebuilt(folder, *arguments):
    """Whether `prepare` builds anew; the inode of a file tells."""
    before = (folder / "manifest.json").stat().st_ino, (folder / "manifest.json").stat().st_mtime_ns
    wanted = wanted_data_hash(*arguments)
    train, _ = prepare(folder, *arguments)
    assert train.data_hash == wanted
    return before != ((folder / "manifest.json").stat().st_ino, (folder / "manifest.json").stat().st_mtime_ns)


def test_touching_or_moving_the_file_does_not_matter_but_changing_it_does(tmp_path, pairs, spec):
    folder = tmp_path / "store"
    first = prepare(folder, [spec], JOINT, CONFIG, 1)[0].data_hash
    os.utime(tmp_path / "pairs.tsv", ns=(1, 1))
    assert not rebuilt(folder, [spec], JOINT, CONFIG, 1)
    moved = write_pairs(tmp_path / "moved.tsv", pairs)
    assert not rebuilt(folder, [moved], JOINT, CONFIG, 1)
    changed = write_pairs(tmp_path / "pairs.tsv", [("new", "neu"), *pairs[1:]])
    assert rebuilt(folder, [changed], JOINT, CONFIG, 1)
    train, valid = Store.open(folder), Store.open(folder, "valid")
    assert train.data_hash != first and ("new", "neu") in texts_of(train) + texts_of(valid)


def test_another_tokenizer_setting_seed_or_weight_matters(tmp_path, spec):
    folder = tmp_path / "store"
    heavy = CorpusSpec.parse(str(tmp_path / "pairs.tsv"), weight=2)
    prepare(folder, [spec], JOINT, CONFIG, 1)
    hashes = {Store.open(folder).data_hash}
    for arguments in [
        ([spec], Tokenizers(BPE, WORD), CONFIG, 1),
        ([spec], JOINT, DataConfig(valid_pairs=21), 1),
        ([spec], JOINT, DataConfig(valid_pairs=20, max_tokens=30), 1),
        ([spec], JOINT, DataConfig(valid_pairs=20, normalise="nfc"), 1),
        ([spec], JOINT, CONFIG, 2),
        ([heavy], JOINT, CONFIG, 1),
        ([spec], JOINT, CONFIG, 1, [spec]),
    ]:
        assert rebuilt(folder, *arguments)
        hashes.add(Store.open(folder).data_hash)
    assert len(hashes) == 8
    assert not rebuilt(folder, [spec], JOINT, CONFIG, 2, [spec])  # the seed only chooses what is held out


def test_wanted_data_hash_touches_nothing(tmp_path, spec):
    assert len(wanted_data_hash([spec], JOINT, CONFIG, 1)) == 64
    assert not (tmp_path / "store").exists()


def test_a_file_that_changes_after_it_was_checked_is_noticed(tmp_path, spec):
    """Also one with the same size and time: its content is hashed again while it is encoded."""
    file, (hashed,) = tmp_path / "pairs.tsv", origin.with_hashes([spec])
    before, content = file.stat(), file.read_bytes()
    file.write_bytes(content.replace(b"the cat 7\t", b"the dog 7\t"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(DataError, match=r"pairs\.tsv: has changed since it was checked"):
        prepare(tmp_path / "store", [hashed], JOINT, CONFIG, 1)
    assert not (tmp_path / "store").exists()
    file.write_bytes(content + b"more\tmehr\n")
    with pytest.raises(DataError, match=r"pairs\.tsv: has changed since it was checked"):
        prepare(tmp_path / "store", [hashed], JOINT, CONFIG, 1)


def test_other_content_of_the_same_size_and_time_is_other_data(tmp_path, spec):
    file = tmp_path / "pairs.tsv"
    first, before = wanted_data_hash([spec], JOINT, CONFIG, 1), file.stat()
    file.write_bytes(file.read_bytes().replace(b"the cat 7\t", b"the dog 7\t"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert wanted_data_hash([spec], JOINT, CONFIG, 1) != first


@pytest.mark.parametrize("ending", ["tsv.gz", "jsonl", "json", "csv", "en"])
def test_files_of_every_form_are_hashed_while_they_are_encoded(tmp_path, pairs, ending):
    rows = {
        "tsv.gz": "\n".join("\t".join(pair) for pair in pairs),
        "csv": "\n".join(f'"{source}","{target}"' for source, target in pairs),
        "jsonl": "\n".join(json.dumps({"source": source, "target": target}) for source, target in pairs),
        "json": json.dumps([{"source": source, "target": target} for source, target in pairs]),
        "en": "\n".join(source for source, _ in pairs),
    }
    file, text = tmp_path / f"a.{ending}", rows[ending]
    pack = gzip.compress if ending == "tsv.gz" else bytes
    (tmp_path / "a.de").write_text("\n".join(target for _, target in pairs), "utf-8")
    file.write_bytes(pack(text.encode()))
    name = f"{file},{tmp_path / 'a.de'}" if ending == "en" else str(file)
    (hashed,) = origin.with_hashes([CorpusSpec.parse(name)])
    prepare(tmp_path / "store", [hashed], JOINT, CONFIG, 1)
    before = file.stat()
    file.write_bytes(pack(text.replace("the cat 7", "the cat 8").encode())[: before.st_size])
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    if file.stat().st_size == before.st_size:
        with pytest.raises(DataError, match="has changed since it was checked"):
            prepare(tmp_path / "other", [hashed], JOINT, CONFIG, 1)


def test_a_gzip_file_gives_the_same_ids(tmp_path, pairs, spec):
    packed = tmp_path / "pairs.tsv.gz"
    packed.write_bytes(gzip.compress((tmp_path / "pairs.tsv").read_bytes()))
    train, _ = prepare(tmp_path / "a", [spec], JOINT, CONFIG, 1)
    again, _ = prepare(tmp_path / "b", [CorpusSpec.parse(str(packed))], JOINT, CONFIG, 1)
    assert texts_of(train) == texts_of(again)


# ---- kills and damage


class Killed(BaseException):
    pass


@pytest.mark.parametrize("moment", [1, 2, 3, 4])
def test_a_kill_leaves_the_old_store_or_none(tmp_path, pairs, spec, moment, monkeypatch):
    """A kill at any file operation, simulated by an exception that nothing cleans up after."""
    folder = tmp_path / "store"
    old, _ = prepare(folder, [spec], JOINT, CONFIG, 1)
    changed = write_pairs(tmp_path / "pairs.tsv", pairs[:200])
    calls = []

    def rename(self, target, real=Path.rename):
        calls.append(self)
        if len(calls) == moment:
            raise Killed
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    if moment < 4:  # a shard gets its name, the old store moves aside, the new one gets its name
        with pytest.raises(Killed):
            prepare(folder, [changed], JOINT, CONFIG, 1)
    else:
        prepare(folder, [changed], JOINT, CONFIG, 1)
    if moment <= 2:
        assert Store.open(folder).data_hash == old.data_hash
    monkeypatch.undo()
    train, valid = prepare(folder, [changed], JOINT, CONFIG, 1)
    assert len(train) + len(valid) == 200
    assert [entry.name for entry in sorted(tmp_path.iterdir())] == ["pairs.tsv", "store"]


def test_leftovers_of_a_killed_build_are_swept(tmp_path, spec):
    (tmp_path / ".saving-store" / "train").mkdir(parents=True)
    (tmp_path / ".saving-store" / "train" / "source.ids").write_text("half")
    prepare(tmp_path / "store", [spec], JOINT, CONFIG, 1)
    assert not (tmp_path / ".saving-store").exists()


@pytest.mark.parametrize("victim", ["train/source.ids", "valid/target.lengths", "manifest.json", "train/lines"])
def test_a_damaged_store_is_refused_and_rebuilt(tmp_path, spec, victim):
    folder = tmp_path / "store"
    prepare(folder, [spec], JOINT, CONFIG, 1)
    content = (folder / victim).read_bytes()
    (folder / victim).write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="store"):
        Store.open(folder)
    assert len(prepare(folder, [spec], JOINT, CONFIG, 1)[0]) == 280
    (folder / victim).unlink()
    assert len(prepare(folder, [spec], JOINT, CONFIG, 1)[0]) == 280


def test_a_store_of_another_version_is_rebuilt(tmp_path, spec):
    folder = tmp_path / "store"
    prepare(folder, [spec], JOINT, CONFIG, 1)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["origin"]["format"] = 99
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DataError, match="format 99"):
        Store.open(folder)
    assert len(prepare(folder, [spec], JOINT, CONFIG, 1)[0]) == 280


def test_no_store_here(tmp_path):
    with pytest.raises(DataError, match="not a whole token store"):
        Store.open(tmp_path)


def test_a_full_disk_is_a_sentence(tmp_path, spec, monkeypatch):
    def full(self, name, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(build.ColumnWriter, "write", full)
    with pytest.raises(WriteError, match="disk is full"):
        prepare(tmp_path / "store", [spec], JOINT, CONFIG, 1)
    assert not list(tmp_path.glob("*store*"))


def test_an_unwritable_folder_is_a_usage_error(tmp_path, spec):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match="cannot be written"):
        prepare(tmp_path / "file" / "store", [spec], JOINT, CONFIG, 1)


def test_progress_tells_records_done(tmp_path, spec, monkeypatch):
    monkeypatch.setattr(corpus, "MOST_ROWS", 128)
    seen = []
    prepare(tmp_path / "store", [spec], JOINT, CONFIG, 1, progress=seen.append)
    assert seen == [128, 256, 300]
