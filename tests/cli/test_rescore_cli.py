"""`seqloom rescore`: lists of another system in, better ones out, and honest numbers beside them."""

import gzip
import re

import pytest
from sacrebleu.metrics import BLEU

from seqloom.cli.app import main
from seqloom.runtime.scoring import log_probs, score_pairs
from seqloom.runtime.translator import Translator
from seqloom.workflows import rescore as workflow

SOURCES = ["the cat", "a dog ran", "on the mat"]
REFERENCES = ["le chat dort là .", "un petit chien là .", "là le petit chat ."]
LISTS = [
    [("le chat dort .", 1.0), ("le chat dort là .", 0.5), ("un chien", 0.2)],
    [("un petit chien là .", 3.0)],
    [("le chat", -1.0), ("là le petit chat .", -1.5), ("le petit chat .", -1.75), ("", -2.0)],
]
NBEST = "".join(f"{n} ||| {text} ||| LM= -1 ||| {score}\n" for n, group in enumerate(LISTS) for text, score in group)


@pytest.fixture
def files(tmp_path):
    def write(**texts):
        for name, text in texts.items():
            (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path

    write(nbest=NBEST, source="\n".join(SOURCES) + "\n", reference="\n".join(REFERENCES) + "\n")
    return write


@pytest.fixture
def rescore(random_model, capsys, tmp_path):
    def run(*words, nbest="nbest", source="source"):
        paths = str(tmp_path / nbest), "--source", str(tmp_path / source)
        code = main(["rescore", str(random_model("model.kind=rnn")), *paths, *map(str, words)])
        out, err = capsys.readouterr()
        return code, out.split("\n")[:-1], err

    return run


@pytest.fixture(scope="module")
def translator(random_model):
    return Translator.load(random_model("model.kind=rnn"))


@pytest.fixture(scope="module")
def ours(translator):
    return [
        log_probs(translator, [s] * len(group), [t for t, _ in group]) for s, group in zip(SOURCES, LISTS, strict=True)
    ]


def best_by(weight, ours):
    picks = []
    for group, own in zip(LISTS, ours, strict=True):
        scores = [theirs + weight * log_prob for (_, theirs), log_prob in zip(group, own, strict=True)]
        picks.append(group[scores.index(max(scores))][0])
    return picks


def test_standard_input_is_read_once(random_model, capsys):
    assert main(["rescore", str(random_model("model.kind=rnn")), "-", "--source", "-", "--weight", "1"]) == 2
    assert "- is given more than once" in capsys.readouterr().err


def test_the_sum_of_both_decides(rescore, files, ours, monkeypatch):
    monkeypatch.setattr(workflow, "CHUNK_SOURCES", 2)
    assert rescore("--weight", 0) == (0, [group[0][0] for group in LISTS], "")
    for weight in (0.05, 1.0):
        assert rescore("--weight", weight)[1] == best_by(weight, ours)
    assert best_by(1.0, ours) != best_by(0, ours)


def test_the_mean_of_a_token_decides(rescore, files, translator):
    means = [[score_pairs(translator, [s], [t])[0].mean for t, _ in g] for s, g in zip(SOURCES, LISTS, strict=True)]
    assert rescore("--weight", 5, "--mean")[1] == best_by(5, means)


def test_a_list_without_features_and_in_gzip(rescore, files, ours):
    files(**{"short.gz": gzip.compress(NBEST.replace("LM= -1 ||| ", "").encode())})
    assert rescore("--weight", 1, nbest="short.gz")[1] == best_by(1, ours)


def test_whole_lists(rescore, files, ours):
    _, rows, _ = rescore("--weight", 0.5, "--n-best")
    assert len(rows) == 8
    parsed = [[field.strip() for field in row.split("|||")] for row in rows]
    assert [int(row[0]) for row in parsed] == [0, 0, 0, 1, 2, 2, 2, 2]
    known = {
        (n, text): (theirs, own)
        for n, (group, owns) in enumerate(zip(LISTS, ours, strict=True))
        for (text, theirs), own in zip(group, owns, strict=True)
    }
    for number, text, features, score in parsed:
        theirs, own = known.pop((int(number), text))
        name, value = re.fullmatch(r"LM= -1 (seqloom=) (\S+)", features).groups()
        assert (name, float(value)) == ("seqloom=", pytest.approx(own, abs=1e-4))
        assert float(score) == pytest.approx(theirs + 0.5 * own, abs=1e-4)
    assert not known
    for number in range(3):
        scores = [float(row[3]) for row in parsed if int(row[0]) == number]
        assert scores == sorted(scores, reverse=True)


def test_bleu_before_after_and_oracle(rescore, files, ours):
    code, rows, err = rescore("--weight", 1, "--reference", files() / "reference")
    assert code == 0
    shown = {line.split()[0]: line.split()[1:] for line in err.splitlines() if line}
    bleu = BLEU()
    oracle = ["le chat dort là .", "un petit chien là .", "là le petit chat ."]
    for name, texts in (("before", best_by(0, ours)), ("after", rows), ("oracle", oracle)):
        assert float(shown[name][0]) == pytest.approx(bleu.corpus_score(texts, [REFERENCES]).score, abs=0.01)
        assert float(shown[name][1]) <= float(shown[name][0]) <= float(shown[name][3])
    assert float(shown["oracle"][0]) == 100
    assert "nrefs:1|bs:1000|seed:12345" in err
    assert "weight" not in err


def test_the_oracle_is_never_below_what_was_found(rescore, files, monkeypatch):
    """The best sentence of each list need not make the best corpus."""
    monkeypatch.setattr(
        "seqloom.rerank.combine_scores.oracle", lambda lists, bleu: [part.stop - 1 for part in lists.parts()]
    )
    _, _, err = rescore("--reference", files() / "reference")
    shown = {
        line.split()[0]: float(line.split()[1]) for line in err.splitlines() if line.split()[0] in ("after", "oracle")
    }
    assert shown["oracle"] >= shown["after"] > 0
    after, bound = re.search(r"-> (\S+) there, oracle (\S+)$", err, re.M).groups()
    assert float(bound) >= float(after)


def test_the_weight_is_tuned_on_another_list(rescore, files, ours, translator):
    """There the reference is what our model likes best, and what they like least."""
    texts = ["le chat dort là .", "un petit chien là .", "là le petit chat .", "un chien dort là ."]
    rows, references = [], []
    for number, source in enumerate(SOURCES):
        own = log_probs(translator, [source] * len(texts), texts)
        references.append(texts[own.index(max(own))])
        rows += [f"{number} ||| {text} ||| {float(text != references[-1])}\n" for text in texts]
    folder = files(dev="".join(rows), dev_source="\n".join(SOURCES), dev_reference="\n".join(references))
    tune = f"{folder / 'dev'},{folder / 'dev_source'},{folder / 'dev_reference'}"
    code, found, err = rescore("--tune", tune)
    assert code == 0
    weight, before = re.search(
        r"^weight (\S+) of the log-probability, tuned on \S+dev: BLEU (\S+) -> 100.00 there, oracle 100.00$", err, re.M
    ).groups()
    assert float(before) < 50
    assert found == best_by(float(weight), ours)
    assert "too high" not in err


def test_tuned_on_itself_it_says_so_and_the_weight_can_be_given_again(rescore, files):
    folder = files()
    code, rows, err = rescore("--reference", folder / "reference")
    assert code == 0
    again = re.search(r"so its BLEU is too high: measure on another, with (--weight \S+(?: --mean)?)$", err, re.M)[1]
    assert rescore(*again.split())[1] == rows
    tuned, bound = map(float, re.search(r"-> (\S+) there, oracle (\S+)", err).groups())
    after, oracle = (float(re.search(rf"^{name} +(\S+)", err, re.M)[1]) for name in ("after", "oracle"))
    assert (tuned, bound) == (pytest.approx(after, abs=0.01), pytest.approx(oracle, abs=0.01))
    assert bound > tuned


def test_the_mean_is_tried_too(rescore, files, monkeypatch):
    found = {False: (1.0, 20.0), True: (0.123456789, 30.0)}
    calls = iter([False, True, False, True])
    monkeypatch.setattr("seqloom.workflows.rescore.tune_weight", lambda lists, bleu: found[next(calls)])
    err = rescore("--reference", files() / "reference")[2]
    assert "weight 0.123456789 of the mean log-probability of a token" in err
    assert "--weight 0.123456789 --mean" in err
    found[True] = (7.0, 20.0)  # of equals the sum
    assert "weight 1 of the log-probability," in rescore("--reference", files() / "reference")[2]


def test_with_another_model(rescore, files, random_model):
    other = random_model("model.kind=transformer")
    own = log_probs(Translator.load_ensemble([random_model("model.kind=rnn"), other]), ["the cat"], ["un chien"])[0]
    rows = rescore("--weight", 1, "--n-best", "--with", other)[1]
    row = next(row for row in rows if "||| un chien |||" in row)
    assert float(row.split("seqloom=")[1].split()[0]) == pytest.approx(own, abs=1e-4)


def test_what_the_model_cannot_take_counts_as_the_least(rescore, files, ours):
    long = "x" * 200
    files(
        nbest=f"0 ||| {long} ||| 9\n0 ||| le chat ||| 1\n0 ||| un chien ||| 0\n1 ||| a ||| 2\n1 ||| b ||| 3\n",
        source=f"the cat\n{long}\n",
    )
    _, rows, err = rescore("--weight", 0.01, "--n-best")
    assert "3 of 5 candidates or their sources are longer than the model can read" in err
    value = {row.split(" ||| ")[1]: float(row.split("seqloom=")[1].split()[0]) for row in rows}
    assert value[long] == pytest.approx(min(value["le chat"], value["un chien"]) - 1, abs=1e-5)
    assert value["a"] == value["b"] == 0
    assert [row.split(" ||| ")[1] for row in rows][3:] == ["b", "a"]


def test_costs_are_doubted(rescore, files):
    files(nbest="".join(f"{n} ||| a ||| 1\n{n} ||| b ||| 2\n" for n in range(3)))
    assert "in 3 of 3 lists the first candidate does not have the highest score" in rescore("--weight", 0)[2]


@pytest.mark.parametrize(
    ("texts", "words", "code", "said"),
    [
        (
            {},
            [],
            2,
            "no weight: give it with --weight X, or tune it on another list with --tune NBEST,SOURCE,REFERENCE",
        ),
        ({}, ["--weight", "1", "--tune", "a,b,c"], 2, "give either the weight or a list"),
        ({}, ["--weight", "-1"], 2, "--weight -1: want 0 (their score alone) to 1e+09"),
        ({}, ["--weight", "nan"], 2, "--weight nan: want 0"),
        ({}, ["--weight", "inf"], 2, "--weight inf: want 0"),
        ({}, ["--weight", "1e308"], 2, "--weight 1e+308: want 0"),
        ({}, ["--mean", "--tune", "a,b,c"], 2, "--mean goes with --weight"),
        ({}, ["--tune", "a,b"], 2, "--tune a,b: 2 file(s); want three with commas between them"),
        ({}, ["--tune", "no,such,file"], 2, "such: no such file"),
        ({"source": ""}, ["--weight", "1"], 3, "source: empty; want the source lines of"),
        ({"source": "a\nb\n"}, ["--weight", "1"], 3, "nbest, line 5: id 2, but the source has 2 lines"),
        ({"nbest": "0 ||| a\n"}, ["--weight", "1"], 3, "nbest, line 1: 2 field(s)"),
        ({"source": b"caf\xe9\n"}, ["--weight", "1"], 3, "source, line 1: invalid UTF-8"),
    ],
)
def test_a_wrong_call_is_one_sentence(texts, words, code, said, rescore, files):
    files(**texts)
    found, rows, err = rescore(*words)
    assert (found, rows) == (code, [])
    assert err.startswith("seqloom: ")
    assert said in err


def test_a_reference_for_each_source_line(rescore, files):
    folder = files(reference="one\n")
    code, _, err = rescore("--weight", 1, "--reference", folder / "reference")
    assert code == 3
    assert re.search(r"source has 3 lines, \S+reference has 1: want one reference for each source line", err)
