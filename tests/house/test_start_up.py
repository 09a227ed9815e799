"""Import time is part of speed: what needs no tensors starts without torch, and help appears at once."""

import resource
import subprocess

from seqloom.cli.app import VERBS
from tests.house.source import Rule

SPY = """
import sys
from seqloom.cli.app import main
for line in "\\n".join(sys.argv[1:]).split("\\n---\\n"):
    code = main(line.split("\\n"))
    heavy = {"torch", "sacrebleu", "matplotlib", "tensorboard"} & sys.modules.keys()
    if heavy or code:
        sys.exit(f"`seqloom {' '.join(line.split())}` imported {sorted(heavy)}, exit code {code}")
"""

RULE = Rule(
    "no --help, and neither doctor, info, recipes nor a converted engine, loads torch or another heavy package",
    "torch takes seconds to load; help and checks should answer at once",
    "find the import with `python -X importtime -m seqloom ...` and move it to where tensors are needed",
)


MAKE = """
import sys
from pathlib import Path
from seqloom.config import dump_config, load_config
from seqloom.models.build import build_model
from seqloom.models.weights import save_weights
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.formats.export_ctranslate2 import make_engine
folder = Path(sys.argv[1])
folder.mkdir()
config = load_config(overrides=["model.width=8", "model.heads=2", "model.layers=1", "text.vocab_size=270"])
tokenizer = learn_tokenizer("bpe", ["a cat"], 270)
(folder / "config.toml").write_text(dump_config(config), "utf-8")
(folder / "run.json").write_text('{"format": 1, "finished": true}', "utf-8")
Tokenizers(tokenizer, tokenizer).save(folder)
save_weights(build_model(config, len(tokenizer), len(tokenizer), True), folder / "model.safetensors")
make_engine(folder, tell=print)
"""


def started_light(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, RULE.broken("seqloom/cli/app.py:1", done.stderr.strip())


def test_help_needs_no_torch(python):
    """All in one process, each looked at once it has run: a process for each takes many seconds."""
    lines = ["--help", "--version", "recipes", *(f"{verb} --help" for verb in VERBS)]
    started_light(python("-c", SPY, *" --- ".join(lines).split()))


def test_doctor_needs_no_torch(python, tmp_path):
    (tmp_path / "pairs.tsv").write_text("one\tun\ntwo\tdeux\n", "utf-8")
    started_light(python("-c", SPY, "doctor", "pairs.tsv", cwd=tmp_path))


def test_info_needs_no_torch(python, tiny_model):
    started_light(python("-c", SPY, "info", tiny_model))


def test_translating_a_converted_transformer_needs_no_torch(python, tmp_path):
    made = python("-c", MAKE, tmp_path / "run")
    assert made.returncode == 0, made.stderr
    (tmp_path / "in.txt").write_text("a cat\nthe dog\n", "utf-8")
    done = python("-c", SPY, "translate", tmp_path / "run", tmp_path / "in.txt")
    started_light(done)
    assert len(done.stdout.splitlines()) == 2


def test_translating_with_compact_weights_needs_no_torch(python, tmp_path):
    made = python("-c", MAKE, tmp_path / "run")
    assert made.returncode == 0, made.stderr
    done = python("-m", "seqloom", "export", tmp_path / "run", "--format", "compact", "--out", tmp_path / "small")
    assert done.returncode == 0, done.stderr
    started_light(python("-c", SPY, "translate", tmp_path / "small", "a cat"))


def test_importing_seqloom_needs_neither_torch_nor_numpy(python):
    code = "import sys, seqloom; seqloom.load; sys.exit(', '.join({'torch', 'numpy'} & sys.modules.keys()) or 0)"
    done = python("-c", code)
    assert done.returncode == 0, RULE.broken("seqloom/__init__.py:1", f"`import seqloom` imported {done.stderr}")


def test_help_appears_at_once(python):
    """In seconds of the processor: the clock on the wall also counts what else the machine is doing."""
    times = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert python("-m", "seqloom", "--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(times) < 0.6, f"seqloom --help took {min(times):.2f} s"
