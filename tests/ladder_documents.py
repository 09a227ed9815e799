"""Rows and documents of ladders that nobody trained, for the tests of its report."""

import msgspec

from seqloom.config import dump_config, load_config
from seqloom.ladder.document import Document, Done, Machine
from seqloom.ladder.papers import PUBLISHED

BPE = {"tokenizer": "bpe", "vocab_size": 6000, "joint": True, "target_tokenizer": "same", "target_vocab_size": 0}


def found(score):
    return {"score": score, "low": score - 1, "high": score + 1, "signature": "sig"}


def row(name, family="attention", bleu=20.0, unit="words", loss=2.0, penalty=1.2, **more):
    buckets = [
        {"unit": unit, "least": 1, "most": 5, "sentences": 30, "bleu": bleu + 1, "chrf": 40.0, "exact_match": 70.0},
        {"unit": unit, "least": 6, "most": None, "sentences": 4, "bleu": bleu - 1, "chrf": 40.0, "exact_match": 50.0},
    ]
    report = {name: found(bleu) for name in ("bleu", "chrf", "exact_match", "token_error_rate")}
    report |= {"by_length": buckets, "sentences_per_second": 30.0, "search": {"beam": 5, "length_penalty": penalty}}
    plain = {
        "name": name, "family": family, "recipe": f"ladder/{name}", "summary": "what it is", "status": "done",
        "params": 1_250_000, "minutes": 20.1, "step": 900, "epoch": 3, "tokens_per_second": 1500.0, "valid_loss": loss,
        "weights": "average", "threads": 2, "precision": "float32", "tokenizer": BPE, "against": None, "mfu": 0.25,
        "languages": ["en", "de"], "curve": [[1.0, 4.0], [2.0, loss]], "beam": report, "greedy": report, **more,
    }  # fmt: skip
    return msgspec.convert(plain, Done)


MACHINE = Machine(cpu="Processor 9", cores=2, torch="2.13.0", python="3.12.1")


def document(*rows, warnings=None, metric="bleu", samples=()):
    return Document(
        version="1", pairs="train.tsv", valid=None, test="test.tsv", test_hash="h", sentences=34,
        budget_seconds=1200.0, seed=1, rungs=list(rows), warnings=warnings or {}, machine=MACHINE,
        published=list(PUBLISHED), main_metric=metric, samples=list(samples),
    )  # fmt: skip


def step(name, difference, p_value):
    changed = {"model.cell": ["lstm", "gru"], "model.layers": [1, 2]} if difference > 1 else {}
    found = {"difference": difference, "low": difference - 1, "high": difference + 1, "p_value": p_value}
    return {"rung": name, "differences": {"bleu": found}, "changed": changed}


def settle(folder, *settings):
    (folder / "config.toml").write_text(dump_config(load_config(None, ["data.target_lang=de", *settings])), "utf-8")
