"""Bulk commands with inputs that change, with Ray out of reach, and with workers that are killed at random."""

import gzip
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from seqloom.cli.app import main
from seqloom.scale import ray_workers
from seqloom.scale.chunk_folder import parts_of
from seqloom.scale.work import attempt
from seqloom.workflows import bulk


class Here:
    """One worker in this process; `before` is called before each chunk, with the number of chunks done."""

    before = staticmethod(lambda done: None)

    def __init__(self, job):
        self.job, self.chunk, self.done = job, None, 0

    def room(self):
        return int(self.chunk is None)

    def give(self, chunk):
        self.chunk = chunk

    def wait(self):
        chunk, self.chunk = self.chunk, None
        self.before(self.done)
        self.done += 1
        return [(chunk.number, attempt(self.job, chunk.content))]

    def close(self):
        pass


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr(bulk.Crew, "hire", lambda crew, job: Here(job))
    monkeypatch.setattr(bulk, "CHUNK_PAIRS", 64)
    yield Here
    Here.before = staticmethod(lambda done: None)


@pytest.fixture
def pairs(tiny_pairs, tmp_path) -> Path:
    """301 records, the last of which is not a pair."""
    file = tmp_path / "pairs.tsv"
    file.write_text(tiny_pairs.read_text("utf-8") + "no pair\n", "utf-8")
    return file


@pytest.fixture
def sources(tiny_pairs, tmp_path) -> Path:
    """1,500 lines: two chunks."""
    found = [line.split("\t")[0] for line in tiny_pairs.read_text("utf-8").splitlines()]
    file = tmp_path / "sources.txt"
    file.write_text("".join(f"{text}\n" for text in found * 5), "utf-8")
    return file


def kill_command(done: int) -> None:
    if done == 1:
        raise KeyboardInterrupt


def content_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "lock"}


def test_score_continues_after_a_stop(tiny_model, pairs, here, tmp_path, capsys):
    out, again = tmp_path / "scores.tsv", ["score", str(tiny_model), str(pairs), "--threads", "1"]
    here.before = staticmethod(kill_command)
    assert main([*again, "-o", str(out)]) == 130
    assert "1 of 5 chunks are done" in capsys.readouterr().err
    here.before = staticmethod(lambda done: None)
    assert main([*again, "-o", str(out)]) == 0
    summary = capsys.readouterr().err.splitlines()[-1]
    assert main(again) == 0
    plain = capsys.readouterr()
    rows, expected = (
        [[float(cell) for cell in row.split("\t")] for row in text.splitlines()]
        for text in (out.read_text(), plain.out)
    )
    # Here chunks are smaller than those of the plain command, so that last digits may differ.
    assert len(rows) == 301
    assert rows == [pytest.approx(row, abs=2e-4, nan_ok=True) for row in expected]
    assert summary.split(",")[0] == plain.err.splitlines()[-1].split(",")[0] == "300 pairs"


@pytest.mark.parametrize("command", ["translate", "score"])
def test_packed_files_after_a_stop(command, tiny_model, pairs, sources, here, tmp_path, capsys):
    """A packed input and output, stopped after a chunk: unpacked, the bytes of the plain files."""
    file = pairs if command == "score" else sources
    packed, options = tmp_path / f"{file.name}.gz", ["--beam", "1"] * (command == "translate")
    packed.write_bytes(gzip.compress(file.read_bytes()))
    again = [command, str(tiny_model), str(packed), "-o", str(tmp_path / "out.gz"), *options]
    here.before = staticmethod(kill_command)
    assert main(again) == 130
    here.before = staticmethod(lambda done: None)
    assert main(again) == 0
    assert "1 of" in capsys.readouterr().err
    assert main([command, str(tiny_model), str(file), "-o", str(tmp_path / "out"), *options]) == 0
    content = (tmp_path / "out.gz").read_bytes()
    assert gzip.decompress(content) == (tmp_path / "out").read_bytes()
    (tmp_path / "out.gz").unlink()
    assert main(again) == 0
    assert (tmp_path / "out.gz").read_bytes() == content, "without a stop the packed bytes are the same"


@pytest.mark.parametrize("command", ["translate", "score"])
def test_chunks_of_another_input_are_refused(command, tiny_model, pairs, sources, here, tmp_path, capsys):
    out, file = tmp_path / "out", pairs if command == "score" else sources
    words = [command, str(tiny_model), str(file), "-o", str(out)] + ["--beam", "1"] * (command == "translate")
    here.before = staticmethod(kill_command)
    assert main(words) == 130
    before, old = content_of(parts_of(out)), file.read_bytes()
    assert sorted(before)[0] == "000000.out" or "000000.json" in before
    here.before = staticmethod(lambda done: None)
    file.write_bytes(old + b"new\tpair\n")
    capsys.readouterr()
    assert main(words) == 2
    errors = capsys.readouterr().err
    digest, number = ("sha256 of file 1", "records") if command == "score" else ("sha256", "lines")
    lines = len(old.splitlines())
    assert f"input.{number}: {lines} before, {lines + 1} now" in errors
    assert f"input.{digest}: " in errors
    assert "model" not in errors.replace(str(tmp_path), ""), "nothing else differs"
    assert content_of(parts_of(out)) == before, "the finished chunks are untouched"
    file.write_bytes(old)
    assert main(words) == 0
    assert len(out.read_bytes().splitlines()) == lines


@pytest.mark.parametrize("command", ["translate", "score"])
def test_an_input_that_changes_meanwhile_gives_no_output(command, tiny_model, pairs, sources, here, tmp_path, capsys):
    out, file = tmp_path / "out", pairs if command == "score" else sources

    def change(done: int) -> None:
        if done == 0:  # the same length: chunks that were read before and after would fit together unnoticed
            file.write_bytes(file.read_bytes().replace(b"a", b"b"))

    here.before = staticmethod(change)
    words = [command, str(tiny_model), str(file), "-o", str(out)] + ["--beam", "1"] * (command == "translate")
    assert main(words) == 3
    errors = capsys.readouterr().err
    assert f"{file}: changed while it was being {command}d" in errors
    assert f"delete {parts_of(out)}" in errors
    assert not out.exists()


def test_a_port_that_is_not_ray(tiny_model, sources, tmp_path, capsys, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setattr(ray_workers, "REACH_SECONDS", 0.2)
    words = ["translate", str(tiny_model), str(sources), "-o", str(tmp_path / "out"), "--ray"]
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert main([*words, f"127.0.0.1:{silent.getsockname()[1]}"]) == 2
    assert "no Ray cluster can be reached there (no answer within" in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet() -> None:
            connection, _ = other.accept()
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.close()

        threading.Thread(target=greet).start()
        assert main([*words, f"127.0.0.1:{other.getsockname()[1]}"]) == 2
    assert "no Ray cluster can be reached there (another program answers)" in capsys.readouterr().err


@pytest.mark.slow
def test_workers_killed_at_random(seqloom, tiny_model, sources, tmp_path, environment):
    """kill -9 of a random worker every half second, at most five; the output has every line once."""
    plain = seqloom("translate", tiny_model, sources, "--beam", 1, "--threads", 1).stdout
    draw, out = random.Random(5), tmp_path / "out"
    words = ["translate", tiny_model, sources, "--beam", 1, "-o", out, "--workers", 2]
    for _ in range(8):  # a chunk whose worker dies three times is named, and the same command continues
        run = subprocess.Popen(
            [sys.executable, "-m", "seqloom", *map(str, words)], env=environment, stderr=subprocess.PIPE, text=True
        )
        for _ in range(5):
            time.sleep(draw.uniform(0.2, 0.8))
            if workers := spawned_by(run.pid):
                os.kill(draw.choice(workers), signal.SIGKILL)
        _, errors = run.communicate(timeout=120)
        assert "Traceback" not in errors
        if run.returncode == 0:
            break
        assert "the same command tries them again" in errors or "workers in a row ended" in errors
    assert out.read_text("utf-8") == plain
    assert not parts_of(out).exists()


def spawned_by(process: int) -> list[int]:
    """The worker processes of a process, as Linux lists them."""
    listed = Path(f"/proc/{process}/task/{process}/children")
    found = [*map(int, listed.read_text().split())] if listed.exists() else []
    return [each for each in found if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()]
