"""Checkpoints: whole or absent, verified before use, never lost to a kill, a full disk or a flipped bit."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from safetensors.torch import save

from seqloom.errors import ModelError, WriteError
from seqloom.files import durable, folders
from seqloom.files.leftovers import clear_leftovers
from seqloom.runtime.checkpoints import STEP_NAME, Checkpoint, list_checkpoints, newest_checkpoint, open_checkpoint
from seqloom.training import checkpoint
from seqloom.training.checkpoint import (
    average_checkpoints,
    prune_checkpoints,
    save_checkpoint,
)


def tensors_of(step: int) -> dict[str, dict[str, torch.Tensor]]:
    weight = torch.arange(12.0).reshape(3, 4) + step
    return {
        "model": {"w": weight, "tied": weight, "t": weight.T, "half": weight.bfloat16(), "n": torch.tensor(step)},
        "optimizer": {"w.exp_avg": torch.full((3, 4), step / 7), "none": torch.zeros(0)},
    }


def save_steps(folder: Path, *steps: int) -> None:
    for step in steps:
        save_checkpoint(folder, step, tensors_of(step), {"epoch": 1, "best": float("inf"), "rate": 0.1 + 0.2})


def never(text: str) -> None:
    raise AssertionError(text)


def test_what_is_saved_comes_back_bit_for_bit(tmp_path: Path) -> None:
    save_steps(tmp_path / "checkpoints", 123)
    found = newest_checkpoint(tmp_path / "checkpoints", never)
    assert found is not None
    assert found.path.name == "step-00000123"
    assert (found.step, found.state) == (123, {"epoch": 1, "best": float("inf"), "rate": 0.1 + 0.2})
    for name, group in tensors_of(123).items():
        back = found.tensors(name)
        assert back.keys() == group.keys()
        for key, tensor in group.items():
            assert back[key].dtype == tensor.dtype
            assert torch.equal(back[key], tensor), key
    assert sorted(p.name for p in found.path.iterdir()) == [
        "manifest.json", "model.safetensors", "optimizer.safetensors", "state.json",
    ]  # fmt: skip
    assert [p.name for p in found.path.parent.iterdir()] == ["step-00000123"]


def test_the_names_of_tied_tensors_are_one_entry_and_those_of_older_checkpoints_are_read(tmp_path: Path) -> None:
    """Several entries would come in random order, and equal weights would have other bytes."""
    weight = torch.ones(3)
    content = checkpoint.to_bytes(dict.fromkeys("cab", weight))
    assert json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"] == {
        "tied": '{"b": "a", "c": "a"}'
    }
    old = save({"a": weight}, metadata={"b": "a", "c": "a"})
    for number, stored in enumerate((content, old)):
        (tmp_path / f"{number}.safetensors").write_bytes(stored)
        found = Checkpoint(tmp_path, 1, {}).tensors(str(number))
        assert {name: tensor.tolist() for name, tensor in found.items()} == dict.fromkeys("abc", [1.0] * 3)
    (tmp_path / "2.safetensors").write_bytes(save({"a": weight}, metadata={"tied": "[" * 100_000}))
    with pytest.raises(ModelError, match="cannot be read"):
        Checkpoint(tmp_path, 1, {}).tensors("2")


def test_a_tied_tensor_is_stored_once_and_comes_back_tied(tmp_path: Path) -> None:
    tensor = torch.randn(1000)
    path = save_checkpoint(tmp_path, 1, {"model": {"a": tensor, "b": tensor}}, {})
    assert (path / "model.safetensors").stat().st_size < 2 * tensor.nbytes
    back = open_checkpoint(path).tensors("model")
    assert back["a"] is back["b"]


def test_tensors_are_in_memory_of_their_own(tmp_path: Path) -> None:
    found = open_checkpoint(save_checkpoint(tmp_path, 1, {"model": {"a": torch.ones(3), "b": torch.ones(5)}}, {}))
    found.tensors("model")["a"].zero_()
    assert found.tensors("model")["a"].sum() == 3
    assert all(t.data_ptr() % 64 == 0 for t in found.tensors("model").values())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="tells a file by its handle")
def test_everything_is_on_the_disk_before_the_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moments: list[str] = []
    rename = Path.rename
    monkeypatch.setattr(os, "fsync", lambda fd: moments.append(Path(f"/proc/self/fd/{fd}").resolve().name))
    monkeypatch.setattr(Path, "rename", lambda old, new: moments.append(f"-> {new.name}") or rename(old, new))
    save_checkpoint(tmp_path, 9, {"model": {"w": torch.ones(2)}}, {})
    assert moments == [
        "manifest.json", "model.safetensors", "state.json", ".saving-step-00000009", "-> step-00000009", tmp_path.name,
    ]  # fmt: skip


def test_nothing_saved_yet(tmp_path: Path) -> None:
    assert newest_checkpoint(tmp_path / "none", never) is None
    assert list_checkpoints(tmp_path / "none") == []
    clear_leftovers(tmp_path / "none", STEP_NAME)
    prune_checkpoints(tmp_path / "none", 1)


def flip_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def cut_manifest(path: Path) -> None:
    file = path / "manifest.json"
    file.write_bytes(file.read_bytes()[:40])


def edit_manifest(path: Path, **changes: object) -> None:
    file = path / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


DAMAGES = {
    "manifest missing": (lambda path: (path / "manifest.json").unlink(), "manifest.json is missing"),
    "manifest torn": (cut_manifest, "manifest.json cannot be read"),
    "manifest empty": (lambda path: (path / "manifest.json").write_bytes(b""), "manifest.json cannot be read"),
    "manifest of nulls": (lambda path: (path / "manifest.json").write_bytes(bytes(90)), "manifest.json cannot be read"),
    "manifest is a list": (lambda path: (path / "manifest.json").write_bytes(b"[]"), "no JSON object"),
    "manifest of another step": (lambda path: edit_manifest(path, step=2), "step 2 does not belong"),
    "manifest of a later format": (lambda path: edit_manifest(path, format=99), "format 99"),
    "manifest without files": (lambda path: edit_manifest(path, files={}), "lists no state.json"),
    "manifest with bad records": (
        lambda path: edit_manifest(path, files={"state.json": 3}),
        "bytes, the manifest says",
    ),
    "tensors truncated": (lambda path: os.truncate(path / "model.safetensors", 100), "has 100 bytes"),
    "tensors missing": (lambda path: (path / "optimizer.safetensors").unlink(), "optimizer.safetensors is missing"),
    "tensors flipped": (lambda path: flip_bit(path / "model.safetensors"), "SHA-256"),
    "state flipped": (lambda path: flip_bit(path / "state.json"), "SHA-256"),
    "folder empty": (lambda path: [file.unlink() for file in path.iterdir()], "manifest.json is missing"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_one_is_named_passed_over_and_kept(tmp_path: Path, name: str) -> None:
    damage, reason = DAMAGES[name]
    save_steps(tmp_path, 1, 2, 3)
    damage(tmp_path / "step-00000003")
    warnings: list[str] = []
    found = newest_checkpoint(tmp_path, warnings.append)
    assert found is not None
    assert found.step == 2
    assert len(warnings) == 1
    assert "step-00000003" in warnings[0]
    assert reason in warnings[0]
    prune_checkpoints(tmp_path, keep_newest=1)
    assert list_checkpoints(tmp_path) == [2, 3]  # the damaged one neither counts as the newest nor disappears
    with pytest.raises(ModelError, match="step-00000003: damaged checkpoint"):
        open_checkpoint(tmp_path / "step-00000003")


def test_all_damaged_is_none(tmp_path: Path) -> None:
    save_steps(tmp_path, 1, 2)
    for path in tmp_path.iterdir():
        flip_bit(path / "model.safetensors")
    warnings: list[str] = []
    assert newest_checkpoint(tmp_path, warnings.append) is None
    assert len(warnings) == 2


def test_saving_a_step_again_replaces_a_good_one_and_keeps_a_damaged_one(tmp_path: Path) -> None:
    save_steps(tmp_path, 5)
    path = save_checkpoint(tmp_path, 5, tensors_of(5), {"again": True})
    assert open_checkpoint(path).state == {"again": True}
    for time in (1, 2):
        flip_bit(path / "model.safetensors")
        save_checkpoint(tmp_path, 5, tensors_of(5), {"again": time})
        assert open_checkpoint(path).state == {"again": time}
    kept = ["step-00000005", "step-00000005.damaged-1", "step-00000005.damaged-2"]
    assert sorted(p.name for p in tmp_path.iterdir()) == kept
    assert list_checkpoints(tmp_path) == [5]


def test_pruning_keeps_the_newest_and_the_chosen(tmp_path: Path) -> None:
    save_steps(tmp_path, 1, 2, 3, 4, 5)
    (tmp_path / "step-notes").mkdir()
    (tmp_path / "step-00000006").write_text("a file, no checkpoint")
    prune_checkpoints(tmp_path, keep_newest=2, keep={2, 99})
    assert list_checkpoints(tmp_path) == [2, 4, 5]
    assert (tmp_path / "step-notes").is_dir()
    assert (tmp_path / "step-00000006").is_file()
    prune_checkpoints(tmp_path, keep_newest=2, keep={5})
    assert list_checkpoints(tmp_path) == [4, 5]


def test_leftovers_of_a_kill_are_cleared_and_only_ours(tmp_path: Path) -> None:
    save_steps(tmp_path, 7, 8)
    for name in (
        ".saving-step-00000009",
        ".removing-step-00000006",
        ".replaced-step-00000007",
        ".saving-thesis",
        "mine",
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
    (tmp_path / "step-00000008").rename(tmp_path / ".replaced-step-00000008")  # killed between the two renames
    clear_leftovers(tmp_path, STEP_NAME)
    assert sorted(p.name for p in tmp_path.iterdir()) == [".saving-thesis", "mine", "step-00000007", "step-00000008"]
    assert open_checkpoint(tmp_path / "step-00000008").step == 8


# full disk


def assert_full_disk_keeps_the_last(folder: Path, error: WriteError) -> None:
    assert "the disk is full" in str(error)
    assert "run the same command again" in str(error)
    assert [p.name for p in folder.iterdir()] == ["step-00000001"]
    found = newest_checkpoint(folder, never)
    assert found is not None
    assert found.step == 1


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
@pytest.mark.parametrize("file", ["model.safetensors", "state.json", "manifest.json"])
def test_a_full_disk_at_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, file: str) -> None:
    save_steps(tmp_path, 1)
    write = durable.write_new

    def write_until_full(path: Path, content: bytes) -> str:
        if path.name == file:
            path.write_bytes(content[:10])
            raise OSError(code, os.strerror(code))
        return write(path, content)

    monkeypatch.setattr(checkpoint, "write_new", write_until_full)
    with pytest.raises(WriteError) as caught:
        save_steps(tmp_path, 2)
    assert caught.value.exit_code == 5
    assert_full_disk_keeps_the_last(tmp_path, caught.value)


LIMITED_SAVE = """
import resource, signal, sys, torch
from pathlib import Path
from seqloom.errors import WriteError
from seqloom.training.checkpoint import save_checkpoint
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
save_checkpoint(Path(sys.argv[1]), 1, {"model": {"w": torch.ones(1000)}}, {})
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    save_checkpoint(Path(sys.argv[1]), 2, {"model": {"w": torch.ones(100_000)}}, {})
except WriteError as error:
    print(error)
    raise SystemExit(error.exit_code)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no file-size limit there")
def test_a_real_file_size_limit_with_a_short_write(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", LIMITED_SAVE, tmp_path], capture_output=True, text=True)
    assert run.returncode == 5, run.stderr
    assert_full_disk_keeps_the_last(tmp_path, WriteError(run.stdout))


def test_another_fault_of_the_disk_is_told_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path, content: bytes) -> str:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(checkpoint, "write_new", broken)
    with pytest.raises(WriteError, match="input/output error"):
        save_steps(tmp_path, 2)
    assert list(tmp_path.iterdir()) == []


def test_a_file_has_its_old_content_or_the_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "run.json"
    durable.replace_file(file, b"old")
    durable.replace_file(file, b"older")

    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WriteError, match="the disk is full"):
        durable.replace_file(file, b"new")
    assert file.read_bytes() == b"older"
    assert list(tmp_path.iterdir()) == [file]


# kill -9

KILL_AND_LOOK = """
import os, random, signal, sys, time, torch
from pathlib import Path
from seqloom.files.leftovers import clear_leftovers
from seqloom.runtime.checkpoints import *
from seqloom.training.checkpoint import *
folder, delays = Path(sys.argv[1]), random.Random(1)
torch.set_num_threads(1)

def fail(text):
    raise SystemExit(text)

def save_forever(pipe):
    clear_leftovers(folder, STEP_NAME)
    found = newest_checkpoint(folder, fail)
    step = found.step if found else 0
    while True:
        step += 1
        group = {"w": torch.full((5_000,), float(step))}
        for _ in range(2):  # the second replaces the first
            save_checkpoint(folder, step, {"model": group, "optimizer": group}, {"step": step})
        os.write(pipe, b"%d " % step)
        prune_checkpoints(folder, 2)

for _ in range(12):
    read, write = os.pipe()
    child = os.fork()
    if not child:
        save_forever(write)
    os.close(write)
    told = os.read(read, 99)
    time.sleep(delays.uniform(0, 0.05))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    finished = int((told + os.read(read, 9999)).split()[-1])
    clear_leftovers(folder, STEP_NAME)
    assert newest_checkpoint(folder, fail).step >= finished, "a finished save was lost"
    assert all(name.name.startswith("step-") for name in folder.iterdir())
    for step in list_checkpoints(folder):
        assert (open_checkpoint(folder / f"step-{step:08d}").tensors("model")["w"] == step).all()
print("fine")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_every_survivor_of_a_kill_while_saving_verifies(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILL_AND_LOOK, tmp_path / "checkpoints"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.stdout == "fine\n", run.stderr


@pytest.mark.parametrize(
    ("module", "victim"), [(checkpoint, "write_new"), (folders, "sync_file"), (folders, "sync_folder")]
)
def test_dying_at_each_moment_of_a_save_leaves_old_or_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType, victim: str
) -> None:
    """A kill is played by stopping before the n-th call and leaving everything as it lies."""
    monkeypatch.setattr(folders.shutil, "rmtree", lambda *args, **options: None)
    for moment in range(6):
        folder = tmp_path / str(moment)
        save_steps(folder, 1)
        calls = iter(range(99))
        real = getattr(module, victim)

        def dying(*args: object, calls=calls, real=real, moment=moment) -> object:  # type: ignore[no-untyped-def]
            if next(calls) >= moment:
                raise KeyboardInterrupt
            return real(*args)

        with monkeypatch.context() as patch:
            patch.setattr(module, victim, dying)
            try:
                save_steps(folder, 2)
                died = False
            except KeyboardInterrupt:
                died = True
        found = newest_checkpoint(folder, never)
        assert found is not None
        assert found.step in ((1, 2) if died else (2,))
        assert torch.equal(found.tensors("model")["w"], tensors_of(found.step)["model"]["w"])


# averaging


def test_the_mean_is_taken_in_double_precision_whatever_the_order(tmp_path: Path) -> None:
    values = [1e8, 1.0, -1e8]
    paths = [
        save_checkpoint(tmp_path, step, {"model": {"w": torch.tensor([value]), "n": torch.tensor(step)}}, {})
        for step, value in enumerate(values, 1)
    ]
    mean = average_checkpoints(paths)
    assert mean["w"].dtype == torch.float32
    assert mean["w"].item() == pytest.approx(1 / 3)  # float32 would lose the 1
    assert mean["n"].item() == 3
    again = average_checkpoints([open_checkpoint(path) for path in reversed(paths)])
    assert torch.equal(again["w"], mean["w"])
    assert again["n"].item() == 3
    assert torch.equal(average_checkpoints(paths[:1])["w"], torch.tensor([1e8]))


def test_only_alike_and_undamaged_ones_are_averaged(tmp_path: Path) -> None:
    one = save_checkpoint(tmp_path, 1, {"model": {"w": torch.ones(2)}}, {})
    two = save_checkpoint(tmp_path, 2, {"model": {"w": torch.ones(3)}}, {})
    with pytest.raises(ModelError, match="another model"):
        average_checkpoints([one, two])
    flip_bit(two / "model.safetensors")
    with pytest.raises(ModelError, match="damaged"):
        average_checkpoints([two])
    with pytest.raises(ValueError, match="no checkpoint"):
        average_checkpoints([])
    with pytest.raises(ModelError, match=r"ghost\.safetensors"):
        average_checkpoints([one], name="ghost")
