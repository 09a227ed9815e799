"""The wheel, as a stranger gets it: built, installed in an empty environment, used from another folder."""

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import seqloom

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


def run(*words: object, cwd: Path, **more: object) -> str:
    without = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    ran = subprocess.run([str(word) for word in words], cwd=cwd, env=without, capture_output=True, text=True, **more)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, cwd=ROOT, timeout=600)
    assert (folder / f"seqloom-{seqloom.__version__}.tar.gz").exists()
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The python of a new environment with the wheel and what it needs, but no extra."""
    folder = tmp_path_factory.mktemp("env")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--constraint", ROOT / "constraints.txt", wheel, cwd=folder, timeout=1800)
    return python


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"seqloom", f"seqloom-{seqloom.__version__}.dist-info"}
    for needed in ("py.typed", "recipes/dates.toml", "serve/studio/index.html", "explain/page/main.js",
                   "box/en-fr/model.safetensors", "box/pronounce/card.md"):  # fmt: skip
        assert f"seqloom/{needed}" in names, needed
    assert not [name for name in names if name.endswith((".pt", ".pkl", ".pyc"))]


def test_an_empty_environment_has_all_it_needs(installed, tmp_path):
    run(installed, "-m", "pip", "check", cwd=tmp_path)
    assert seqloom.__version__ in run(installed, "-m", "seqloom", "--version", cwd=tmp_path)
    assert "rnnsearch-small" in run(installed, "-m", "seqloom", "recipes", cwd=tmp_path)


def test_it_trains_and_translates_from_there(installed, tmp_path):
    pairs = "".join(f"{n} plus {m}\t{n + m}\n" for n in range(20) for m in range(20))
    (tmp_path / "sums.tsv").write_text(pairs, "utf-8")
    tiny = ["--recipe", "dates", "--set", "train.max_steps=3", "--set", "model.width=16", "--threads", "1"]
    run(installed, "-m", "seqloom", "train", "sums.tsv", "--out", "sums", *tiny, cwd=tmp_path, timeout=300)
    run(installed, "-m", "seqloom", "translate", "sums", "1 plus 2", cwd=tmp_path)


def test_its_first_translation_needs_no_network(installed, tmp_path):
    without = ["unshare", "--map-root-user", "--net"]
    if not shutil.which("unshare") or subprocess.run([*without, "true"], capture_output=True).returncode:
        pytest.skip("no process can be started without a network here")
    words = [*without, installed.with_name("seqloom"), "translate"]
    assert run(*words, cwd=tmp_path, input="They are watching.\n") == "Ils regardent.\n"


def test_the_extras_bring_what_their_commands_need(wheel, installed, tmp_path):
    """Comes last: from here on the environment has the extras."""
    words = ["-m", "pip", "install", "-q", "--constraint", ROOT / "constraints.txt"]
    run(installed, *words, f"{wheel}[plots,onnx,tensorboard,remote]", cwd=tmp_path, timeout=1800)
    run(installed, "-m", "pip", "check", cwd=tmp_path)
    sentence = "They are watching."
    run(installed, "-m", "seqloom", "explain", "rnnsearch", sentence, "--view", "gates", "-o", "x.png", cwd=tmp_path)
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    run(installed, "-m", "seqloom", "explain", "rnnsearch", sentence, "--live", "-o", "x.html", cwd=tmp_path)
    assert (tmp_path / "x.html").stat().st_size > 1 << 20, "the model is inside"
