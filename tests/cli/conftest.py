"""Command lines in this process, and model folders with random weights: what is printed of them is tested."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

TEXTS = ["the cat sat on the mat", "a small dog ran", "le chat dort là", "un petit chien . ! ?"]
SMALL = "model.width=8 model.layers=1 model.heads=2 text.tokenizer=char text.vocab_size=300 data.max_tokens=30"


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command line in this process: (exit code, standard output, standard error)."""
    from seqloom.cli.app import main

    def run(*words: object) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return run


@pytest.fixture(scope="session")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """random_model("model.kind=rnn", seed=3): a folder as `train` leaves it. The same words give the same folder.

    With `brief`, its outputs end after a few tokens; others may be as long as they can be.
    """
    import torch

    from seqloom.config import dump_config, load_config
    from seqloom.models.build import build_model
    from seqloom.models.weights import save_weights
    from seqloom.text.learn import learn_tokenizer
    from seqloom.text.sides import Tokenizers
    from seqloom.text.vocabulary import EOS

    made: dict[tuple[object, ...], Path] = {}

    def make(*settings: str, seed: int = 3, brief: bool = False) -> Path:
        if (key := (*settings, seed, brief)) not in made:
            folder = made[key] = tmp_path_factory.mktemp("random") / "model"
            folder.mkdir()
            config = load_config(overrides=[*SMALL.split(), *settings])
            tokenizer = learn_tokenizer(config.text.tokenizer, TEXTS, config.text.vocab_size)
            torch.manual_seed(seed)
            model = build_model(config, len(tokenizer), len(tokenizer), True)
            if brief:
                with torch.no_grad():
                    model.output.bias[EOS] = 4.0
            (folder / "config.toml").write_text(dump_config(config), "utf-8")
            facts = {"format": 1, "params": 9, "step": 4, "data_hash": "d", "finished": True}
            (folder / "run.json").write_text(json.dumps(facts), "utf-8")
            Tokenizers(tokenizer, tokenizer).save(folder)
            save_weights(model, folder / "model.safetensors")
        return made[key]

    return make
