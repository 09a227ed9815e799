"""seqloom import: what it says, and that the folder it writes is used like any other."""

import json
import shutil
from pathlib import Path

import pytest

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

IDS = {"[PAD]": 0, "the": 3, "cat": 4, "[CLS]": 5, "[SEP]": 7, "[MASK]": 8, "sat": 12, "[UNK]": 13}  # with gaps


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT with a classifier on top."""
    import tokenizers

    made = tmp_path_factory.mktemp("public") / "bert"
    config = transformers.BertConfig(
        vocab_size=14, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8,
        max_position_embeddings=20,
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(made)
    engine = tokenizers.Tokenizer(tokenizers.models.WordPiece(IDS, unk_token="[UNK]"))
    engine.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    engine.decoder = tokenizers.decoders.WordPiece()
    engine.save(str(made / "tokenizer.json"))
    return made


@pytest.mark.slow
def test_what_is_left_out_is_said_and_ids_with_gaps_are_read(folder, seqloom, tmp_path):
    done = seqloom("import", folder, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("left out") and last.endswith(": classifier (2 tensors), pooler.dense (2 tensors)")
    done = seqloom("translate", tmp_path / "out", stdin="the ___ sat\nthe cat\n")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith("the ")
    assert second == "the cat"


@pytest.mark.parametrize("name", ["roberta", "albert", "gpt", None])
def test_a_type_that_is_unknown_is_answered_with_all_that_are_known(folder, seqloom, tmp_path, name):
    shutil.copytree(folder, tmp_path / "other")
    about = json.loads((folder / "config.json").read_text("utf-8"))
    (tmp_path / "other" / "config.json").write_text(json.dumps(about | {"model_type": name}), "utf-8")
    done = seqloom("import", tmp_path / "other", "--out", tmp_path / "out")
    assert done.returncode == 4
    assert f"model_type {name!r} cannot be imported; the types that can: bert, gpt2, marian" in done.stderr
    assert "Did you mean" not in done.stderr
