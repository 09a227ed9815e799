"""`info --check` vouches for every part of a folder: one bit that changes anywhere is named, with its file."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seqloom.cli.app import main
from seqloom.data.prepare import prepare
from seqloom.data.store import Store
from seqloom.data.store_checks import check_store
from seqloom.errors import DataError, ModelError
from seqloom.files.durable import hash_file
from seqloom.runtime.checkpoints import list_checkpoints, open_checkpoint
from seqloom.runtime.folder import load_model, open_run
from seqloom.runtime.run_facts import write_facts
from seqloom.workflows.train import clear_after_a_kill


@pytest.fixture
def folder(tiny_model, tmp_path) -> Path:
    return Path(shutil.copytree(tiny_model, tmp_path / "model"))


def flip(file: Path, place: int = -1) -> None:
    """Flip one bit of a file."""
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


def newest(folder: Path) -> Path:
    return max((folder / "checkpoints").glob("step-*"))


def test_what_is_vouched_for(folder, capsys):
    assert main(["info", str(folder), "--check"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0].split()[-1] for line in said] == ["sentences", "weights", "store", "checkpoints"]


PARTS: dict[str, tuple[Callable[[Path], Path], int]] = {
    "weights": (lambda folder: folder / "model.safetensors", 4),
    "ids": (lambda folder: folder / "store" / "train" / "source.ids", 3),
    "lines": (lambda folder: folder / "store" / "valid" / "lines", 3),
    "texts": (lambda folder: folder / "store" / "valid" / "texts.jsonl", 3),
    "excluded lines": (lambda folder: folder / "store" / "excluded.tsv", 3),
    "weights of a checkpoint": (lambda folder: newest(folder) / "model.safetensors", 4),
    "optimizer of a checkpoint": (lambda folder: newest(folder) / "optimizer.safetensors", 4),
    "state of a checkpoint": (lambda folder: newest(folder) / "state.json", 4),
}


@pytest.mark.parametrize("part", PARTS)
def test_one_bit_is_found_and_its_file_is_named(folder, capsys, part):
    find, code = PARTS[part]
    flip(find(folder))
    assert main(["info", str(folder), "--check"]) == code
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert find(folder).name in said and str(folder) in said and "Traceback" not in said


def test_weights_that_changed_do_not_answer(folder):
    flip(folder / "model.safetensors")
    with pytest.raises(ModelError, match=r"model\.safetensors: its content has changed since it was written"):
        load_model(open_run(folder))


def test_a_folder_of_an_older_version_has_no_hashes(folder, capsys):
    write_facts(folder, replace(open_run(folder).facts, weights_sha256=None))
    manifest = folder / "store" / "manifest.json"
    content = json.loads(manifest.read_text("utf-8"))
    del content["sha256"]
    manifest.write_text(json.dumps(content), "utf-8")
    assert main(["info", str(folder), "--check"]) == 0
    assert "not known: an older version" in capsys.readouterr().err


def rehashed(store: Path) -> None:
    """Make the manifest of a store fit its files, as a stranger would."""
    file = store / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    manifest["sha256"] = {name: hash_file(store / name) for name in manifest["sizes"]}
    manifest["sizes"] = {name: (store / name).stat().st_size for name in manifest["sizes"]}
    file.write_text(json.dumps(manifest), "utf-8")


@pytest.mark.parametrize(
    ("name", "kind", "value", "said"),
    [
        ("train/source.ids", np.uint16, 60_000, "id 60,000, but the vocabulary"),
        ("train/target.ids", np.uint16, 60_000, "id 60,000, but the vocabulary"),
        ("valid/source.ids", np.uint16, 60_000, "id 60,000, but the vocabulary"),
        ("train/source.starts", np.int64, 2**40, "outside of the file of ids"),
        ("train/source.starts", np.int64, -1, "outside of the file of ids"),
        ("train/source.starts", np.int64, 2**63 - 1, "outside of the file of ids"),
        ("train/target.lengths", np.int32, 2**31 - 1, "outside of the file of ids"),
        ("train/target.lengths", np.int32, -5, "outside of the file of ids"),
        ("train/corpora", np.uint16, 7, "a corpus that its manifest does not list"),
    ],
)
def test_numbers_of_a_store_that_belong_to_no_such_model(folder, name, kind, value, said):
    column = np.fromfile(folder / "store" / name, kind)
    column[1] = value
    column.tofile(folder / "store" / name)
    rehashed(folder / "store")
    run = open_run(folder)
    with pytest.raises(DataError, match=said):
        check_store(folder / "store", len(run.tokenizers.source), len(run.tokenizers.target))


def test_columns_of_a_store_that_differ_in_length(folder):
    lines = folder / "store" / "train" / "lines"
    lines.write_bytes(lines.read_bytes()[:-4])
    rehashed(folder / "store")
    with pytest.raises(DataError, match="columns differ in length"):
        Store.open(folder / "store")


@pytest.mark.parametrize("name", ["../run.json", "/dev/zero", "train/../../run.json", "a/b/c", "..", ""])
def test_a_store_names_only_its_own_files(folder, name):
    file = folder / "store" / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps(manifest | {"sha256": {name: ""}}), "utf-8")
    with pytest.raises(DataError, match="sha256 names files outside of the store"):
        check_store(folder / "store", 10**6, 10**6)


def test_a_run_builds_a_damaged_store_again_and_says_so(folder, tiny_pairs, tiny_settings, capsys):
    """It is the same store, byte for byte, so the run continues exactly."""
    before = {file.name: file.read_bytes() for file in (folder / "store" / "train").iterdir()}
    flip(folder / "store" / "train" / "source.ids")
    more = [*tiny_settings, "--set", "train.max_steps=7"]
    assert main(["train", str(tiny_pairs), "--out", str(folder), *more]) == 0
    said = capsys.readouterr().err
    assert "source.ids: damaged: its content has changed since it was written; it is built again" in said
    assert {file.name: file.read_bytes() for file in (folder / "store" / "train").iterdir()} == before


def rewrite_state(folder: Path, **change: object) -> None:
    """Change the state in every checkpoint, with manifests that fit."""
    for step in (folder / "checkpoints").glob("step-*"):
        content = json.dumps(json.loads((step / "state.json").read_text("utf-8")) | change).encode()
        (step / "state.json").write_bytes(content)
        manifest = json.loads((step / "manifest.json").read_text("utf-8"))
        manifest["files"]["state.json"] = {"size": len(content), "sha256": hash_file(step / "state.json")}
        (step / "manifest.json").write_text(json.dumps(manifest), "utf-8")


@pytest.mark.parametrize(
    "change",
    [
        {"step": 10**9}, {"step": "x"}, {"step": None}, {"batch": 10**9}, {"batch": "x"}, {"epoch": -1},
        {"epoch": 2**70}, {"tokens": 10**400}, {"seconds": -5.0}, {"valid_losses": {"x": 1.0}},
        {"valid_scores": {"bleu": "x"}}, {"samples": [1]},
    ],
    ids=str,
)  # fmt: skip
def test_a_state_that_fits_no_run_is_one_sentence(folder, tiny_pairs, tiny_settings, capsys, change):
    rewrite_state(folder, **change)
    more = [*tiny_settings, "--set", "train.max_steps=7"]
    assert main(["train", str(tiny_pairs), "--out", str(folder), *more]) == 4
    said = capsys.readouterr().err
    assert "Traceback" not in said and str(folder / "checkpoints") in said.strip().splitlines()[-1]


@pytest.mark.parametrize(
    "name", ["step-000000001", "step-\u0661\u0661\u0661\u0661\u0661\u0661\u0661\u0661", "step-" + "9" * 30]
)
def test_a_folder_that_is_only_called_almost_like_a_checkpoint(folder, tiny_pairs, tiny_settings, name):
    (folder / "checkpoints" / name).mkdir()
    assert list_checkpoints(folder / "checkpoints") == [6]
    assert main(["train", str(tiny_pairs), "--out", str(folder), *tiny_settings, "--set", "train.max_steps=7"]) == 0
    assert (folder / "checkpoints" / name).is_dir()


def test_golden_sentences_are_few(folder, capsys):
    many = [{"source": "abc", "target": "x"}] * 101
    (folder / "golden.json").write_text(json.dumps(many), "utf-8")
    assert main(["info", str(folder), "--check"]) == 4
    assert "want a list of at most 100" in capsys.readouterr().err


def test_a_state_of_another_step_is_not_that_of_its_checkpoint(folder):
    rewrite_state(folder, step=3)
    with pytest.raises(ModelError, match=r"state\.json: step 3 does not belong to this folder"):
        open_checkpoint(newest(folder))


def test_what_older_versions_left_behind_is_cleared(folder):
    (folder / ".engine.part-4711").mkdir()
    (folder / ".engine.part-4711" / "model.bin").touch()
    (folder / ".golden.json.part").touch()
    (folder / ".mine").touch()
    clear_after_a_kill(folder)
    assert {entry.name for entry in folder.iterdir() if entry.name.startswith(".")} == {".mine"}


def test_a_store_is_checked_when_a_run_begins(tmp_path, tiny_pairs, folder):
    from seqloom.data.corpus import CorpusSpec

    run, told = open_run(folder), list[str]()
    spec = CorpusSpec.parse(str(tiny_pairs))
    for _ in range(2):
        prepare(tmp_path / "store", [spec], run.tokenizers, run.config.data, 1, tell=told.append)
    assert told == []
    flip(tmp_path / "store" / "train" / "target.ids")
    prepare(tmp_path / "store", [spec], run.tokenizers, run.config.data, 1, tell=told.append)
    assert len(told) == 1 and "target.ids: damaged" in told[0]
