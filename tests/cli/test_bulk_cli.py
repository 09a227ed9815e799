"""`translate --out` and `score --out`: the bytes of one process, whatever happens to workers and parent."""

import gzip
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seqloom.cli.app import main
from seqloom.errors import DataError, SeqloomError
from seqloom.scale import bulk
from seqloom.scale.chunk_folder import ChunkFolder
from seqloom.scale.work import Answer, Chunk, Lost, Refused

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="ray is not installed: pip install 'seqloom[scale]'"
)


@pytest.fixture(scope="module")
def big(tiny_pairs, tmp_path_factory) -> Path:
    """2,500 lines: three chunks."""
    sources = [line.split("\t")[0] for line in tiny_pairs.read_text("utf-8").splitlines()]
    file = tmp_path_factory.mktemp("big") / "big.txt"
    file.write_text("".join(f"{word}\n" for word in (sources * 9)[:2500]), "utf-8")
    return file


@pytest.fixture(scope="module")
def plain(seqloom, tiny_model, big) -> str:
    done = seqloom("translate", tiny_model, big, "--beam", 1, "--threads", 1)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_workers_give_the_bytes_of_one_process(seqloom, tiny_model, big, plain, tmp_path):
    packed = tmp_path / "big.txt.gz"
    packed.write_bytes(gzip.compress(big.read_bytes()))
    done = seqloom("translate", tiny_model, packed, "--beam", 1, "-o", tmp_path / "out.txt.gz", "--workers", 2)
    assert done.returncode == 0, done.stderr
    assert gzip.decompress((tmp_path / "out.txt.gz").read_bytes()).decode() == plain
    assert sorted(file.name for file in tmp_path.iterdir()) == ["big.txt.gz", "out.txt.gz"], "no parts are left"


@pytest.mark.slow
def test_score_by_workers(seqloom, tiny_model, tiny_pairs, tmp_path):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(tiny_pairs.read_text("utf-8") + "no pair\n", "utf-8")
    one = seqloom("score", tiny_model, pairs, "--threads", 1)
    done = seqloom("score", tiny_model, pairs, "-o", tmp_path / "scores.tsv")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "scores.tsv").read_text("utf-8") == one.stdout
    assert one.stderr in done.stderr, "the same summary"


@pytest.mark.slow
def test_kills_of_parent_and_workers(tiny_model, big, plain, tmp_path, environment):
    """Kill workers, then the parent, then go on; the output has every line once."""
    out = tmp_path / "out.txt"
    words = [sys.executable, "-m", "seqloom", "translate", tiny_model, big, "--beam", "1", "-o", out, "--workers", "2"]
    for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
        run = subprocess.Popen([*map(str, words)], env=environment, stderr=subprocess.PIPE, text=True)
        time.sleep(1.5)
        for worker in children(run.pid)[:2]:
            os.kill(worker, signal.SIGKILL)
        time.sleep(0.7)
        run.send_signal(number)
        _, errors = run.communicate(timeout=60)
        if number != signal.SIGKILL and run.returncode:
            assert run.returncode == 128 + number, errors
            assert "The same command continues." in errors
        if out.exists():
            break
    if not out.exists():
        subprocess.run([*map(str, words)], env=environment, check=True, timeout=120)
    assert out.read_text("utf-8") == plain
    assert not (tmp_path / "out.txt.parts").exists()


def children(process: int) -> list[int]:
    """The worker processes of a process, as Linux lists them."""
    listed = Path(f"/proc/{process}/task/{process}/children")
    found = [*map(int, listed.read_text().split())] if listed.exists() else []
    return [each for each in found if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()]


class OneByOne:
    """Workers that do as the script says: outcomes by chunk, each used once, then answers."""

    def __init__(self, script):
        self.script, self.chunks = script, []

    def room(self):
        return 2 - len(self.chunks)

    def give(self, chunk):
        self.chunks.append(chunk)

    def wait(self):
        chunk = self.chunks.pop()
        planned = self.script.get(chunk.number, [])
        return [(chunk.number, planned.pop(0) if planned else Answer(chunk.content, {"n": chunk.number}))]

    def close(self):
        self.chunks = None


def run(out, script, manifest=None, said=None):
    parts = [b"a\n", b"b\n", b"c\n", b"d\n"]
    given = bulk.Input(4, 4, lambda: (Chunk(n, 1, f"line {n + 1}", part) for n, part in enumerate(parts)))
    say = (said if said is not None else []).append
    return bulk.run_bulk(out, manifest or {"a": 1}, given, lambda: OneByOne(script), label="translate", say=say)


def test_lost_chunks_are_tried_again_and_then_named(tmp_path):
    out = tmp_path / "out"
    assert run(out, {1: [Lost("x")] * 2}) == [{"n": n} for n in range(4)]
    assert out.read_bytes() == b"a\nb\nc\nd\n"
    other = tmp_path / "other"
    with pytest.raises(SeqloomError, match=r"1 of 4 chunks failed 3 times[\s\S]*chunk 2 \(line 3\): full memory"):
        run(other, {2: [Lost("full memory")] * 3})
    assert not other.exists()
    said: list[str] = []
    run(other, {0: [Refused(DataError("must not be asked again"))]}, said=said)
    assert other.read_bytes() == b"a\nb\nc\nd\n"
    assert "3 of 4 chunks are done" in said[0]


def test_an_error_of_the_user_ends_the_command(tmp_path):
    with pytest.raises(DataError, match="prefixes, line 3"):
        run(tmp_path / "out", {3: [Refused(DataError("prefixes, line 3"))]})


def test_ctrl_c_says_how_to_continue(tmp_path, monkeypatch):
    def stop(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)

    monkeypatch.setattr(OneByOne, "wait", stop)
    with pytest.raises(
        SeqloomError, match=r"0 of 4 chunks are done and kept in .*out.parts. The same command"
    ) as stopped:
        run(tmp_path / "out", {})
    assert stopped.value.exit_code == 143


def test_chunks_of_another_command_are_refused_with_a_diff(tiny_model, big, tmp_path, capsys):
    out = tmp_path / "out.txt"
    with pytest.raises(SeqloomError):
        run(out, {2: [Lost("x")] * 3}, {"options": {"beam": 5}, "input": {"sha256": "0" * 64}})
    before = {file.name: file.read_bytes() for file in (tmp_path / "out.txt.parts").iterdir()}
    assert main(["translate", str(tiny_model), str(big), "-o", str(out), "--beam", "1"]) == 2
    errors = capsys.readouterr().err
    assert "options.beam: 5 before, 1 now" in errors
    assert "input.sha256: 000000000000... before" in errors
    assert "model.1.model.safetensors: nothing before" in errors
    assert f"delete {out}.parts to start again" in errors
    assert {file.name: file.read_bytes() for file in (tmp_path / "out.txt.parts").iterdir()} == before | {
        "lock": (tmp_path / "out.txt.parts" / "lock").read_bytes()
    }


def test_killed_between_the_output_and_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(ChunkFolder, "remove", lambda self: None)
    run(tmp_path / "out", {})
    monkeypatch.undo()
    run(tmp_path / "out", {0: [Refused(DataError("all is done: no worker starts"))]})
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{big}", "--workers", "2"], "--workers: needs --out FILE"),
        (["{big}", "-o", "{old}"], "the file exists; delete it or choose another name"),
        (["{big}", "-o", "{new}", "--workers", "0"], "--workers 0: want 1 to 1024"),
        (["-", "-o", "{new}"], "the input is read twice"),
        (["{big}", "-o", "{new}/x/y"], "there is no folder"),
        (["{big}", "-o", "{new}", "--ray", "nowhere"], "want HOST:PORT"),
        (["{big}", "-o", "{new}", "--ray", "127.0.0.1:1"], "no Ray cluster can be reached there"),
    ],
)
def test_wrong_calls(words, message, tiny_model, big, tmp_path, capsys):
    if "--ray" in words and importlib.util.find_spec("ray") is None:
        pytest.skip("ray is not installed")
    old = tmp_path / "old.txt"
    old.write_text("kept")
    given = [word.format(big=big, old=old, new=tmp_path / "new.txt") for word in words]
    assert main(["translate", str(tiny_model), *given]) == 2
    assert message in capsys.readouterr().err
    assert old.read_text() == "kept"


def test_without_ray(tiny_model, big, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["translate", str(tiny_model), str(big), "-o", str(tmp_path / "o"), "--ray", "local"]) == 2
    assert "pip install 'seqloom[scale]'" in capsys.readouterr().err


def test_another_model_on_a_worker(tiny_model, tmp_path):
    from seqloom.errors import ModelError
    from seqloom.runtime.folder import open_latest
    from seqloom.workflows.bulk_manifest import models_of, same_models

    folder = tmp_path / "model"
    shutil.copytree(tiny_model, folder)
    models = models_of([open_latest(folder, print)])
    assert same_models(models) == [folder.resolve()]
    facts = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(facts | {"step": 1}))
    with pytest.raises(ModelError, match=r"run.json differ. Copy the same folder to every machine"):
        same_models(models)


@needs_ray
@pytest.mark.slow
def test_two_ray_nodes_with_killed_workers(tiny_model, big, plain, tmp_path, environment):
    """A real cluster of two nodes; workers of Ray are killed while it works."""
    calm = environment | {"PYTHONWARNINGS": "default", "RAY_USAGE_STATS_ENABLED": "0"}
    words = [sys.executable, "-c", TWO_NODES, str(tiny_model), str(big), str(tmp_path)]
    subprocess.run(words, env=calm, check=True, timeout=300)
    assert (tmp_path / "out.txt").read_text("utf-8") == plain


TWO_NODES = """
import os, signal, subprocess, sys, time
from pathlib import Path
from ray.cluster_utils import Cluster
model, big, folder = sys.argv[1:]
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
cluster.add_node(num_cpus=1)
words = [sys.executable, "-m", "seqloom", "translate", model, big, "--beam", "1", "-o", f"{folder}/out.txt", "--ray",
         cluster.address]
run = subprocess.Popen(words)
killed = 0
while run.poll() is None:
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            name = entry.read_bytes()
            if name.startswith(b"ray::attempt") and killed < 3:
                os.kill(int(entry.parent.name), signal.SIGKILL)
                killed += 1
                time.sleep(1)
        except OSError:
            pass
    time.sleep(0.05)
cluster.shutdown()
print("killed", killed)
sys.exit(run.returncode or (0 if killed else 9))
"""
