"""seqloom export as a user types it."""

import json
import re
import shutil


def test_an_engine_is_made_and_used(seqloom, random_model, tmp_path):
    folder = shutil.copytree(random_model("model.kind=transformer"), tmp_path / "model")
    text = tmp_path / "in.txt"
    text.write_text("the cat\n\na dog\n", "utf-8")
    before = seqloom("translate", folder, text, "--engine", "torch", "--beam", "2")
    made = seqloom("export", folder, "--format", "ctranslate2")
    assert (made.returncode, made.stdout) == (0, f"{folder / 'engine'}\n"), made.stderr
    after = seqloom("translate", folder, text, "--engine", "ctranslate2", "--beam", "2", "--threads", "1")
    assert (after.returncode, after.stderr) == (0, "")
    assert after.stdout == before.stdout
    fallen = seqloom("translate", folder, text, "--min-length", "2")
    assert fallen.returncode == 0
    assert "does not support min_length as Seqloom defines it; using torch" in fallen.stderr


def test_two_graphs_are_written_and_nothing_else_is_said(seqloom, random_model, tmp_path):
    folder = shutil.copytree(random_model("model.kind=rnn", "model.attention=none"), tmp_path / "model")
    (folder / "golden.json").write_text('[{"source": "the cat", "target": "what a beam finds"}]', "utf-8")
    made = seqloom("export", folder, "--format", "onnx", "--out", tmp_path / "graphs")
    assert (made.returncode, made.stdout, made.stderr) == (0, f"{tmp_path / 'graphs'}\n", "")
    files = sorted(file.name for file in (tmp_path / "graphs").iterdir())
    assert files == ["encoder.onnx", "onnx.json", "step.onnx", "tokenizer"]


def test_what_is_wrong_is_a_sentence(seqloom, random_model, tmp_path):
    rotary = random_model("model.positions=rotary")
    done = seqloom("export", random_model("model.kind=gpt"), "--format", "ctranslate2")
    assert (done.returncode, "this model has model.kind = gpt" in done.stderr) == (2, True), done.stderr
    for words, said in (
        (["--format", "ctranslate3"], "Did you mean 'ctranslate2'?"),
        (["--format", "hf"], "name the folder to write with --out"),
        (["--format", "hf", "--out", tmp_path / "x"], "cannot be exported to Hugging Face"),
        (["--format", "onnx"], "the engine of a transformer is CTranslate2"),
        (["--format", "onxx", "--out", tmp_path / "x"], "Did you mean 'onnx'?"),
        (["--format", "hf", "--int8", "--out", tmp_path / "x"], "are for engines"),
        (["--format", "onnx", "--shortlist", "5"], "--shortlist is for --format ctranslate2"),
        (["--format", "ctranslate2", "--shortlist", "-5"], "--shortlist -5: want 0 (none) or more"),
    ):
        done = seqloom("export", rotary, *words)
        assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
        assert said in done.stderr
    assert not (tmp_path / "x").exists()


def test_a_trained_transformer_has_its_engine(seqloom, tiny_pairs, tiny_settings, tmp_path):
    """A folder that goes on gets a new one; one that cannot be made costs a sentence, not the model."""
    out, text = tmp_path / "model", tmp_path / "in.txt"
    text.write_text("a b\nb a\n", "utf-8")
    small = [*tiny_settings[tiny_settings.index("model.layers=1") - 1 :], "--set", "model.heads=2"]
    small += ["--set", "text.tokenizer=bpe", "--set", "text.vocab_size=300"]
    words = ["train", tiny_pairs, "--out", out, "--recipe", "transformer-small", *small]
    assert seqloom(*words).returncode == 0
    first = (out / "engine" / "manifest.json").read_bytes()
    found = [seqloom("translate", out, text, "--engine", engine) for engine in ("auto", "ctranslate2", "torch")]
    assert [(done.returncode, done.stderr) for done in found] == [(0, "")] * 3
    assert found[0].stdout == found[1].stdout == found[2].stdout
    assert seqloom(*words, "--set", "train.max_steps=8").returncode == 0
    assert (out / "engine" / "manifest.json").read_bytes() != first
    assert seqloom("translate", out, text, "--engine", "ctranslate2").stderr == ""
    smaller = seqloom("export", out, "--format", "ctranslate2", "--int8", "--shortlist", "9")
    assert re.fullmatch(
        r"int8 with a shortlist of 9: BLEU \d+\.\d\d on 20 validation pairs, [+-]\d+\.\d\d against \d+\.\d\d in fp32\n",
        smaller.stderr,
    )
    manifest = json.loads((out / "engine" / "manifest.json").read_text("utf-8"))
    assert (manifest["precision"], manifest["shortlist"], "vmap.txt" in manifest["files"]) == ("int8", 9, True)
    assert seqloom("translate", out, text, "--engine", "ctranslate2").stderr == ""
    shutil.rmtree(out / "store")
    failed = seqloom("export", out, "--format", "ctranslate2", "--shortlist", "9")
    assert "learned from the training pairs, which are gone" in failed.stderr
    assert json.loads((out / "engine" / "manifest.json").read_text("utf-8")) == manifest, "the older one is kept"


def test_an_engine_that_cannot_be_made_costs_a_sentence(monkeypatch, tmp_path):
    from seqloom.errors import ModelError
    from seqloom.training import finish

    def fail(folder, *, tell):
        raise ModelError("not today")

    said = []
    monkeypatch.setattr(finish, "make_engine", fail)
    finish.write_fast_form(tmp_path, said.append)
    assert said == ["no fast engine: not today"]
