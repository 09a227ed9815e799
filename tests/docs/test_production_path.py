"""docs/how-to/production.md is run, command by command, with toy data and models that learn nothing."""

import gzip
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/how-to/production.md"
BLOCK = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHORT = ["max_steps=4", "valid_every=2", "save_every=2", "warmup=1", "average=1", "batch_tokens=512", "threads=1"]
TOY = {  # what a toy run sets beside: the shape and the tokenizer of a student are its teacher's
    "transformer-small": [
        "model.width=16",
        "model.layers=1",
        "model.heads=2",
        "text.tokenizer=word",
        "text.vocab_size=400",
    ],
    "rnnsearch-small": ["model.width=16", "text.tokenizer=word", "text.vocab_size=400"],
    "fast": [],
}


def toy_commands() -> list[str]:
    """The commands of the page but the last; each training is a few steps of a tiny model."""
    lines = "".join(BLOCK.findall(PAGE.read_text("utf-8"))).replace("\\\n", " ").splitlines()
    assert lines[-1] == "seqloom serve runs/student"
    return [shortened(line) for line in lines[:-1]]


def shortened(line: str) -> str:
    if not line.startswith("seqloom train"):
        return line
    settings = [f"train.{setting}" for setting in SHORT] + TOY[re.search(r"--recipe (\S+)", line)[1]]
    line = (
        re.sub(r"--budget \S+", "", line).replace("model.layers=6", "model.layers=2").replace("_layers=2", "_layers=1")
    )
    return line + "".join(f" --set {setting}" for setting in settings)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="the commands of the page are written for bash")
def test_the_page_from_raw_pairs_to_a_served_model(tiny_pairs, tmp_path, environment):
    pairs = tiny_pairs.read_text("utf-8")
    (tmp_path / "raw.tsv").write_text(pairs + "\t\nno second column\n", "utf-8")
    (tmp_path / "valid.tsv").write_text("ab cd\tdc ba\nef gh\thg fe\n" * 10, "utf-8")
    sources = [line.split("\t")[0] for line in pairs.splitlines()][:40]
    (tmp_path / "mono.en.gz").write_bytes(gzip.compress("".join(f"{text}\n" for text in sources).encode()))
    own = tmp_path / "bin"
    own.mkdir()
    (own / "seqloom").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m seqloom "$@"\n', "utf-8")
    (own / "seqloom").chmod(0o755)
    around = environment | {"PATH": f"{own}{os.pathsep}{os.environ['PATH']}"}
    for command in toy_commands():
        words = ["bash", "-e", "-o", "pipefail", "-c", command]
        done = subprocess.run(words, cwd=tmp_path, env=around, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    assert (tmp_path / "clean.tsv").read_text("utf-8").count("\n") <= pairs.count("\n")
    assert len((tmp_path / "scores.tsv").read_text("utf-8").splitlines()) == len(sources)
    assert 0 < (tmp_path / "kept.tsv").read_text("utf-8").count("\n") <= len(sources)
    assert (tmp_path / "runs/student/engine").is_dir()
    assert served(tmp_path, around) == 200


def served(folder: Path, around: dict[str, str]) -> int:
    """Start the server on a free port, ask whether it is ready, and stop it."""
    words = [sys.executable, "-m", "seqloom", "serve", "runs/student", "--port", "0"]
    with subprocess.Popen(
        words, cwd=folder, env=around, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as run:
        try:
            for line in run.stdout:
                if found := re.search(r"http://[\d.]+:\d+", line):
                    with urllib.request.urlopen(f"{found[0]}/v1/readyz", timeout=60) as answer:
                        return answer.status
            return 0
        finally:
            run.terminate()
