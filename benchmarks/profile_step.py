"""Where does the time of a training step go? A table per recipe: the share of each group of operators.

    python benchmarks/profile_step.py [--threads 1] [--steps 12] [--precision auto] [RECIPE ...]

Trains each recipe at its full size on batches of 32 generated sentences of 32 tokens (4,000 pieces) under torch's
profiler. A group has the operators' own time, without those they call; "bookkeeping" is what is left, mostly autograd.
"""

import argparse
import time
from collections import defaultdict

import torch
from torch.profiler import ProfilerActivity, profile

from seqloom.config import load_config
from seqloom.config.recipes import find_recipe
from seqloom.data.batch import Batch
from seqloom.models.build import build_model
from seqloom.tasks.translate import translation_loss
from seqloom.training.gradient_clipping import scale_and_clip
from seqloom.training.optimizers import make_optimizer
from seqloom.training.precision import choose_precision, products_in
from seqloom.training.speed import keep_freed_memory

RECIPES = ("ladder/transformer", "ladder/rnnsearch-additive", "ladder/luong", "ladder/lstm")
VOCAB, ROWS, LENGTH = 4000, 32, 32
CPU = torch.device("cpu")
# group: words in the names of its operators; the first group that fits counts
GROUPS = {
    "matrix products": ("mm", "linear", "matmul", "einsum"),
    "attention kernel": ("attention",),
    "recurrent kernel": ("lstm", "gru", "mkldnn_rnn"),
    "rounding to and from bfloat16, copies": ("copy_", "clone", "contiguous", "cat"),
    "random numbers": ("random", "bernoulli"),
    "softmax": ("softmax",),
    "layer norm": ("layer_norm",),
    "optimizer and clipping": ("fused_adam", "foreach", "norm", "clip"),
    "embedding": ("embedding", "index", "gather", "scatter"),
    "allocation": ("empty", "zeros", "new_", "resize", "fill_", "zero_"),
    "elementwise": (
        *("mul", "add", "sub", "div", "relu", "gelu", "tanh", "sigmoid", "threshold", "clamp", "where", "exp", "sum"),
        *("neg", "rsub", "pow", "sqrt", "max", "complex"),
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="*", default=RECIPES)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--operators", type=int, default=0, help="also list so many operators by their own time")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    for recipe in options.recipes:
        show(recipe, options)


def show(recipe: str, options: argparse.Namespace) -> None:
    config = load_config(find_recipe(recipe))
    precision = choose_precision(options.precision, CPU, config.model.width)
    torch.manual_seed(1)
    model = build_model(config, VOCAB, VOCAB, config.text.joint).train()
    optimizer = make_optimizer(model, config.train)
    draws = torch.randint(4, VOCAB, (ROWS, LENGTH + 1))
    everywhere = torch.ones(ROWS, LENGTH, dtype=torch.bool)
    batch = Batch(draws[:, 1:], everywhere, draws[:, :-1].contiguous(), draws[:, 1:].contiguous(), everywhere, None)

    def step() -> None:
        with products_in(precision, CPU):
            loss = translation_loss(model, batch, config.train.label_smoothing)  # type: ignore[arg-type]
        loss.smoothed.backward()
        scale_and_clip(model.parameters(), loss.num_tokens, config.train.clip_norm)
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(3):
        step()
    began = time.process_time()
    for _ in range(options.steps):
        step()
    bare = (time.process_time() - began) / options.steps
    began = time.process_time()
    with profile(activities=[ProfilerActivity.CPU]) as found:
        for _ in range(options.steps):
            step()
    profiled = (time.process_time() - began) / options.steps
    times: defaultdict[str, float] = defaultdict(float)
    counts: defaultdict[str, int] = defaultdict(int)
    rows = found.key_averages()
    for row in rows:
        group = group_of(row.key)
        times[group] += row.self_cpu_time_total / 1e6 / options.steps
        counts[group] += row.count // options.steps
    print(
        f"\n{recipe}, {precision}: {bare * 1e3:.0f} ms of processor time per step, {ROWS * LENGTH / bare:,.0f} tokens/s"
    )
    print(f"({profiled * 1e3:.0f} ms under the profiler)\n")
    print("| group | ms per step | share | calls per step |\n|---|--:|--:|--:|")
    whole = sum(times.values())
    for group in sorted(times, key=lambda name: -times[name]):
        print(f"| {group} | {times[group] * 1e3:.1f} | {times[group] / whole:.0%} | {counts[group]:,} |")
    for row in sorted(rows, key=lambda row: -row.self_cpu_time_total)[: options.operators]:
        print(f"  {row.self_cpu_time_total / 1e3 / options.steps:7.2f} ms  {row.count // options.steps:5d}  {row.key}")


def group_of(operator: str) -> str:
    name = operator.removeprefix("aten::").lower()
    return next((group for group, words in GROUPS.items() if any(word in name for word in words)), "bookkeeping")


if __name__ == "__main__":
    main()
