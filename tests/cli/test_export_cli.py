"""seqloom export as a user types it."""

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
    assert "other rules for min_length: the torch engine answers" in fallen.stderr


def test_what_is_wrong_is_a_sentence(seqloom, random_model, tmp_path):
    rotary = random_model("model.positions=rotary")
    for words, said in (
        (["--format", "ctranslate2"], "no encoder with rotary positions"),
        (["--format", "ctranslate3"], "Did you mean 'ctranslate2'?"),
        (["--format", "hf"], "name the folder to write with --out"),
        (["--format", "hf", "--out", tmp_path / "x"], "has no Hugging Face form"),
        (["--format", "hf", "--int8", "--out", tmp_path / "x"], "are for --format ctranslate2"),
    ):
        done = seqloom("export", rotary, *words)
        assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
        assert said in done.stderr
    assert not (tmp_path / "x").exists()
