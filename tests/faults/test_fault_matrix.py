"""Every cell of the table of promises: something breaks in a stage, the promise is kept, and nothing is lost by it."""

import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.promises import read_table
from tests.faults.scenes import SCENES, Scene, leftovers, newest, portrait, repair
from tests.moments import flip, owner_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="fork, signals, capabilities")

PROMISES = {cell: outcome for cell, outcome in read_table().items() if cell[0] in SCENES}
QUICK = (  # in the everyday tests: one cell of each kind
    ("tokenizer", "SIGTERM"), ("steps", "SIGKILL"), ("steps", "bit flip"), ("checkpoint", "disk full"),
    ("checkpoint", "SIGINT twice"), ("finish", "read-only"), ("checking", "vanished"), ("export", "disk full"),
)  # fmt: skip
SIGNALS = {"SIGKILL": (signal.SIGKILL, 1), "SIGTERM": (signal.SIGTERM, 1), "SIGINT twice": (signal.SIGINT, 2)}


@pytest.fixture(scope="module")
def wanted(start: Any, template: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Scene], Any]:
    """wanted(scene): what comes out when nothing breaks."""
    known: dict[str, Any] = {}

    def find(scene: Scene) -> Any:
        if (key := " ".join(scene.words)) not in known:
            folder = shutil.copytree(template(scene.needs), tmp_path_factory.mktemp("whole") / "folder")
            answer = start(folder, scene.words)
            assert answer["code"] == 0, answer["errors"]
            known[key] = portrait(folder / scene.out)
        return known[key]

    return find


def moment(scene: Scene, *faults: list[Any]) -> dict[str, Any]:
    return {"at": scene.at, "call": scene.call, "do": [*faults]}


def break_it(fault: str, outcome: str, scene: Scene, folder: Path, start: Any) -> dict[str, Any]:
    """Start the command and let the fault happen; the answer of the start in which it was noticed."""
    if fault == "bit flip" and outcome == "skipped":
        answer = start(folder, scene.words, **moment(scene, ["signal", signal.SIGKILL]))
        assert answer["code"] == -signal.SIGKILL, answer
        flip(newest(folder / scene.out))
        return start(folder, scene.words)
    if fault == "bit flip" and scene.flips:
        flip(folder / scene.flips)
        return start(folder, scene.words)
    closed = folder / scene.out if (folder / scene.out).is_dir() or scene.words[0] in ("train", "ladder") else folder
    faults = {
        "disk full": ["full"],
        "read-only": ["read-only", str(closed)],
        "vanished": ["remove", str(folder / scene.input)],
        "changed": ["write", str(folder / scene.input), "other\tthings\n" * 50],
        "bit flip": ["flip", str(folder / scene.input)],
        "clock": ["clock"],
    }
    does = ["signal", *SIGNALS[fault]] if fault in SIGNALS else faults[fault]
    answer = start(folder, scene.words, **moment(scene, does))
    assert answer["happened"], f"{scene.at} was not called {scene.call} times\n{answer['errors']}"
    return answer


def check_kept(outcome: str, fault: str, answer: dict[str, Any]) -> None:
    """The exit code and the words of the outcome."""
    code, errors = answer["code"], answer["errors"]
    if outcome == "not seen":
        assert code in (0, 4), answer
        return
    if outcome == "again":
        number = SIGNALS[fault][0]
        assert code in (-number, 128 + number), answer
        return
    codes = {"saved": 143, "same": 0, "skipped": 0}
    if outcome == "kept":
        assert code == 128 + SIGNALS[fault][0], answer
    else:
        assert code == (codes[outcome] if outcome in codes else int(outcome.removeprefix("exit "))), answer
    words = {
        "saved": "The same command continues from there",
        "kept": "The same command continues",
        "skipped": "damaged checkpoint skipped",
        "exit 5": "disk is full" if fault == "disk full" else "cannot be written",
    }
    assert words.get(outcome, "") in errors


def cells() -> list[Any]:
    slow = pytest.mark.slow
    return [
        pytest.param(*cell, outcome, marks=() if cell in QUICK else slow, id="-".join(cell).replace(" ", "_"))
        for cell, outcome in PROMISES.items()
    ]


@pytest.mark.parametrize(("stage", "fault", "outcome"), cells())
def test_the_promise_is_kept(
    stage: str, fault: str, outcome: str, start: Any, template: Any, wanted: Any, tmp_path: Path
) -> None:
    scene = SCENES[stage]
    given = template(scene.needs)
    folder = shutil.copytree(given, tmp_path / "folder")
    answer = break_it(fault, outcome, scene, folder, start)
    check_kept(outcome, fault, answer)
    if outcome == "not seen":
        return
    if outcome not in ("same", "skipped"):
        repair(folder, given)
        answer = start(folder, scene.words)
        assert answer["code"] == 0, answer["errors"]
    assert portrait(folder / scene.out) == wanted(scene)
    assert not leftovers(folder)


@pytest.mark.parametrize("stage", SCENES)
def test_each_moment_is_that_of_a_function(stage: str) -> None:
    """Fast, for those who rename a function: the slow tests above stop there."""
    owner, name = owner_of(SCENES[stage].at)
    assert callable(getattr(owner, name))
