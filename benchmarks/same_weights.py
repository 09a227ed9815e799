"""Check that a change of the code changes no number: hashes of short fixed runs of every family and task.

    python benchmarks/same_weights.py before/     # in the old tree: trains the runs, writes before/hashes.json
    python benchmarks/same_weights.py after/ --against before/      # in the new tree, on the same machine

Each run is trained by the command line with one thread. Its weights and the answers of the trained model are hashed.
With --against, every hash is compared with the earlier one, and the folders that the old tree saved are loaded and
asked again. The exit code is 1 if anything differs.
"""

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHORT = (
    *("train.max_steps=12", "train.valid_every=6", "train.save_every=6", "train.warmup=3", "train.average=2"),
    *("train.batch_tokens=512", "train.threads=1", "train.precision=float32", "data.valid_pairs=20"),
    *("data.max_tokens=60", "text.vocab_size=300", "model.layers=2", "model.width=16"),
)
RNN, TRANSFORMER, GPT = (
    "model.kind=rnn",
    "model.kind=transformer model.heads=2 model.embed_size=0 model.positions=sinusoidal",
    "model.kind=gpt model.heads=2 model.positions=sinusoidal",
)
# run: (task, corpus, settings)
RUNS: dict[str, tuple[str, str, str]] = {
    "rnn-fixed-vector": ("translate", "pairs", f"{RNN} model.cell=lstm model.attention=none"),
    "rnn-reversed": (
        "translate",
        "pairs",
        f"{RNN} model.cell=lstm model.attention=none model.bidirectional=false data.reverse_source=true",
    ),
    "rnn-feed-context": ("translate", "pairs", f"{RNN} model.cell=gru model.attention=none model.feed_context=true"),
    "rnn-plain": ("translate", "pairs", f"{RNN} model.cell=rnn model.attention=none model.init_range=0.08"),
    "rnn-relu": ("translate", "pairs", f"{RNN} model.cell=rnn_relu model.attention=none"),
    "rnn-bahdanau-additive": ("translate", "pairs", f"{RNN} model.cell=gru model.maxout=16"),
    "rnn-bahdanau-dot": ("translate", "pairs", f"{RNN} model.cell=gru model.attention=dot"),
    "rnn-bahdanau-scaled": ("translate", "pairs", f"{RNN} model.cell=gru_fused model.attention=scaled_dot"),
    "rnn-bahdanau-gaussian": ("translate", "pairs", f"{RNN} model.cell=gru model.attention=gaussian"),
    "rnn-luong-bilinear": ("translate", "pairs", f"{RNN} model.cell=lstm model.attention=bilinear model.decoder=luong"),
    "rnn-scheduled": ("translate", "pairs", f"{RNN} model.cell=gru train.scheduled_sampling=0.5"),
    "rnn-bfloat16": ("translate", "pairs", f"{RNN} model.cell=gru train.precision=bfloat16"),
    "transformer-pre": ("translate", "pairs", TRANSFORMER),
    "transformer-post-rotary": (
        "translate",
        "pairs",
        f"{TRANSFORMER} model.norm=post model.positions=rotary model.activation=gelu",
    ),
    "transformer-learned": ("translate", "pairs", f"{TRANSFORMER} model.positions=learned model.embed_norm=true"),
    "transformer-bfloat16": ("translate", "pairs", f"{TRANSFORMER} train.precision=bfloat16 train.accumulate=2"),
    "transformer-own-target": ("translate", "pairs", f"{TRANSFORMER} text.joint=false text.target_tokenizer=word"),
    "gpt-pairs": ("translate", "pairs", GPT),
    "summarise": ("summarise", "pairs", TRANSFORMER),
    "dialogue": ("dialogue", "pairs", f"{TRANSFORMER} task.turns=1"),
    "pronounce": ("pronounce", "pairs", f"{RNN} model.cell=lstm"),
    "language-rnn": ("language", "text", f"{RNN} model.cell=lstm task.window=16"),
    "language-gpt": ("language", "text", f"{GPT} task.window=16"),
    "classify-rnn": ("classify", "labelled", f"{RNN} model.cell=lstm"),
    "classify-transformer": ("classify", "labelled", TRANSFORMER),
    "classify-bag": ("classify", "labelled", "model.kind=bag"),
    "tag-rnn": ("tag", "tagged", f"{RNN} model.cell=lstm"),
    "tag-transformer": ("tag", "tagged", TRANSFORMER),
    "masked-rnn": ("masked", "text", f"{RNN} model.cell=gru"),
    "masked-transformer": ("masked", "text", TRANSFORMER),
    "denoise-rnn": ("denoise", "text", f"{RNN} model.cell=gru task.hide=0.3"),
    "denoise-transformer": ("denoise", "text", f"{TRANSFORMER} task.hide=0.3 task.permute=true"),
}


def write_corpora(folder: Path) -> None:
    """Write small files that are the same everywhere: sentences of twelve made-up words."""
    draw = random.Random(11)
    words = ["".join(draw.choices("abcdefghij", k=draw.randint(2, 6))) for _ in range(12)]
    sentences = [" ".join(draw.choices(words, k=draw.randint(2, 8))) for _ in range(400)]
    lines = {
        "pairs.tsv": [f"{s}\t{' '.join(word[::-1] for word in s.split())}" for s in sentences],
        "text.txt": [f"{s}. {s[::-1]}." for s in sentences],
        "labelled.tsv": [f"{'long' if len(s.split()) > 5 else 'short'}\t{s}" for s in sentences],
        "tagged.tsv": [f"{s}\t{' '.join('N' if len(w) > 3 else 'V' for w in s.split())}" for s in sentences],
        "questions.txt": sentences[:20],
        "gaps.txt": [s.replace(words[0], "<mask>", 1) for s in sentences[:20]],
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, texts in lines.items():
        (folder / name).write_text("".join(f"{text}\n" for text in texts), "utf-8")


def seqloom(*words: object) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "seqloom", *map(str, words)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def train(folder: Path, name: str) -> str:
    """Train a short run and return the SHA-256 of its weights."""
    task, corpus, settings = RUNS[name]
    file = next((folder / "corpora").glob(f"{corpus}.*"))
    words = [word for setting in (*SHORT, *settings.split()) for word in ("--set", setting)]
    if not (folder / name / "model.safetensors").exists():
        seqloom("train", file, "--out", folder / name, "--task", task, *words)
    return hash_of((folder / name / "model.safetensors").read_bytes())


def ask(folder: Path, corpora: Path, name: str) -> str:
    """Return the SHA-256 of the answers of a trained model."""
    task = RUNS[name][0]
    if task == "language":
        said = seqloom("generate", folder / name, "--prompt", "ab", "--tokens", 20, "--seed", 3)
    else:
        said = seqloom("translate", folder / name, corpora / ("gaps.txt" if task == "masked" else "questions.txt"))
    return hash_of(said.encode())


def hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--only", default="", help="runs whose name contains this")
    options = parser.parse_args()
    write_corpora(options.folder / "corpora")
    before = json.loads((options.against / "hashes.json").read_text()) if options.against else {}
    hashes, different = {}, 0
    for name in (name for name in RUNS if options.only in name):
        hashes[name] = {"weights": train(options.folder, name)}
        hashes[name]["answers"] = ask(options.folder, options.folder / "corpora", name)
        verdict = ""
        if options.against:
            old = ask(options.against, options.folder / "corpora", name)
            same = [hashes[name] == before[name], old == before[name]["answers"]]
            verdict = "same; the old folder answers the same" if all(same) else f"DIFFERENT {same}"
            different += not all(same)
        shown = " ".join(value[:16] for value in hashes[name].values())
        print(f"{name:24} {shown} {verdict}", flush=True)
    (options.folder / "hashes.json").write_text(json.dumps(hashes, indent=1))
    if options.against:
        print(f"{len(hashes) - different} of {len(hashes)} runs are the same")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
