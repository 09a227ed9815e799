"""Compare the training speed of a 3+3 x 256 Transformer on Multi30k en-de with other systems, in turn in one run.

    SEQLOOM_DATA=... python benchmarks/train_speed.py [--rounds 3] [--batch-tokens 4096] [--opennmt PYTHON]

Every system trains the same shape (3+3 layers, width 256, 4 heads, FFN 1024, 8k joint tied vocabulary, dropout 0.1,
label smoothing 0.1, Adam, fp32) on two threads. Reports target tokens/s of each round, best and range; and MFU, the
share of this machine's matrix-product speed. The other systems:
  torch      torch.nn.Transformer in a plain loop: the same batches, cross-entropy over all positions, AdamW
  opennmt    OpenNMT-py's `onmt_train` from another environment; --opennmt names its Python
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from seqloom.config import Config, DataConfig, ModelConfig, TrainConfig
from seqloom.data.batch import Batch, StoreBatches
from seqloom.data.corpus import CorpusSpec, usable_pairs
from seqloom.data.prepare import prepare
from seqloom.models.build import build_model
from seqloom.nn.positions import sinusoids
from seqloom.tasks.translate import translation_loss
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.training.gradient_clipping import scale_and_clip
from seqloom.training.optimizers import make_optimizer
from seqloom.training.speed import count_flops, keep_freed_memory, matmul_speed

VOCAB = 8000
Step = Callable[[Batch], int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", type=int, default=8, help="batches per round")
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--opennmt", help="the Python of an environment with OpenNMT-py")
    options = parser.parse_args()
    data = Path(os.environ["SEQLOOM_DATA"]) / "multi30k"
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        tokenizers, batches = load_data(data, Path(folder), options.batch_tokens)
        plan = batches.epoch(0)
        chosen = [batches.load(plan[number]) for number in range(min(len(plan), options.batches))]
        # The other system first: keep_freed_memory belongs to Seqloom and changes the whole process.
        results = {"torch": measure(make_torch_step(), chosen, options.rounds)}
        keep_freed_memory()
        model = build_model(Config(model=ModelConfig(layers=3, width=256, heads=4, ffn_size=1024)), VOCAB, VOCAB, True)
        results["seqloom"] = measure(make_seqloom_step(model), chosen, options.rounds)
        tokens = int(chosen[0].tgt_mask.sum())
        flops = count_flops(model, lambda: translation_loss(model, chosen[0], 0.1)) / tokens
        peak = matmul_speed(torch.device("cpu"), seconds=1.0)
        if options.opennmt:
            results["opennmt"] = measure_opennmt(options, data, tokenizers, Path(folder))
            results["seqloom (again)"] = measure(make_seqloom_step(model), chosen, options.rounds)
    for name, speeds in results.items():
        mfu = max(speeds) * flops / peak
        print(
            f"{name:16s} {max(speeds):6.0f} target tokens/s  (range {min(speeds):.0f}-{max(speeds):.0f})  MFU {mfu:.0%}"
        )
    print(json.dumps({"speeds": results, "matmul_gflops": peak / 1e9, "mflop_a_token": flops / 1e6}))


def load_data(data: Path, folder: Path, batch_tokens: int) -> tuple[Tokenizers, StoreBatches]:
    spec = CorpusSpec.parse(f"{data}/train.en.gz,{data}/train.de.gz")
    valid = CorpusSpec.parse(f"{data}/val.en.gz,{data}/val.de.gz")
    pairs = list(usable_pairs(spec, DataConfig()))
    joint = learn_tokenizer("bpe", (text for pair in pairs for text in (pair.source, pair.targets[0])), VOCAB)
    tokenizers = Tokenizers(joint, joint)
    store, _ = prepare(folder / "store", [spec], tokenizers, DataConfig(), 1, [valid])
    return tokenizers, StoreBatches(store, batch_tokens, seed=1)


def measure(step: Step, batches: list[Batch], rounds: int) -> list[float]:
    """Measure target tokens/s of each round; the first batches are a warm-up."""
    for batch in batches[:2]:
        step(batch)
    speeds = []
    for _ in range(rounds):
        began = time.perf_counter()
        tokens = sum(step(batch) for batch in batches)
        speeds.append(tokens / (time.perf_counter() - began))
        print(f"  {speeds[-1]:.0f} tokens/s", file=sys.stderr, flush=True)
    return speeds


def make_seqloom_step(model: nn.Module) -> Step:
    config = TrainConfig()
    optimizer = make_optimizer(model, config)

    def step(batch: Batch) -> int:
        loss = translation_loss(model, batch, 0.1)  # type: ignore[arg-type]
        loss.smoothed.backward()
        scale_and_clip(model.parameters(), loss.num_tokens, config.clip_norm)
        optimizer.step()
        optimizer.zero_grad()
        return loss.num_tokens

    return step


class PlainTransformer(nn.Module):
    """The model of a tutorial: torch.nn.Transformer with one embedding table for source, target and output."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(VOCAB, 256)
        self.positions = sinusoids(512, 256)
        self.network = nn.Transformer(256, 4, 3, 3, 1024, 0.1, batch_first=True, norm_first=True)

    def forward(self, batch: Batch) -> Tensor:
        def embed(tokens: Tensor) -> Tensor:
            return self.table(tokens) * 16 + self.positions[: tokens.shape[1]]

        causal = torch.ones(2 * (batch.tgt_in.shape[1],), dtype=torch.bool).triu(1)
        hidden = self.network(
            embed(batch.src), embed(batch.tgt_in), tgt_mask=causal, src_key_padding_mask=~batch.src_mask,
            tgt_key_padding_mask=~batch.tgt_mask, memory_key_padding_mask=~batch.src_mask,
        )  # fmt: skip
        return hidden @ self.table.weight.T


def make_torch_step() -> Step:
    model = PlainTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    criterion = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=0.1)

    def step(batch: Batch) -> int:
        optimizer.zero_grad()
        criterion(model(batch).flatten(0, 1), batch.tgt_out.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return int(batch.tgt_mask.sum())

    return step


def measure_opennmt(options: argparse.Namespace, data: Path, tokenizers: Tokenizers, folder: Path) -> list[float]:
    """Return the target tokens/s that `onmt_train` reports, without its first report."""
    spec = CorpusSpec.parse(f"{data}/train.en.gz,{data}/train.de.gz")
    with (folder / "src").open("w") as source, (folder / "tgt").open("w") as target:
        for pair in usable_pairs(spec, DataConfig()):
            for text, file in ((pair.source, source), (pair.targets[0], target)):
                print(*(f"t{number}" for number in tokenizers.source.encode(text)), file=file)
    (folder / "vocab").write_text("".join(f"t{number}\t1\n" for number in range(4, VOCAB)))
    settings = {
        "data": {"corpus_1": {"path_src": str(folder / "src"), "path_tgt": str(folder / "tgt")}},
        "src_vocab": str(folder / "vocab"), "tgt_vocab": str(folder / "vocab"), "share_vocab": True,
        "save_model": str(folder / "model"), "encoder_type": "transformer", "decoder_type": "transformer",
        "layers": 3, "hidden_size": 256, "word_vec_size": 256, "heads": 4, "transformer_ff": 1024, "dropout": [0.1],
        "attention_dropout": [0.1], "position_encoding": True, "share_embeddings": True,
        "share_decoder_embeddings": True, "label_smoothing": 0.1, "batch_type": "tokens", "normalization": "tokens",
        "batch_size": options.batch_tokens, "bucket_size": 29000, "num_workers": 0, "optim": "adam",
        "learning_rate": 1e-3, "max_grad_norm": 1.0, "train_steps": 10 * (options.rounds + 1), "report_every": 10,
        "save_checkpoint_steps": 100000, "seed": 1,
    }  # fmt: skip
    (folder / "opennmt.yaml").write_text(json.dumps(settings))  # JSON is YAML
    command = [options.opennmt, "-m", "onmt.bin.train", "-config", str(folder / "opennmt.yaml")]
    environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    speeds = [
        float(found) for found in re.findall(r"(\d+)/\s*(\d+) tok/s", done.stderr + done.stdout) for found in found[1:]
    ]
    if not speeds:
        sys.exit(f"OpenNMT-py gave no speeds:\n{done.stderr[-3000:]}")
    return speeds[1:]


if __name__ == "__main__":
    main()
