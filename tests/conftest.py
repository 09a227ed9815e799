"""What all tests share: one thread, a command line to call, a tiny trained model, the real data where it is."""

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

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
def seqloom(python: Callable[..., subprocess.CompletedProcess[str]]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command line as a user does."""

    def run(*arguments: object, cwd: Path | None = None, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return python("-m", "seqloom", *arguments, cwd=cwd, stdin=stdin)

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
