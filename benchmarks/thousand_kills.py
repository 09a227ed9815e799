"""Kill training runs at random moments, continue each to its end, and compare it with an undisturbed one.

    python benchmarks/thousand_kills.py runs/kills --kills 1000       # again: continues, and prints the table

Every start is a real `seqloom train` in a process of its own (a fork, so that torch is imported once). It reports when
a stage begins and ends. A kill is drawn as (stage, earliest step, share of the stage's usual time): SIGKILL comes that
long after the stage began. When the kills of a run are used up, the same command runs to its end. The run must then be
the same as the undisturbed one: SHA-256 of weights, optimizer, tokenizer, store, engine and golden answers, the log and
run.json but for times, the same names of files, no leftovers. FOLDER/log.jsonl has one line per run.
"""

import argparse
import hashlib
import importlib
import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[1]
SHORT = (
    *("train.max_steps=24", "train.valid_every=9", "train.save_every=4", "train.warmup=5", "train.average=3"),
    *("train.batch_tokens=128", "train.accumulate=2", "train.log_every=1", "train.threads=1", "data.valid_pairs=20"),
    *("data.max_tokens=40", "text.tokenizer=bpe", "text.vocab_size=290", "model.layers=1", "model.width=16"),
    "model.dropout=0.2",
)
RNN, TRANSFORMER = ("model.kind=rnn",), ("model.kind=transformer", "model.heads=2", "model.embed_size=0")
# name: (task, corpus, settings)
TASKS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "translate, rnn": ("translate", "pairs", (*RNN, "train.precision=bfloat16")),
    "translate, transformer": ("translate", "pairs", TRANSFORMER),
    "classify": ("classify", "labelled", RNN),
    "tag": ("tag", "tagged", RNN),
    "language": ("language", "text", (*RNN, "model.cell=lstm", "task.window=16")),
    "masked": ("masked", "text", TRANSFORMER),
    "denoise": ("denoise", "text", TRANSFORMER),
}
# stage: the function that it lasts as long as; in the order of a run
STAGES = {
    "checking": "seqloom.training.data:refuse_bad_data",
    "tokenizer": "seqloom.training.data:find_tokenizers",
    "encoding": "seqloom.training.data:prepare",
    "steps": "seqloom.training.loop:Loop.update",
    "validation": "seqloom.training.loop:Loop.run_validation",
    "checkpoint": "seqloom.training.loop:Loop.save",
    "finish": "seqloom.training.run:complete",
    "engine": "seqloom.training.finish:write_fast_form",
}
BY_STEP = ("steps", "validation", "checkpoint")  # they come again and again
ELSEWHERE = "between"
MOST_KILLS = 12  # in one run
CLOCKED = {"seconds", "tokens_per_second", "mfu"}


def write_corpora(folder: Path) -> None:
    draw = random.Random(11)
    words = ["".join(draw.choices("abcdefghij", k=draw.randint(2, 6))) for _ in range(12)]
    sentences = [" ".join(draw.choices(words, k=draw.randint(2, 5))) for _ in range(300)]
    lines = {
        "pairs.tsv": [f"{text}\t{text[::-1]}" for text in sentences],
        "text.txt": sentences,
        "labelled.tsv": [f"{'long' if len(text.split()) > 3 else 'short'}\t{text}" for text in sentences],
        "tagged.tsv": [f"{text}\t{' '.join('N' if len(w) > 3 else 'V' for w in text.split())}" for text in sentences],
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, texts in lines.items():
        (folder / name).write_text("".join(f"{text}\n" for text in texts), "utf-8")


def words_for(name: str, folder: Path, run: Path) -> list[str]:
    """The command line of a run: the same at every start."""
    task, corpus, settings = TASKS[name]
    file = next((folder / "corpora").glob(f"{corpus}.*"))
    changes = [word for setting in (*SHORT, *settings) for word in ("--set", setting)]
    return ["train", str(file), "--out", str(run), "--task", task, "--seed", "1", *changes]


class Start:
    """One start of a command line in a fork; `stages` yields its stages as it goes through them."""

    def __init__(self, words: list[str], errors: Path) -> None:
        reading, writing = os.pipe()
        self.inside: list[str] = []  # the stages that it is in, outermost first
        self.usual: dict[str, float] = {}  # seconds that the longest call of each stage took
        self.child = os.fork()
        if not self.child:
            os.close(reading)
            run_child(words, errors, writing)
        os.close(writing)
        self.pipe = os.fdopen(reading, encoding="utf-8")

    def stages(self) -> Iterator[tuple[str, int]]:
        """Yield (stage, step) whenever one begins, until the process has ended."""
        for line in self.pipe:
            if not line.endswith("\n"):
                return  # the kill came in the middle of a word
            what, stage, number = line.split()
            if what == "begins":
                self.inside.append(stage)
                yield stage, int(number)
            else:
                self.inside.pop()
                self.usual[stage] = max(self.usual.get(stage, 0.0), float(number))

    def end(self) -> int:
        """Wait for the end; the exit code, or minus the signal."""
        for _ in self.stages():
            pass
        self.pipe.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])


def run_child(words: list[str], errors: Path, pipe: int) -> None:
    """Never returns."""
    code = 99
    try:
        from seqloom.cli.app import main

        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666), 2)
        os.dup2(2, 1)
        for stage, place in STAGES.items():
            report_stage(stage, place, pipe)
        code = main(words)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def report_stage(stage: str, place: str, pipe: int) -> None:
    """Put a wrapper around the function, which writes to the pipe when it begins and ends."""
    module, _, path = place.partition(":")
    *owners, name = path.split(".")
    owner = reduce(getattr, owners, importlib.import_module(module))
    real: Callable[..., Any] = getattr(owner, name)

    def wrapper(*args: Any, **options: Any) -> Any:
        step = args[0].state.step if stage in BY_STEP else 0
        os.write(pipe, f"begins {stage} {step}\n".encode())
        began = time.monotonic()
        try:
            return real(*args, **options)
        finally:
            os.write(pipe, f"ends {stage} {time.monotonic() - began:.6f}\n".encode())

    setattr(owner, name, wrapper)


def draw_kills(draw: random.Random, usual: dict[str, float]) -> list[tuple[str, int, float]]:
    """Draw (stage, earliest step, seconds after its begin), in the order in which a run comes to them."""
    stages = [*usual]
    drawn = [(draw.choice(stages), draw.randrange(24), draw.random()) for _ in range(draw.randint(4, MOST_KILLS))]
    kills = [(stage, step if stage in BY_STEP else 0, share * usual[stage]) for stage, step, share in drawn]
    order = [*STAGES]
    return sorted(kills, key=lambda kill: (min(order.index(kill[0]), 3) + 3 * (kill[0] in order[6:]), kill[1]))


def kill_once(words: list[str], errors: Path, kill: tuple[str, int, float]) -> str | None:
    """Start once and kill it there; the stage that it died in, None if it ended before."""
    wanted, step, delay = kill
    start = Start(words, errors)
    for stage, now in start.stages():
        if stage == wanted and now >= step:
            time.sleep(delay)
            os.kill(start.child, signal.SIGKILL)  # still there: it has not been waited for
            break
    code = start.end()
    if code not in (0, -signal.SIGKILL):
        sys.exit(f"exit code {code}: {' '.join(words)}\n{errors.read_text()}")
    return (start.inside[-1] if start.inside else ELSEWHERE) if code else None


def portrait(run: Path) -> dict[str, Any]:
    """All that must be the same in two runs; files by their SHA-256."""
    log = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    facts = json.loads((run / "run.json").read_text("utf-8"))
    loose = ("lock", "card.md", "metrics.jsonl", "run.json", "config.toml")  # with times or the name of the run
    kept: dict[str, Any] = {}
    for file in sorted(run.rglob("*")):
        name = str(file.relative_to(run))
        whole = file.is_file() and name not in loose and file.name not in ("state.json", "manifest.json")
        if not name.startswith("tensorboard"):
            kept[name] = hashlib.sha256(file.read_bytes()).hexdigest() if whole else ""
    kept["log"] = [{name: value for name, value in event.items() if name not in CLOCKED} for event in log]
    return kept | {"facts": {name: value for name, value in facts.items() if name not in CLOCKED}}


def undisturbed(name: str, folder: Path) -> tuple[dict[str, Any], dict[str, float]]:
    """Train an undisturbed run: its portrait, and how long its stages take."""
    run = folder / "whole"
    shutil.rmtree(run, ignore_errors=True)
    start = Start(words_for(name, folder, run), folder / "errors.txt")
    if start.end():
        sys.exit((folder / "errors.txt").read_text())
    return portrait(run), start.usual


def disturbed(name: str, folder: Path, kills: list[tuple[str, int, float]], whole: dict[str, Any]) -> dict[str, Any]:
    """Kill one run as drawn, continue it to its end, and compare."""
    run, errors, died = folder / "run", folder / "errors.txt", []
    shutil.rmtree(run, ignore_errors=True)
    errors.unlink(missing_ok=True)
    words = words_for(name, folder, run)
    for kill in kills:
        if (stage := kill_once(words, errors, kill)) is not None:
            died.append(stage)
    if code := Start(words, errors).end():
        sys.exit(f"exit code {code}: {' '.join(words)}\n{errors.read_text()}")
    found = portrait(run)
    different = sorted(part for part in found.keys() | whole.keys() if found.get(part) != whole.get(part))
    if different:
        run.rename(run.with_name(f"different-{time.time_ns()}"))  # kept, to be looked at
    return {"task": name, "kills": died, "different": different}


def table(runs: list[dict[str, Any]]) -> str:
    columns = [*STAGES, ELSEWHERE]
    lines = [f"| task | {' | '.join(columns)} | kills | runs | bit-identical |", "|---|" + "--:|" * (len(columns) + 3)]
    for name in [*TASKS, "all"]:
        own = [run for run in runs if name in (run["task"], "all")]
        count = Counter(stage for run in own for stage in run["kills"])
        same = sum(not run["different"] for run in own)
        cells = [*(count[stage] for stage in columns), sum(count.values()), len(own), same]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def read_log(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=1000, help="go on until so many processes have been killed")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder: Path = options.folder.resolve()
    write_corpora(folder / "corpora")
    runs = read_log(folder / "log.jsonl")
    if sum(len(run["kills"]) for run in runs) < options.kills:
        go_on(folder, runs, options.kills, options.seed)
    print(table(runs))
    return int(any(run["different"] for run in runs))


def go_on(folder: Path, runs: list[dict[str, Any]], kills: int, seed: int) -> None:
    sys.path.insert(0, str(ROOT))
    os.environ["OMP_NUM_THREADS"] = "1"
    importlib.import_module("seqloom.workflows.train")
    torch = importlib.import_module("torch")
    torch.optim.AdamW([torch.zeros(1)])  # fetches the rest of torch
    wholes = {name: undisturbed(name, folder) for name in TASKS}
    log: IO[str]
    with (folder / "log.jsonl").open("a", encoding="utf-8") as log:
        while (done := sum(len(run["kills"]) for run in runs)) < kills:
            name = [*TASKS][len(runs) % len(TASKS)]
            whole, usual = wholes[name]
            drawn = draw_kills(random.Random(f"{seed} {len(runs)}"), usual)[: kills - done]
            runs.append(disturbed(name, folder, drawn, whole))
            print(json.dumps(runs[-1]), file=log, flush=True)
            print(f"{done + len(runs[-1]['kills']):5} kills, {len(runs)} runs", runs[-1], file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
