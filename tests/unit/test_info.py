"""What `seqloom info` shows of a folder without loading the model: facts, settings and the header of the weights."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from seqloom.config import dump_config, load_config
from seqloom.errors import ModelError
from seqloom.text.learn import learn_tokenizer
from seqloom.workflows.check_folder import check_golden
from seqloom.workflows.info import describe, render

FACTS = {
    "format": 1,
    "version": "0.1.0",
    "params": 17,
    "step": 40,
    "data_hash": "abcdef0123456789",
    "kept": 9,
    "total": 10,
}


@pytest.fixture
def folder(tmp_path):
    config = load_config(overrides=["model.kind=rnn", "model.cell=lstm", "model.layers=1", "data.source_lang=en"])
    (tmp_path / "config.toml").write_text(dump_config(config), "utf-8")
    write_facts(tmp_path, finished=False)
    learn_tokenizer("char", ["ab"], 300).save(tmp_path / "tokenizer" / "tokenizer.json")
    return tmp_path


def write_facts(folder, **more) -> None:
    (folder / "run.json").write_text(json.dumps({**FACTS, **more}), "utf-8")


def test_an_unfinished_run_says_how_to_go_on(folder):
    about = describe(folder)
    assert (about.facts.step, about.facts.finished) == (40, False)
    assert "weight_file" not in about.to_json()
    text = render(folder, about)
    assert "40 updates, not finished: the same `seqloom train` continues it" in text
    assert "none yet" in text


def test_a_finished_one_tells_all(folder):
    write_facts(folder, finished=True, weights="average", source_lang="en", target_lang="fr")
    save_file({"a": np.zeros((3, 4), np.float32), "b": np.zeros(5, np.float32)}, folder / "model.safetensors")
    about = describe(folder)
    document = about.to_json()
    assert document["weight_file"]["tensors"] == {"a": [3, 4], "b": [5]}
    assert document["weight_file"]["bytes"] == (folder / "model.safetensors").stat().st_size
    assert document["config"]["model"]["cell"] == "lstm"
    text = render(folder, about)
    for said in ("rnn, cell lstm, attention additive, 1 layer, width 256", "en -> fr", "17", "40 updates\n"):
        assert said in text
    assert "9 of 10 pairs, hash abcdef012345\n" in text
    assert "average, 0.0 MB" in text


def test_one_object_that_json_can_hold(folder):
    assert json.loads(json.dumps(describe(folder).to_json()))["data_hash"] == FACTS["data_hash"]


def test_what_a_newer_version_added_is_shown_as_it_is(folder):
    write_facts(folder, finished=False, mood={"good": [1, 2]})
    document = describe(folder).to_json()
    assert list(document) == [*FACTS, "finished", "mood", "bytes", "config"]
    assert document["mood"] == {"good": [1, 2]}


def test_finished_without_weights_is_no_model(folder):
    write_facts(folder, finished=True)
    with pytest.raises(ModelError, match=r"model\.safetensors: missing"):
        describe(folder)


@pytest.mark.parametrize("size", [0, 7, 30, -1])
def test_a_cut_weight_file_is_found(folder, size):
    file = folder / "model.safetensors"
    save_file({"a": np.zeros((3, 4), np.float32)}, file)
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(ModelError, match="damaged or cut short"):
        describe(folder)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("params", "many"),
        ("params", None),
        ("step", 1.5),
        ("kept", True),
        ("data_hash", 7),
        ("finished", "no"),
    ],
)
def test_a_fact_of_the_wrong_kind_is_named(folder, name, value):
    write_facts(folder, **{name: value})
    with pytest.raises(ModelError, match=rf"run\.json: damaged: {name} = .*, want "):
        describe(folder)


def test_a_processor_that_is_no_text_is_named(folder):
    write_facts(folder, made_on={"torch": 3})
    with pytest.raises(ModelError, match=r"run\.json: damaged: made_on: want texts by name"):
        describe(folder)


@pytest.mark.parametrize(
    "content", ['{"source": "a"}', '[{"source": "a"}]', '[{"source": 1, "target": "b"}]', "7", "[[]]"]
)
def test_golden_sentences_that_were_edited(folder, content):
    (folder / "golden.json").write_text(content)
    with pytest.raises(ModelError, match=r"golden\.json: damaged: want a list"):
        check_golden(folder)


def test_golden_sentences_that_cannot_be_read(folder):
    with pytest.raises(ModelError, match=r"golden\.json: cannot be read"):
        check_golden(folder)
    (folder / "golden.json").mkdir()
    with pytest.raises(ModelError, match=r"golden\.json: cannot be read"):
        check_golden(folder)
