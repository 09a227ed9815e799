"""Export to a compact model folder: matrices in 8 bits, a quarter of the size; every command reads it.

    W ~ q s,   q in 8 bits, one s per row      (models/compact_weights.py)

The weights are rounded, so its golden sentences are its own outputs. Checkpoints, token store and engine/ stay behind.
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path

from safetensors.numpy import save

from seqloom.errors import UsageError
from seqloom.files.durable import write_new
from seqloom.models.compact_weights import compacted, is_compact, read_arrays
from seqloom.runtime.answering import load_answering
from seqloom.runtime.folder import GOLDEN, WEIGHTS, RunFolder, read_golden
from seqloom.runtime.run_facts import write_facts

KEPT = ("config.toml", "card.md", "started_from.json")


def check_compact(run: RunFolder) -> None:
    """Refuse a model whose weights are in 8 bits already: rounding them twice gains nothing."""
    if is_compact(run.weights):
        raise UsageError(f"{run.path}: the weights are compact already; copy the folder")


def export_compact(run: RunFolder, out: Path) -> None:
    """Write settings, tokenizers, rounded weights and the card; golden.json with what the rounded weights write."""
    for name in KEPT:
        if (run.path / name).is_file():
            shutil.copyfile(run.path / name, out / name)
    run.tokenizers.save(out)
    digest = write_new(out / WEIGHTS, save(compacted(read_arrays(run.weights)), metadata={"format": "pt"}))
    write_facts(out, replace(run.facts, weights_sha256=digest))
    if (run.path / GOLDEN).is_file():
        sources = [pair["source"] for pair in read_golden(run.path / GOLDEN)]
        outputs = load_answering([out], engine="torch").translate(sources)
        pairs = [{"source": source, "target": target} for source, target in zip(sources, outputs, strict=True)]
        write_new(out / GOLDEN, json.dumps(pairs, ensure_ascii=False, indent=1) + "\n")
