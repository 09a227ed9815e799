"""What all tests share: one thread, a command line to call, a tiny trained model, the real data where it is."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from jaxtyping import install_import_hook

ROOT = Path(__file__).parents[1]

# Before anything imports torch: the tests' tensors are tiny, and threads only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Shapes in annotations are checked while testing (and only then). Here and not in pytest_configure: the conftest of a
# folder named on the command line is imported before that, and with it the models.
install_import_hook(["seqloom.nn", "seqloom.models"], "beartype.beartype")

# A loaded machine is slow, which is no fault of the code; in CI the same examples come every time.
hypothesis.settings.register_profile(
    "seqloom",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize=os.environ.get("CI") == "true",
)
hypothesis.settings.load_profile("seqloom")

TINY = (
    "model.kind=rnn model.cell=gru model.layers=1 model.width=16 text.tokenizer=char train.max_steps=6 "
    "train.valid_every=3 train.save_every=3 train.warmup=2 train.average=1 train.batch_tokens=512 "
    "train.threads=1 data.valid_pairs=20"
)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Begin every test with one torch thread: training in this process sets their number for all tests after it."""
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """For child processes: they import this tree, whatever their folder is."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", "COLUMNS": "100"}


@pytest.fixture(scope="session")
def python(environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run python with these arguments in a child process."""

    def run(*arguments: object, cwd: Path | None = None, stdin: str = "") -> subprocess.CompletedProcess[str]:
        words = [sys.executable, *map(str, arguments)]
        return subprocess.run(
            words, input=stdin, capture_output=True, encoding="utf-8", cwd=cwd, env=environment, timeout=120
        )

    return run


@pytest.fixture(scope="session")
def launch(environment: dict[str, str]) -> Iterator[Callable[..., dict[str, Any]]]:
    """launch(words, **order): run a command line in a process of its own; launcher.py has the orders and answers."""
    words, pipe = [sys.executable, "-m", "tests.launcher"], subprocess.PIPE
    launcher = subprocess.Popen(words, stdin=pipe, stdout=pipe, encoding="utf-8", env=environment)
    assert launcher.stdin is not None and launcher.stdout is not None

    def give(words: list[str], **order: Any) -> dict[str, Any]:
        print(json.dumps({"words": words, **order}), file=launcher.stdin, flush=True)
        answer: dict[str, Any] = json.loads(launcher.stdout.readline())
        assert "Traceback" not in answer["errors"], answer["errors"]
        return answer

    with launcher:
        yield give
        launcher.stdin.close()


@pytest.fixture(scope="session")
def seqloom(
    python: Callable[..., subprocess.CompletedProcess[str]], request: pytest.FixtureRequest
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command line as a user does, in a process of its own; a fork, where there are any, starts at once."""
    if not hasattr(os, "fork"):
        return lambda *arguments, **options: python("-m", "seqloom", *arguments, **options)
    launch = request.getfixturevalue("launch")

    def run(*arguments: object, cwd: Path | None = None, stdin: str = "") -> subprocess.CompletedProcess[str]:
        words = [str(argument) for argument in arguments]
        done = launch(words, folder=str(cwd or Path.cwd()), stdin=stdin)
        return subprocess.CompletedProcess(["seqloom", *words], done["code"], done["output"], done["errors"])

    return run


@pytest.fixture(scope="session")
def tiny_settings() -> list[str]:
    """`--set` words for a training that takes seconds and learns nothing."""
    return [word for setting in TINY.split() for word in ("--set", setting)]


@pytest.fixture(scope="session")
def tiny_pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 pairs of words and the same words reversed."""
    draw = random.Random(7)
    words = ["".join(draw.choices("abcdefgh", k=draw.randint(2, 6))) for _ in range(300)]
    file = tmp_path_factory.mktemp("corpus") / "pairs.tsv"
    file.write_text("".join(f"{word}\t{word[::-1]}\n" for word in words), "utf-8")
    return file


@pytest.fixture(scope="session")
def tiny_model(
    seqloom: Callable[..., subprocess.CompletedProcess[str]],
    tiny_pairs: Path,
    tiny_settings: list[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A trained model folder, made by the command line. Copy it before you change it."""
    folder = tmp_path_factory.mktemp("tiny") / "model"
    done = seqloom("train", tiny_pairs, "--out", folder, *tiny_settings)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The real data; where it is not, the test is skipped, except in CI, which must have it."""
    name = os.environ.get("SEQLOOM_DATA")
    if name and Path(name).is_dir():
        return Path(name)
    reason = f"SEQLOOM_DATA names no folder ({name})" if name else "SEQLOOM_DATA is not set: no real data here"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
