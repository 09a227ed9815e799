"""How fast is a step of training? This tree in turns with an older tree or with the loop of hugging_face_loop.py.

    SEQLOOM_DATA=DIR python benchmarks/turns.py [--precision float32] [--recipe NAME] [--before TREE] [--turns 7]

Each system is a process of its own, pinned to the same core, that trains for some updates when its turn comes and then
sleeps. Speed is target tokens per second of *processor time*, so that other work on the machine decides little; the
table has the median over the turns, and the median of the ratios of neighbouring turns. Without --recipe the model has
the shape of the Hugging Face loop: 3 + 3 layers, width 256, FFN 1024, post-norm, 8,000 tied pieces, dropout 0.1, label
smoothing 0.1, 1,024 tokens per batch, Multi30k English-German. All systems learn from the same token ids; each makes
its own batches of them. A recipe of a language model reads the English side alone.
"""

import argparse
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

SHAPE = (
    "model.kind=transformer", "model.layers=3", "model.width=256", "model.heads=4", "model.ffn_size=1024",
    "model.norm=post", "model.dropout=0.1", "model.tied=true", "text.joint=true", "text.vocab_size=8000",
    "train.batch_tokens=1024", "train.label_smoothing=0.1", "train.clip_norm=1.0", "train.warmup=400",
)  # fmt: skip
Turn = Callable[[], int]  # makes some updates; returns the number of target tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--precision", default="bfloat16")
    parser.add_argument("--recipe", help="a recipe in place of the shape of the Hugging Face loop")
    parser.add_argument("--before", help="the folder of another tree of Seqloom; without it, the Hugging Face loop")
    parser.add_argument("--set", dest="settings", action="append", default=[], help="SETTING=VALUE of Seqloom")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--updates", type=int, default=25, help="updates per turn")
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options, options.serve[0], Path(options.serve[1]))
        return
    other = "before" if options.before else "hugging-face"
    with tempfile.TemporaryDirectory() as folder:
        systems = {name: System(name, options, folder) for name in ("seqloom", other)}
        speeds: dict[str, list[float]] = {name: [] for name in systems}
        for turn in range(options.turns + 1):
            for name, system in systems.items():
                speed = system.train()
                if turn:  # the first turn warms up
                    speeds[name].append(speed)
            print("  ".join(f"{name} {found[-1]:,.0f}" for name, found in speeds.items() if found), file=sys.stderr)
        print("| system | tokens/s, median | range | peak memory, MB |\n|---|--:|--:|--:|")
        for name, system in systems.items():
            least, most = min(speeds[name]), max(speeds[name])
            memory = system.leave()
            print(f"| {name} | {statistics.median(speeds[name]):,.0f} | {least:,.0f} to {most:,.0f} | {memory:,.0f} |")
    ratios = [mine / its for mine, its in zip(speeds["seqloom"], speeds[other], strict=True)]
    print(
        f"\nseqloom / {other}, {options.precision}, {options.recipe or 'shape of the Hugging Face loop'}: median "
        f"**{statistics.median(ratios):.3f}** ({min(ratios):.3f} to {max(ratios):.3f}, {len(ratios)} turns)"
    )


class System:
    """A process that trains when it is told to."""

    def __init__(self, name: str, options: argparse.Namespace, folder: str) -> None:
        tree = options.before if name == "before" else str(Path(__file__).resolve().parent.parent)
        words = ["taskset", "--cpu-list", str(options.core), sys.executable, __file__, *sys.argv[1:]]
        environment = {**os.environ, "PYTHONPATH": tree, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        self.process = subprocess.Popen(
            [*words, "--serve", name, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
        )
        self.ask("ready?")  # one after the other: the first prepares the data

    def ask(self, line: str) -> float:
        assert self.process.stdin
        assert self.process.stdout
        print(line, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline() or sys.exit("a system has failed; its message is above"))

    def train(self) -> float:
        return self.ask("train")

    def leave(self) -> float:
        """End the process; its peak memory in MB."""
        memory = self.ask("memory")
        self.process.communicate()
        return memory


def serve(options: argparse.Namespace, name: str, folder: Path) -> None:
    """Answer each line of standard input with one number."""
    import torch

    torch.set_num_threads(1)
    turn = hugging_face_turn(options, folder) if name == "hugging-face" else seqloom_turn(options, folder / name)
    for line in sys.stdin:
        answer = 0.0
        if line == "ready?\n":
            Path("/proc/self/clear_refs").write_text("5")  # the peak of memory is that of training alone
        elif line == "train\n":
            began = time.process_time()
            answer = turn() / (time.process_time() - began)
        elif line == "memory\n":
            found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
            answer = int(found[1]) / 1024 if found else 0.0
        print(answer, flush=True)


def seqloom_turn(options: argparse.Namespace, folder: Path) -> Turn:
    """Make some updates with the training loop of `seqloom train`."""
    from seqloom.config import load_config
    from seqloom.config.recipes import find_recipe
    from seqloom.training.clock import Clock
    from seqloom.training.data import gather_data
    from seqloom.training.processes import ALONE
    from seqloom.training.request import TrainRequest
    from seqloom.training.run import make_loop, start_model
    from seqloom.training.run_parts import Run, find_own_device, prepare_torch
    from seqloom.training.settings import settle
    from seqloom.training.signals import StopFlag

    data = Path(os.environ.get("SEQLOOM_DATA") or sys.exit("SEQLOOM_DATA must name the folder with the corpora"))
    files = [str(data / "multi30k" / f"train.{language}.gz") for language in ("en", "de")]
    settings = [*(() if options.recipe else SHAPE), *options.settings, "train.max_steps=100000", "train.max_epochs=0"]
    settings += [f"train.precision={options.precision}", "train.threads=1", "train.log_every=100000"]
    one = options.recipe and load_config(find_recipe(options.recipe)).task.name == "language"
    request = TrainRequest(
        (files[0] if one else ",".join(files),), folder, recipe=options.recipe, overrides=tuple(settings), quiet=True
    )
    folder.mkdir()
    settled = settle(request)
    prepare_torch(settled.config)
    run = Run(request, settled.config, *gather_data(settled, ALONE), find_own_device(settled.config, ALONE))
    model, _ = start_model(run, ALONE)
    clock = Clock(settled.config.train, None, 0.0, time.monotonic())
    loop, _ = make_loop(run, model, clock, (StopFlag(), ALONE), 0)
    model.train()

    def turn() -> int:
        before = loop.state.tokens
        for _ in range(options.updates):
            loop.update()
        return loop.state.tokens - before

    return turn


def hugging_face_turn(options: argparse.Namespace, folder: Path) -> Turn:
    """Make some updates of the Hugging Face loop on the token ids that Seqloom has prepared."""
    from hugging_face_loop import END, batches, learn, make_model, make_optimizer

    from seqloom.data.store import Store

    store = Store.open(folder / "seqloom" / "store")
    encoded = [([*source, END], [*target, END]) for source, target in map(store.pair_ids, range(len(store)))]
    model = make_model(8000)
    optimizer, draw = make_optimizer(model), random.Random(1)
    following = (batch for _ in range(100) for batch in batches(encoded, draw))

    def turn() -> int:
        halves = options.precision == "bfloat16"
        return sum(learn(model, optimizer, next(following), halves) for _ in range(options.updates))

    return turn


if __name__ == "__main__":
    main()
