"""Compare the speed of training in float32 and bfloat16 on this machine (train.precision), in turn in one run.

    python benchmarks/precision.py [--threads 1] [--rounds 5] [RECIPE ...]

Trains each recipe at its full size on a batch of 64 generated sentences of 16 tokens, with 4,000 pieces. Prints target
tokens/s of the best round, and the ratio. On a processor without bfloat16 instructions the ratio is below 1; "auto"
then means float32.
"""

import argparse
import time
from collections.abc import Callable

import torch

from seqloom.config import load_config
from seqloom.config.recipes import find_recipe
from seqloom.data.batch import Batch
from seqloom.models.build import build_model
from seqloom.tasks.translate import translation_loss
from seqloom.training.gradient_clipping import scale_and_clip
from seqloom.training.optimizers import make_optimizer
from seqloom.training.precision import has_bfloat16, products_in
from seqloom.training.speed import keep_freed_memory

RECIPES = ("ladder/transformer", "ladder/rnnsearch-additive", "ladder/rnnsearch-dot", "ladder/lstm", "ladder/gru")
VOCAB, ROWS, LENGTH = 4000, 64, 16
CPU = torch.device("cpu")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="*", default=RECIPES)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    print(f"instructions for bfloat16: {has_bfloat16(CPU)}; threads: {options.threads}")
    for recipe in options.recipes:
        steps = {precision: make_step(recipe, precision) for precision in ("float32", "bfloat16")}
        best = dict.fromkeys(steps, 0.0)
        for _ in range(options.rounds):
            for precision, step in steps.items():
                best[precision] = max(best[precision], tokens_per_second(step))
        told = ", ".join(f"{precision} {speed:,.0f}" for precision, speed in best.items())
        print(f"{recipe:28} {told} target tokens/s: {best['bfloat16'] / best['float32']:.2f} times", flush=True)


def make_step(recipe: str, precision: str) -> Callable[[], None]:
    torch.manual_seed(1)
    config = load_config(find_recipe(recipe))
    model = build_model(config, VOCAB, VOCAB, True).train()
    optimizer = make_optimizer(model, config.train)
    source, target = torch.randint(4, VOCAB, (2, ROWS, LENGTH))
    seen = torch.ones(ROWS, LENGTH, dtype=torch.bool)
    batch = Batch(source, seen, target, target.roll(-1, 1), seen, None)

    def step() -> None:
        with products_in(precision, CPU):
            loss = translation_loss(model, batch, config.train.label_smoothing)
        loss.smoothed.backward()
        scale_and_clip(model.parameters(), loss.num_tokens, config.train.clip_norm)
        optimizer.step()
        optimizer.zero_grad()

    step()  # creates buffers and the optimizer state
    return step


def tokens_per_second(step: Callable[[], None], number: int = 3) -> float:
    began = time.perf_counter()
    for _ in range(number):
        step()
    return number * ROWS * LENGTH / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
