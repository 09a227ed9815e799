"""Compare the training speed of a recurrent model with a plain loop of torch.nn modules, in turn in one run.

    python benchmarks/recurrent_speed.py [--rounds 3] [--batch-tokens 4096] [--cell lstm] [--decoder luong]

Shape: bidirectional encoder of 2 x 256, decoder of 512 with attention, one layer each, word vectors of 512, 8,000
tokens in one tied vocabulary, dropout 0.1, label smoothing 0.1, AdamW, fp32; generated ids, sentences of 10 to 20
tokens. `--cell lstm --decoder luong` (input feeding) is the shape that was measured with OpenNMT-py. Reports target
tokens/s of each round, best and range; the ratio of the best rounds; and MFU, the share of this machine's
matrix-product speed. The plain loop is what a tutorial would build: nn.LSTM (or GRU) over the source, nn.LSTMCell in a
loop over the target, additive attention, cross-entropy over all positions.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from seqloom.config import TrainConfig, load_config
from seqloom.data.batch import Batch, pad_sources, pad_targets
from seqloom.models.build import build_model
from seqloom.tasks.translate import translation_loss
from seqloom.training.gradient_clipping import scale_and_clip
from seqloom.training.optimizers import make_optimizer
from seqloom.training.speed import count_flops, keep_freed_memory, matmul_speed

VOCAB, WIDTH = 8000, 512
Step = Callable[[Batch], int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", type=int, default=4, help="batches per round")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cell", default="lstm", choices=("lstm", "gru", "gru_fused", "rnn", "rnn_relu"))
    parser.add_argument("--decoder", default="luong", choices=("luong", "bahdanau"))
    parser.add_argument("--attention", default="bilinear")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()  # applies to both systems, because it works on the whole process
    batches = [make_batch(options.batch_tokens, seed) for seed in range(options.batches)]
    model = make_model(options)
    speeds = measure(
        {"torch": make_torch_step(options.cell), "seqloom": make_seqloom_step(model)}, batches, options.rounds
    )
    flops = count_flops(model, lambda: translation_loss(model, batches[0], 0.1)) / int(batches[0].tgt_mask.sum())
    peak = matmul_speed(torch.device("cpu"), seconds=1.0)
    for name, found in speeds.items():
        print(f"{name:8s} {max(found):6.0f} target tokens/s  (range {min(found):.0f}-{max(found):.0f})")
    ratio, mfu = max(speeds["seqloom"]) / max(speeds["torch"]), max(speeds["seqloom"]) * flops / peak
    print(f"seqloom / torch: {ratio:.2f}; MFU of seqloom {mfu:.0%}")
    parameters = sum(p.numel() for p in model.parameters())
    print(json.dumps({"speeds": speeds, "parameters": parameters, "mflop_a_token": flops / 1e6, **vars(options)}))


def make_batch(tokens: int, seed: int) -> Batch:
    """Make pairs of about equal length, as a sampler would."""
    random = torch.Generator().manual_seed(seed)
    longest = 20 - 2 * (seed % 6)
    rows = tokens // longest

    def texts() -> list[list[int]]:
        lengths = torch.randint(longest - 2, longest, (rows,), generator=random).tolist()
        return [torch.randint(4, VOCAB, (length,), generator=random).tolist() for length in lengths]

    return Batch(*pad_sources(texts()), *pad_targets(texts()), torch.arange(rows))


def measure(steps: dict[str, Step], batches: list[Batch], rounds: int) -> dict[str, list[float]]:
    """Measure target tokens/s of each round, the systems in turn, after one warm-up batch each."""
    for step in steps.values():
        step(batches[0])
    speeds: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            began = time.perf_counter()
            tokens = sum(step(batch) for batch in batches)
            speeds[name].append(tokens / (time.perf_counter() - began))
            print(f"  {name} {speeds[name][-1]:.0f} tokens/s", file=sys.stderr, flush=True)
    return speeds


def make_model(options: argparse.Namespace) -> nn.Module:
    torch.manual_seed(1)
    settings = [
        f"model.cell={options.cell}",
        f"model.decoder={options.decoder}",
        f"model.attention={options.attention}",
    ]
    settings += ["model.kind=rnn", "model.layers=1", f"model.width={WIDTH}"]
    return build_model(load_config(None, settings), VOCAB, VOCAB, joint=True).train()


def make_seqloom_step(model: nn.Module) -> Step:
    config = TrainConfig()
    optimizer = make_optimizer(model, config)

    def step(batch: Batch) -> int:
        loss = translation_loss(model, batch, 0.1)  # type: ignore[arg-type]
        loss.smoothed.backward()
        scale_and_clip(model.parameters(), loss.num_tokens, config.clip_norm)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        return loss.num_tokens

    return step


class PlainRecurrent(nn.Module):
    """The model of a tutorial: the state is the query, the cell reads word and context, both predict the output."""

    def __init__(self, cell: str) -> None:
        super().__init__()
        networks = {"lstm": (nn.LSTM, nn.LSTMCell), "rnn": (nn.RNN, nn.RNNCell)}
        network, step = networks.get(cell, (nn.GRU, nn.GRUCell))
        self.table = nn.Embedding(VOCAB, WIDTH)
        self.encoder = network(WIDTH, WIDTH // 2, bidirectional=True, batch_first=True)
        self.cell = step(2 * WIDTH, WIDTH)
        self.W_q, self.W_k, self.w = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1)
        self.readout = nn.Linear(2 * WIDTH, WIDTH)
        self.dropout = nn.Dropout(0.1)

    def forward(self, batch: Batch) -> Tensor:
        annotations, _ = self.encoder(self.dropout(self.table(batch.src)))
        keys, words = self.W_k(annotations), self.dropout(self.table(batch.tgt_in))
        h = annotations.new_zeros(len(batch), WIDTH)
        state = (h, h) if isinstance(self.cell, nn.LSTMCell) else h
        outputs = []
        for t in range(words.shape[1]):
            s = state[0] if isinstance(state, tuple) else state
            scores = self.w(torch.tanh(self.W_q(s)[:, None] + keys)).squeeze(-1)
            alpha = scores.masked_fill(~batch.src_mask, float("-inf")).softmax(-1)
            context = (alpha[:, None] @ annotations).squeeze(1)
            state = self.cell(torch.cat([words[:, t], context], -1), state)
            outputs.append(torch.cat([state[0] if isinstance(state, tuple) else state, context], -1))
        return self.dropout(torch.tanh(self.readout(torch.stack(outputs, 1)))) @ self.table.weight.T


def make_torch_step(cell: str) -> Step:
    model = PlainRecurrent(cell).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    criterion = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=0.1)

    def step(batch: Batch) -> int:
        optimizer.zero_grad()
        loss = criterion(model(batch).flatten(0, 1), batch.tgt_out.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return int(batch.tgt_mask.sum())

    return step


if __name__ == "__main__":
    main()
