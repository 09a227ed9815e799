"""The scene of each stage: files, a command line, the moment at which something breaks, and what must come out."""

import json
import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqloom.files.durable import hash_file
from tests.same_run import timeless, timeless_log

SETTINGS = """
[data]
max_tokens = 30
valid_pairs = 20
[text]
tokenizer = "bpe"
vocab_size = 280
[model]
kind = "transformer"
norm = "post"
layers = 1
width = 16
heads = 2
dropout = 0.2
[train]
threads = 1
precision = "float32"
batch_tokens = 128
max_steps = 14
valid_every = 9
save_every = 4
log_every = 1
average = 3
warmup = 5
"""
DRAWN = (".png", ".svg", ".html")  # of a ladder, with losses by minutes
WITH_TIMES = ("state.json", "manifest.json", "card.md", "lock", "scores.json", "report.md", "report.json")
TRAIN = ["train", "pairs.tsv", "--out", "run", "--recipe", "tiny.toml"]
LADDER = ["ladder", "pairs.tsv", "--test", "test.tsv", "--out", "run", "--rungs", "tiny.toml", "--budget", "9h"]
LADDER += ["--set", "train.max_steps=14"]  # a budget takes the place of the recipe's limits


@dataclass(frozen=True)
class Scene:
    """What a stage is tried with; all names are those of files in a folder of its own."""

    words: list[str]
    out: str  # the file or folder that the command writes
    at: str  # the moment: before this function ...
    call: int = 1  # ... is called so many times
    input: str = "pairs.tsv"  # what vanishes and changes
    flips: str = ""  # the file that a bit of flips before the command starts; else see `newest`
    needs: tuple[str, ...] = ()  # what is made first: model, bert


SCENES = {
    "checking": Scene(TRAIN, "run", "seqloom.training.data:Turns.look"),
    "tokenizer": Scene(TRAIN, "run", "seqloom.training.tokenizers:learn_tokenizer"),
    "encoding": Scene(TRAIN, "run", "seqloom.data.store_index:write_held_out"),
    "steps": Scene(TRAIN, "run", "seqloom.training.loop:Loop.next_indices", 11),
    "validation": Scene(TRAIN, "run", "seqloom.training.validation:Validation.loss"),
    "checkpoint": Scene(TRAIN, "run", "seqloom.training.checkpoint:write_new", 10),
    "finish": Scene(TRAIN, "run", "seqloom.training.finish:save_weights"),
    "engine": Scene(TRAIN, "run", "seqloom.training.finish:write_fast_form"),
    "translate": Scene(
        ["translate", "model", "text.txt", "-o", "out.txt", "--beam", "1"], "out.txt",
        "seqloom.scale.chunk_folder:ChunkFolder.write", 2, "text.txt", "model/model.safetensors", ("model",),
    ),
    "evaluate": Scene(
        ["evaluate", "model", "test.tsv", "--outputs", "out.txt", "--beam", "1"], "out.txt",
        "seqloom.evaluation.translations:answer", 1, "test.tsv", "model/model.safetensors", ("model",),
    ),
    "export": Scene(
        ["export", "model", "--format", "hf", "--out", "made"], "made",
        "seqloom.formats.export_hugging_face:write_new", 1, "model/model.safetensors", "model/model.safetensors",
        ("model",),
    ),
    "import": Scene(
        ["import", "bert", "--out", "made"], "made",
        "seqloom.formats.import_hugging_face:read_tensors", 1, "bert/model.safetensors", "bert/model.safetensors",
        ("bert",),
    ),
    "ladder": Scene(LADDER, "run", "seqloom.training.loop:Loop.next_indices", 11),
}  # fmt: skip


def write_files(folder: Path) -> None:
    """Write what the commands read: 300 pairs of words and the same words reversed, a text, settings."""
    draw = random.Random(7)
    words = ["".join(draw.choices("abcdefgh", k=draw.randint(2, 6))) for _ in range(340)]
    lines = [f"{word}\t{word[::-1]}\n" for word in words]
    (folder / "pairs.tsv").write_text("".join(lines[:300]), "utf-8")
    (folder / "test.tsv").write_text("".join(lines[300:]), "utf-8")
    (folder / "text.txt").write_text("".join(f"{draw.choice(words)}\n" for _ in range(1500)), "utf-8")
    (folder / "words.txt").write_text("".join(lines[:300]).replace("\t", " "), "utf-8")
    (folder / "tiny.toml").write_text(f"# A rung of the tests. Result: none\n{SETTINGS}", "utf-8")


# Run by a Python of its own, because transformers takes seconds to import.
WRITE_BERT = """
import sys, tokenizers, torch, transformers
torch.manual_seed(1)
sizes = dict(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
config = transformers.BertConfig(**sizes, max_position_embeddings=20)
transformers.BertForMaskedLM(config).save_pretrained(sys.argv[1])
words = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]", "the", "cat", "sat", "mat"]
model = tokenizers.models.WordPiece({word: number for number, word in enumerate(words)}, unk_token="[UNK]")
engine = tokenizers.Tokenizer(model)
engine.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
engine.decoder = tokenizers.decoders.WordPiece()
engine.save(sys.argv[1] + "/tokenizer.json")
"""


def portrait(out: Path) -> Any:
    """What must be the same in two results: the names of all files, and their contents but for times."""
    if out.is_file():
        return out.read_text("utf-8")
    found: dict[str, Any] = {}
    for file in sorted(out.rglob("*")):
        name = str(file.relative_to(out))
        if "tensorboard" in name or file.suffix in DRAWN or not file.is_file():
            continue
        if file.name == "metrics.jsonl":
            found[name] = timeless_log(file.parent)
        elif file.name == "run.json":
            found[name] = timeless(json.loads(file.read_text("utf-8")))
        else:
            found[name] = "" if file.name in WITH_TIMES else hash_file(file)
    return {name: kept for name, kept in found.items() if ".damaged-" not in name}


def newest(folder: Path) -> Path:
    """The weights of the newest checkpoint under a folder."""
    return max(folder.rglob("step-????????")) / "model.safetensors"


def leftovers(folder: Path) -> list[str]:
    return [str(entry.relative_to(folder)) for entry in folder.rglob(".*")] + [
        entry.name for entry in folder.glob("*.parts")
    ]


def repair(folder: Path, template: Path) -> None:
    """Make every folder writable again and put the inputs back, as a user would."""
    for inner in [folder, *(entry for entry in folder.rglob("*") if entry.is_dir())]:
        inner.chmod(0o755)
    for entry in template.iterdir():
        if entry.is_dir():
            shutil.copytree(entry, folder / entry.name, dirs_exist_ok=True)
        else:
            shutil.copyfile(entry, folder / entry.name)
