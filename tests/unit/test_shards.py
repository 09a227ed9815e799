"""Stores in shards: the same store whoever builds which shard, and a build that was killed keeps what was finished."""

import dataclasses
import json
import random
from pathlib import Path

import numpy as np
import pytest

from seqloom.config import DataConfig
from seqloom.data import corpus, prepare, shards, store_builder
from seqloom.data.batch import StoreBatches
from seqloom.data.corpus import CorpusSpec
from seqloom.data.hold_out import HoldOut
from seqloom.data.prepare import help_to_build
from seqloom.data.shards import BuildPlan, Team
from seqloom.data.store import Store
from seqloom.data.store_checks import check_store
from seqloom.errors import DataError, UsageError
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers

BPE = learn_tokenizer("bpe", ["the cat sat on the mat", "die katze saß auf der matte"] * 3, 300)
JOINT = Tokenizers(BPE, BPE)
CONFIG = DataConfig(valid_pairs=20, max_tokens=40)


class Killed(BaseException):
    pass


@pytest.fixture
def files(tmp_path):
    """Three files of 400 pairs in all; some cannot be used, and one file has no pair at all but a blank line."""
    draw = random.Random(3)
    rows = [f"the cat {n}\t{'saß ' * draw.randint(1, 8)}{n}" for n in range(400)]
    rows[17], rows[230], rows[390] = "one column", "the cat\t" + "matte " * 60, "\tempty"
    cuts = {"a.tsv": rows[:150], "b.tsv": [*rows[150:160]], "c.tsv": rows[160:]}
    for name, some in cuts.items():
        (tmp_path / name).write_text("".join(f"{row}\n" for row in some), "utf-8")
    (tmp_path / "all.tsv").write_text("".join(f"{row}\n" for row in rows), "utf-8")
    return [CorpusSpec.parse(str(tmp_path / name)) for name in cuts]


@pytest.fixture
def small(monkeypatch):
    """Shards of 42 records: 4, 1 and 6 of the three files."""
    monkeypatch.setattr(corpus, "MOST_ROWS", 7)
    monkeypatch.setattr(shards, "CHUNKS", 6)
    monkeypatch.setattr(store_builder, "CHUNKS", 6)


def build(folder, specs, team=prepare.ALONE, tell=lambda notice: None, valid=()):
    return prepare.prepare(folder, specs, JOINT, CONFIG, 1, valid, allow_loss=True, tell=tell, team=team)


def content(folder):
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def rows_of(store):
    return [(*store.pair_ids(index), store.where(index)) for index in range(len(store))]


def test_many_shards_hold_what_one_does(tmp_path, files, monkeypatch, request):
    whole = build(tmp_path / "whole", files)
    request.getfixturevalue("small")
    cut = build(tmp_path / "cut", files)
    assert len(list((tmp_path / "cut" / "train").glob("source.*ids"))) == 4 + 1 + 6
    for one, many in zip(whole, cut, strict=True):
        assert rows_of(one) == rows_of(many)
        assert one.account == many.account and one.data_hash == many.data_hash
        assert (one.count_targets(len(BPE)) == many.count_targets(len(BPE))).all()
    assert whole[1].texts == cut[1].texts and len(whole[1]) == 20
    assert (tmp_path / "whole" / "excluded.tsv").read_bytes() == (tmp_path / "cut" / "excluded.tsv").read_bytes()
    assert not list(tmp_path.glob(f"*{shards.BUILDING}*"))
    check_store(tmp_path / "cut", len(BPE), len(BPE))


def test_batches_of_many_shards_are_those_of_one_file(tmp_path, files, small):
    """Pairs of different shards meet in a batch."""
    one = build(tmp_path / "one", [CorpusSpec.parse(str(tmp_path / "all.tsv"))])[0]
    cut = build(tmp_path / "cut", files)[0]
    for number in range(2):
        plans = [StoreBatches(store, 200, 1) for store in (one, cut)]
        for first, second in zip(*(plan.epoch(number) for plan in plans), strict=True):
            wanted, found = plans[0].load(first), plans[1].load(second)
            assert all((getattr(wanted, name) == value).all() for name, value in vars(found).items() if name != "lines")


def test_validation_files_are_sharded_too(tmp_path, files, small):
    _, valid = build(tmp_path / "store", files[2:], valid=files[:1])
    assert len(valid) == len(valid.texts) == 149
    assert [BPE.decode(valid.pair_ids(index)[0]) for index in range(149)] == [pair.source for pair in valid.texts]
    assert json.loads((tmp_path / "store" / "manifest.json").read_text())["shards"] == {"train": 6, "valid": 4}


@pytest.mark.parametrize("size", [2, 3, 7])
def test_any_number_of_builders_makes_the_same_files(tmp_path, files, small, size):
    build(tmp_path / "alone" / "store", files)
    folder, built = tmp_path / "team" / "store", []
    folder.parent.mkdir()

    def others_build(plain):
        plan = BuildPlan.from_json(json.loads(json.dumps(plain)))
        for number in range(1, size):
            share = plan.share(number, size)
            help_to_build(folder.with_name(shards.BUILDING), plain, lambda: JOINT, Team(number, size))
            built.extend(share)

    build(folder, files, Team(0, size, others_build))
    assert len(built) >= 11 * (size - 1) // size
    assert content(folder) == content(tmp_path / "alone" / "store")


def test_shards_do_not_depend_on_whether_the_chunks_were_counted_before(tmp_path, files, small):
    plan = BuildPlan({}, tuple(files), (), CONFIG, 1)
    stretches = shards.list_stretches({"train": plan.train, "valid": ()}, CONFIG)
    counted = [dataclasses.replace(spec, chunks=chunks) for spec, chunks in zip(files, (22, 2, 35), strict=True)]
    assert shards.list_stretches({"train": counted, "valid": ()}, CONFIG) == stretches
    assert [stretch.name for stretch in stretches][-1] == "train-00010"


@pytest.mark.parametrize("moment", [1, 6, 11])
def test_a_killed_build_keeps_its_finished_shards(tmp_path, files, small, moment, monkeypatch):
    build(tmp_path / "whole" / "store", files)
    folder, calls, told = tmp_path / "store", [], []

    def write_shard(*arguments, real=store_builder.write_shard):
        calls.append(arguments[0].name)
        if len(calls) == moment:
            (arguments[0].parent / f".saving-{arguments[0].name}").mkdir()  # what a kill leaves of an unfinished one
            raise Killed
        real(*arguments)

    monkeypatch.setattr(store_builder, "write_shard", write_shard)
    with pytest.raises(Killed):
        build(folder, files)
    assert not folder.exists()
    calls.clear()
    moment = -1
    build(folder, files, tell=told.append)
    assert len(calls) == 11 - len(told) * int((told or ["encoding: 0"])[0].split()[1])
    assert content(folder) == content(tmp_path / "whole" / "store")


def test_a_damaged_or_foreign_shard_is_built_again(tmp_path, files, small, monkeypatch):
    folder, real = tmp_path / "store", prepare.join_shards
    building = folder.with_name(shards.BUILDING)

    def killed(*_):
        raise Killed

    monkeypatch.setattr(prepare, "join_shards", killed)
    with pytest.raises(Killed):
        build(folder, files)
    damaged = building / "train-00002" / "source.ids"
    damaged.write_bytes(bytes(len(damaged.read_bytes())))
    (building / "train-00003" / "shard.json").write_text('{"files": 3}')
    (building / "train-00004" / "lines").unlink()
    monkeypatch.setattr(prepare, "join_shards", real)
    told = []
    train, _ = build(folder, files, tell=told.append)
    assert told == ["encoding: 8 of 11 shards are there already, from an earlier start"]
    monkeypatch.setattr(prepare, "join_shards", killed)
    with pytest.raises(Killed):
        build(tmp_path / "store", files[:2])  # other data: what is there of it is of no use for the first
    monkeypatch.setattr(prepare, "join_shards", real)
    told.clear()
    (tmp_path / "store" / "manifest.json").unlink()
    again, _ = build(folder, files, tell=told.append)
    assert not [notice for notice in told if "there already" in notice]
    assert rows_of(again) == rows_of(train)


def test_a_store_of_an_older_version_is_one_shard(tmp_path, files):
    folder = tmp_path / "store"
    new = rows_of(build(folder, files[2:])[0])
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["shards"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    before = (folder / "manifest.json").stat().st_ino
    old = build(folder, files[2:])[0]
    assert rows_of(old) == new and (folder / "manifest.json").stat().st_ino == before


def test_a_text_that_continues_in_another_shard_is_refused(tmp_path, files, small):
    folder = tmp_path / "store"
    build(folder, files)
    manifest = json.loads((folder / "manifest.json").read_text())
    lengths = np.fromfile(folder / "train" / "source.lengths", np.int32)
    starts, _, ids = Store.open(folder).columns_of("source")
    lengths[np.searchsorted(starts, ids.ends[0]) - 1] += 20
    lengths.tofile(folder / "train" / "source.lengths")
    del manifest["sha256"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DataError, match="a text that continues in another shard"):
        check_store(folder, len(BPE), len(BPE))


def test_a_damaged_later_shard_is_named(tmp_path, files, small):
    folder = tmp_path / "store"
    build(folder, files)
    victim = folder / "train" / "target.00003.ids"
    victim.write_bytes(bytes(reversed(victim.read_bytes())))
    with pytest.raises(DataError, match=r"target\.00003\.ids: damaged: its content has changed"):
        check_store(folder, len(BPE), len(BPE))
    victim.unlink()
    with pytest.raises(DataError, match="not a whole token store"):
        Store.open(folder)


def test_a_file_that_another_builder_sees_otherwise_is_refused(tmp_path, files, small):
    """A machine with an older copy of a file under the same name."""
    folder = tmp_path / "store"

    def elsewhere(plain):
        (tmp_path / "c.tsv").write_text("other\tandere\n" * 240)
        help_to_build(folder.with_name(shards.BUILDING), plain, lambda: JOINT, Team(1, 2))

    with pytest.raises(DataError, match=r"c\.tsv: has changed since it was checked"):
        build(folder, files, Team(0, 2, elsewhere))
    assert not list(tmp_path.glob("*store*"))


def test_builders_without_a_shared_disk(tmp_path, files, small):
    with pytest.raises(UsageError, match="put --out on a disk that all machines share"):
        help_to_build(tmp_path / "elsewhere", {}, lambda: JOINT, Team(1, 2))
    with pytest.raises(DataError, match=r"train-000\d\d: another process has built it, but it cannot be seen here"):
        build(tmp_path / "store", files, Team(0, 2))  # the other's shards are on a disk of its own


@pytest.mark.parametrize("seed", range(8))
def test_candidates_of_parts_are_those_of_the_whole(seed):
    draw = random.Random(seed)
    texts = [f"text {int(draw.paretovariate(0.9)) % 300}" for _ in range(900)]
    whole, joined = HoldOut(30, seed), HoldOut(30, seed)
    for row, text in enumerate(texts):
        whole.add(text, row)
    for begin in range(0, 900, 250):
        part = HoldOut(30, seed)
        for row, text in enumerate(texts[begin : begin + 250]):
            part.add(text, row)
        joined.join(json.loads(json.dumps(part.to_plain())), lambda row, begin=begin: begin + row)
    assert sorted(joined.choose(30)) == sorted(whole.choose(30))
    assert joined.size == sum(map(len, joined.groups.values())) <= 4 * 30
    assert all(texts.count(texts[rows[0]]) == len(rows) for rows in joined.groups.values())  # whole groups


def test_paths_survive_the_way_to_another_process(files):
    plan = BuildPlan({"train": []}, tuple(files), (), CONFIG, 1)
    again = BuildPlan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again == plan and isinstance(again.train[0].files[0], Path)
