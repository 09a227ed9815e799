"""A small model folder with every kind of file that a reader meets: what the fuzzing changes."""

import json
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from seqloom.config import dump_config, load_config
from seqloom.data.corpus import CorpusSpec
from seqloom.data.prepare import prepare
from seqloom.files.durable import hash_file
from seqloom.runtime.run_facts import RunFacts, write_facts
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.training.checkpoint import save_checkpoint
from seqloom.training.state import RunState

SETTINGS = "model.width=8 model.layers=1 model.heads=2 text.tokenizer=char text.vocab_size=270 data.valid_pairs=5"


@cache
def good_folder() -> Path:
    """A Transformer with random weights, a store and a checkpoint."""
    import torch

    from seqloom.models.build import build_model
    from seqloom.models.weights import save_weights

    folder = Path(mkdtemp(prefix="seqloom-fuzz-"))
    config = load_config(overrides=SETTINGS.split())
    tokenizer = learn_tokenizer("char", ["abc"], 270)
    Tokenizers(tokenizer, tokenizer).save(folder)
    (folder / "config.toml").write_text(dump_config(config), "utf-8")
    torch.manual_seed(1)
    model = build_model(config, len(tokenizer), len(tokenizer), True)
    save_weights(model, folder / "model.safetensors")
    write_facts(folder, RunFacts(finished=True, source_lang="en", target_lang="de", step=3, limits={"steps": 3.0}))
    pairs = folder / "pairs.tsv"
    pairs.write_text("".join(f"a{number}\tb{number}\n" for number in range(60)), "utf-8")
    prepare(folder / "store", [CorpusSpec.parse(str(pairs))], Tokenizers(tokenizer, tokenizer), config.data, 1)
    state = RunState(step=3, valid_losses={3: 1.0}, samples=["x"]).to_json()
    save_checkpoint(folder / "checkpoints", 3, {"model": model.state_dict()}, state)
    (folder / "golden.json").write_text(json.dumps([{"source": "a", "target": "b"}]), "utf-8")
    (folder / "metrics.jsonl").write_text('{"event": "train", "step": 1, "loss": 2.0}\n' * 3, "utf-8")
    return folder


def rehash(folder: Path) -> None:
    """Make every manifest fit its files again, as a stranger would: what is read next is the content."""
    for manifest in folder.rglob("manifest.json"):
        try:
            content = json.loads(manifest.read_text("utf-8"))
            for name in content.get("files", {}):
                file = manifest.parent / name
                content["files"][name] = {"size": file.stat().st_size, "sha256": hash_file(file)}
            for name in content.get("sizes", {}):
                content["sizes"][name] = (manifest.parent / name).stat().st_size
                content["sha256"][name] = hash_file(manifest.parent / name)
        except (ValueError, TypeError, KeyError, AttributeError, OSError, RecursionError):
            continue  # the manifest itself is what was changed
        manifest.write_text(json.dumps(content), "utf-8")
