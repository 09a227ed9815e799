"""How long explaining takes and how large its files are: every view of one sentence, per model.

    python benchmarks/explain_speed.py runs/rnnsearch-small runs/transformer
    python benchmarks/explain_speed.py runs/x --text "another sentence"

One thread. The first call loads what the view needs and is not counted; then the median of five calls. An edit is what
Studio asks for after a change: the views attention, self, gates and beam with one source word deleted.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

import seqloom
from seqloom.explain.page import page
from seqloom.inside.views import VIEWS
from seqloom.serve.look_inside import QUICK

TEXT = "The small animal did not cross the busy street in the old town because it was much too tired to walk ."
CALLS = 5


def median_seconds(call: Callable[[], object], calls: int = CALLS) -> float:
    call()
    times = []
    for _ in range(calls):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--text", default=TEXT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| model | tokens in, out | what | seconds | JSON, kB | page, kB |")
    print("|---|---|---|---|---|---|")
    for folder in options.models:
        measure(folder, options.text)


def measure(folder: Path, text: str) -> None:
    model = seqloom.load(folder)
    shorter = " ".join(text.split()[1:])
    views = [name for name, view in VIEWS.items() if view.fits(model.config)]
    lane = model.explain(text, views=()).lanes[0]
    assert lane.answers == [model.translate(text)], "explaining changed the answer"
    sizes = f"{len(lane.source.tokens)}, {len(lane.target.tokens)}"
    print(f"| {folder.name} | {sizes} | translate | {median_seconds(partial(model.translate, text)):.3f} | | |")
    quick = [name for name in QUICK if name in views]
    singles = [(name, text, [name]) for name in views]
    for what, shown, wanted in [("an edit in Studio", shorter, quick), *singles, ("all views", text, views)]:
        explain = partial(model.explain, shown, views=wanted)
        took = median_seconds(explain, 1 if "attribution" in wanted else CALLS)
        document = explain()
        row = f"{took:.3f} | {len(document.to_json()) / 1e3:.0f} | {len(page(document).encode()) / 1e3:.0f}"
        print(f"| {folder.name} | {sizes} | {what} | {row} |", flush=True)


if __name__ == "__main__":
    main()
