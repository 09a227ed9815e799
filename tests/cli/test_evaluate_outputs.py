"""`seqloom evaluate` with files of outputs: written, measured, compared; and one model searched in two ways."""

import json

import pytest
from sacrebleu.metrics import CHRF

import seqloom
from seqloom.cli.app import main
from seqloom.runtime.translator import Translator


@pytest.fixture
def evaluate(tiny_model, capsys):
    def run(*words, model=tiny_model):
        code = main(["evaluate", str(model), *map(str, words)])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def test_file(tmp_path):
    """Five records, one of them without a target; the second source comes again as the fourth."""
    file = tmp_path / "test.tsv"
    file.write_text("abc\tcba\nhead\tdaeh\nnothing\nhead\tdead\nfgh a b\thgf\n", "utf-8")
    return file


@pytest.fixture
def theirs(tmp_path):
    file = tmp_path / "theirs.txt"
    file.write_text("cba\ndaeh\n\ndaeh\nx y\n", "utf-8")
    return file


def test_outputs_are_written_one_line_per_record(evaluate, test_file, tiny_model, tmp_path):
    out = tmp_path / "out.txt"
    assert evaluate(test_file, "--allow-loss", "--beam", 2, "--outputs", out)[0] == 0
    abc, head, last = Translator.load(tiny_model).translate(["abc", "head", "fgh a b"], beam=2)
    assert out.read_text("utf-8") == f"{abc}\n{head}\n\n{head}\n{last}\n"  # line 3 cannot be used and keeps its place


def test_written_outputs_measured_again_have_the_same_scores(evaluate, test_file, tmp_path):
    out = tmp_path / "out.txt"
    first = json.loads(evaluate(test_file, "--allow-loss", "--json", "--outputs", out)[1])
    again = json.loads(evaluate(test_file, "--allow-loss", "--json", model=out)[1])
    for name in ("bleu", "chrf", "ter", "exact_match", "by_length", "worst", "test_hash", "excluded"):
        assert again[name] == first[name]
    assert again["outputs_of"] == str(out)
    assert "model" not in again


def test_records_are_counted_not_lines(evaluate, tmp_path):
    """A cell of a CSV file may hold a line end, and a header is no record; an array may stand on one line."""
    (tmp_path / "t.csv").write_text('source,target\n"abc","cba\nx"\nbed,deb\nfgh,hgf\n', "utf-8")
    records = [{"source": source, "target": target} for source, target in (("abc", "cba x"), ("bed", "deb"))]
    (tmp_path / "t.json").write_text(json.dumps(records), "utf-8")
    (tmp_path / "3.txt").write_text("cba x\ndeb\nhgf\n", "utf-8")
    (tmp_path / "2.txt").write_text("cba x\ndeb\n", "utf-8")
    for file, outputs in (("t.csv", "3.txt"), ("t.json", "2.txt")):
        words = (tmp_path / file, "--columns", "source,target", "--json")
        code, out, err = evaluate(*words, model=tmp_path / outputs)
        assert code == 0, err
        assert json.loads(out)["token_error_rate"]["score"] == 0
        assert evaluate(*words, "--beam", 1, "--outputs", tmp_path / "ours.txt")[0] == 0
        assert len((tmp_path / "ours.txt").read_text("utf-8").splitlines()) == int(outputs[0])


def test_outputs_of_another_system_need_no_model(evaluate, test_file, theirs):
    code, out, _ = evaluate(test_file, "--allow-loss", model=theirs)
    assert code == 0
    assert out.startswith(
        f"3 sentences from 4 lines (lines of the same source are its references), outputs of {theirs}"
    )
    found = json.loads(evaluate(test_file, "--allow-loss", "--json", model=theirs)[1])
    wanted = CHRF().corpus_score(["cba", "daeh", "x y"], [["cba", "daeh", "hgf"], [None, "dead", None]]).score
    assert found["chrf"]["score"] == pytest.approx(wanted)


def test_either_side_may_be_a_file_of_outputs(evaluate, test_file, tiny_model, theirs, tmp_path):
    words = (test_file, "--allow-loss", "--json", "--beam", 1)
    ours = json.loads(evaluate(*words, "--against", theirs)[1])
    turned = json.loads(evaluate(*words, "--against", tiny_model, model=theirs)[1])
    assert ours["against"]["name"] == str(theirs)
    assert turned["against"]["name"] == str(tiny_model)
    assert ours["against"]["differences"]["chrf"]["difference"] == pytest.approx(
        -turned["against"]["differences"]["chrf"]["difference"]
    )
    assert turned["against"]["scores"]["chrf"] == ours["chrf"]  # --beam 1 is for the model, whichever side it is
    both = json.loads(evaluate(*words[:3], "--against", theirs, model=theirs)[1])
    assert both["against"]["differences"]["chrf"]["p_value"] == 1


def test_greedy_against_beam_of_one_model(evaluate, test_file, tiny_model):
    words = (test_file, "--allow-loss", "--json")
    found = json.loads(evaluate(*words, "--beam", 1, "--against-beam", 5)[1])
    greedy, beam = (json.loads(evaluate(*words, "--beam", width)[1]) for width in (1, 5))
    assert found["chrf"] == greedy["chrf"]
    assert found["against"]["scores"]["chrf"] == beam["chrf"]
    assert found["against"]["name"] == f"{tiny_model} (beam 5)"
    assert not any("searched differently" in warning for warning in found["warnings"])  # that was asked for
    named = json.loads(evaluate(*words, "--beam", 1, "--against", tiny_model, "--against-beam", 5)[1])
    assert named["against"] == found["against"]


def test_options_of_both_sides_hold_for_both(evaluate, test_file):
    words = (test_file, "--allow-loss", "--json", "--no-repeat-ngram", 1)
    found = json.loads(evaluate(*words, "--beam", 1, "--against-length-penalty", 0)[1])
    alone = json.loads(evaluate(*words, "--beam", 1, "--length-penalty", 0)[1])
    assert found["against"]["scores"]["chrf"] == alone["chrf"]
    ranked = json.loads(evaluate(*words, "--against-mbr", 6)[1])
    assert ranked["against"]["scores"]["chrf"] == json.loads(evaluate(*words, "--mbr", 6)[1])["chrf"]
    assert not any("searched differently" in warning for warning in ranked["warnings"])


def test_the_same_in_python(test_file, tiny_model, theirs, tmp_path):
    report = seqloom.evaluate(
        tiny_model, test_file, beam=1, against_beam=5, outputs=tmp_path / "o.txt", allow_loss=True, quiet=True
    )
    assert report.against.name == f"{tiny_model} (beam 5)"
    assert (tmp_path / "o.txt").read_text("utf-8").splitlines() == report.outputs
    assert len(report.outputs) == 5
    other = seqloom.evaluate(theirs, test_file, against=tmp_path / "o.txt", allow_loss=True, quiet=True)
    assert other.against.scores["chrf"] == report.scores["chrf"]
    with pytest.raises(seqloom.UsageError, match="baem: no such search option"):
        seqloom.evaluate(tiny_model, test_file, against_baem=5)


def test_one_lucky_sentence_gets_no_star(tmp_path, evaluate):
    right = "a man in an orange hat"
    pairs = [f"source 0\t{right}\n", *(f"source {n}\tyes\n" for n in range(1, 100))]
    (tmp_path / "t.tsv").write_text("".join(pairs), "utf-8")
    (tmp_path / "none.txt").write_text("x\n" * 100, "utf-8")
    (tmp_path / "lucky.txt").write_text(f"{right}\n" + "x\n" * 99, "utf-8")
    words = (tmp_path / "t.tsv", "--against", tmp_path / "none.txt")
    line = next(line for line in evaluate(*words, model=tmp_path / "lucky.txt")[1].splitlines() if "BLEU (+)" in line)
    assert "*" not in line
    assert float(line.split()[-1]) > 0.5


def test_pronunciations_of_another_system(tmp_path, evaluate):
    (tmp_path / "t.tsv").write_text("tomato\tT AH M EY T OW\ntomato\tT AH M AA T OW\n", "utf-8")
    (tmp_path / "o.txt").write_text("T AH M AA T OW\nT\n", "utf-8")
    code, out, err = evaluate(tmp_path / "t.tsv", "--task", "pronounce", "--json", model=tmp_path / "o.txt")
    assert (code, json.loads(out)["word_error_rate"]["score"]) == (0, 0.0)
    assert "1 repeated sources have different outputs; the first one of each counts" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["{short}", "{pairs}"], "short.txt: 2 lines, but {pairs} has 5 records: want one output per record"),
        (["{pairs}", "{model}"], "The model comes first: seqloom evaluate {model} {pairs}"),
        (["{theirs}", "{pairs}", "--beam", "3"], "a file of outputs; leave out further folders and search options"),
        (["{theirs}", "{pairs}", "--with", "{model}"], "a file of outputs; leave out further folders and search opt"),
        (["{model}", "{pairs}", "--against", "{theirs}", "--against-beam", "2"], "leave out search options with --aga"),
        (["{model}", "{pairs}", "--outputs", "{theirs}/no/o.txt"], "there is no folder"),
        (["{model}", "{pairs}", "--outputs", "{pairs}"], "this file is read; name another one"),
        (["{theirs}", "{pairs}", "--task", "clasify"], "Did you mean 'classify'"),
        (["{theirs}", "{pairs}", "--task", "masked"], "in a file are measured for: translate, summarise, dialogue, pr"),
        (["{theirs}", "{pairs}", "--outputs", "{theirs}.new"], "theirs.txt already holds the outputs"),
        (["{model}", "{pairs}", "--task", "summarise"], "--task summarise: the model was trained for 'translate'"),
        (["{model}/model.safetensors", "{pairs}"], "a file, not a folder. Did you mean '{model}'"),
        (["{model}", "{pairs}", "--against-beam", "2.5"], "--against-beam 2.5: want a whole number"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_sentence(
    words, said, test_file, theirs, tiny_model, tmp_path, capsys
):
    (tmp_path / "short.txt").write_text("cba\ndaeh\n", "utf-8")
    names = {"short": tmp_path / "short.txt", "pairs": test_file, "theirs": theirs, "model": tiny_model}
    before = test_file.read_bytes()
    assert main(["evaluate", *(word.format(**names) for word in words), "--allow-loss"]) in (2, 3, 4)
    out, err = capsys.readouterr()
    assert said.format(**names) in err
    assert (out, "Traceback" in err) == ("", False)
    assert test_file.read_bytes() == before
