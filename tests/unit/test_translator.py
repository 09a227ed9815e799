"""Text in, text out, on small untrained models: order, limits, damage, determinism, alignment."""

import json
import shutil
import unicodedata

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqloom.config import dump_config, load_config
from seqloom.decode.options import SearchRequest
from seqloom.errors import ModelError, UsageError, WriteError
from seqloom.models.build import build_model
from seqloom.models.weights import load_weights, save_weights, stored_tensors
from seqloom.runtime.folder import open_run
from seqloom.runtime.inputs import Intake
from seqloom.runtime.parts import NOTHING, Translation
from seqloom.runtime.translator import Translator
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import EOS

TEXTS = ["a small cat sat on the mat.", "the dog ran. then it slept!", "un petit chat dort", "où est-il ? là-bas"] * 3
RNN = ("model.kind=rnn", "model.layers=1", "model.width=8", "text.tokenizer=char", "text.vocab_size=300")
TRANSFORMER = ("model.kind=transformer", "model.layers=3", "model.width=8", "model.heads=2", "text.vocab_size=300")


def make_run(folder, *settings):
    """A run folder as `train` leaves it, with random weights."""
    torch.manual_seed(3)
    config = load_config(overrides=settings)
    sides = [learn_tokenizer(config.text.tokenizer, TEXTS, config.text.vocab_size) for _ in range(2)]
    tokenizers = Tokenizers(sides[0], sides[0] if config.text.joint else sides[1])
    model = build_model(config, len(tokenizers.source), len(tokenizers.target), tokenizers.joint)
    with torch.no_grad():
        model.output.bias[EOS] = 4.0  # outputs end soon
    folder.mkdir()
    (folder / "config.toml").write_text(dump_config(config), "utf-8")
    facts = {"format": 1, "params": 9, "step": 4, "data_hash": "d", "finished": True}
    (folder / "run.json").write_text(json.dumps(facts), "utf-8")
    tokenizers.save(folder)
    save_weights(model, folder / "model.safetensors")
    return folder


@pytest.fixture(scope="module")
def rnn_run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("rnn") / "run", *RNN)


@pytest.fixture(scope="module")
def rnn(rnn_run):
    return Translator.load(rnn_run, threads=1)


@pytest.fixture
def run(rnn_run, tmp_path):
    """A copy that a test may damage."""
    return shutil.copytree(rnn_run, tmp_path / "run")


@pytest.fixture
def short(tmp_path):
    """A translator that takes 20 characters."""
    return Translator.load(make_run(tmp_path / "short", *RNN, "data.max_tokens=20", "decode.beam=2"))


def test_a_text_gives_a_text_and_a_list_a_list(rnn):
    one = rnn.translate("a cat")
    assert isinstance(one, str)
    assert rnn.translate(["a cat", "the dog"])[0] == one
    assert rnn.translate([]) == []


def test_alternatives_open_the_first_sentence_alone(rnn):
    seen = Translator(rnn.model, rnn.tokenizers, rnn.config, {**rnn.facts, "usual_tokens": 20})
    text, first, last = "The dog ran. Then it slept!", "The dog ran.", "Then it slept!"
    assert (seen.count_split([text, first, ""]), rnn.count_split([text])) == (1, 0)
    (end,) = seen.translate([last])
    alone, (both, nothing, short) = seen.alternatives([first], 4)[0], seen.alternatives([text, "", first], 4)
    assert len(alone) > 1
    assert [found.text for found in both] == [f"{found.text} {end}" for found in alone]
    assert (nothing, short) == ([NOTHING], alone)


def test_no_output_begins_with_the_blank_of_its_first_piece_and_none_comes_twice(tmp_path):
    folder = make_run(tmp_path / "run", *TRANSFORMER, "text.tokenizer=bpe")
    translator = Translator.load(folder)
    tokenizer = translator.tokenizers.target
    texts = [tokenizer.decode([index]) for index in range(len(tokenizer))]
    plain, blank = next(
        (texts.index(text[1:]), index) for index, text in enumerate(texts) if text[:1] == " " and text[1:] in texts[5:]
    )
    with torch.no_grad():
        translator.model.output.bias[[plain, blank]] += torch.tensor([30.0, 31.0])
    (found,) = translator.alternatives(["the cat"], 3, max_length=1, beam=1)
    assert [one.text for one in found].count(texts[plain]) == 1
    assert all(one.text == one.text.strip() for one in found)
    assert [one.score for one in found] == sorted([one.score for one in found], reverse=True)


@pytest.mark.parametrize("ask", ["hypotheses", "sample", "alternatives"])
def test_one_text_where_a_list_is_wanted_is_not_read_letter_by_letter(rnn, ask):
    with pytest.raises(UsageError, match="want a list of texts, got one text"):
        getattr(rnn, ask)("abc", num=2) if ask != "hypotheses" else rnn.hypotheses("abc")


def test_results_come_in_the_order_of_the_input(rnn):
    """Untrained, it says much the same of everything; the probabilities tell the texts apart."""
    texts = ["the mat the mat", "où", "a", "dort dort", "bb bb", *TEXTS[:4]]
    together = [found[0].log_prob for found in rnn.hypotheses(texts, min_length=8)]
    alone = [rnn.hypotheses([text], min_length=8)[0][0].log_prob for text in texts]
    assert together == pytest.approx(alone, abs=1e-4)
    assert min(abs(a - b) for place, a in enumerate(alone) for b in alone[:place]) > 2e-4


def test_batches_are_of_the_size_that_the_settings_ask(tmp_path, rnn):
    small = Translator.load(make_run(tmp_path / "small", *RNN, "decode.batch_size=3"))
    sizes = []
    encode = small.model.encode
    small.model.encode = lambda src, *rest: sizes.append(len(src)) or encode(src, *rest)
    assert small.translate(TEXTS[:8]) == rnn.translate(TEXTS[:8])
    assert sizes == [2, 3, 3], "the longest first"


def test_the_same_again(rnn, rnn_run):
    assert rnn.hypotheses(TEXTS, n_best=3) == Translator.load(rnn_run).hypotheses(TEXTS, n_best=3)


def test_empty_text_stays_empty(rnn):
    assert rnn.translate(["", " \t ", "\u3000\n", "a"])[:3] == ["", " \t ", "\u3000\n"]
    assert rnn.hypotheses([""], n_best=3) == [[NOTHING] * 3]  # as many as of any other text
    assert Translation("", 0.0, 0.0) == NOTHING


@given(st.lists(st.text(max_size=30), max_size=8))
def test_no_valid_text_is_too_strange(rnn, texts):
    assert len(rnn.translate(texts, beam=1)) == len(texts)


def test_control_characters_and_nul_are_text(rnn):
    assert len(rnn.translate(["\x00", "a\x00b", "\x1b[31m", "\ufffe", "</s>", "<pad>"])) == 6


def test_half_a_surrogate_pair_is_refused_with_its_place(rnn):
    with pytest.raises(UsageError, match=r"line 2: character 3 is a lone surrogate \(U\+D83D\)"):
        rnn.translate(["fine", "ab\ud83d"])
    with pytest.raises(UsageError, match=r"line 1: want text, got \d+ \(int\)"):
        rnn.translate([1])


def test_beam_and_n_best(rnn):
    greedy = rnn.translate("a cat", beam=1)
    assert rnn.hypotheses(["a cat"], beam=1)[0][0].text == greedy
    found = rnn.hypotheses(["a cat"], n_best=8)[0]  # more than decode.beam: the beam grows with it
    assert len(found) == 8
    assert [f.score for f in found] == sorted((f.score for f in found), reverse=True)
    assert found[0] == rnn.hypotheses(["a cat"], beam=8)[0][0]
    with pytest.raises(UsageError, match="n_best"):
        rnn.hypotheses(["a cat"], beam=2, n_best=3)


def test_a_long_text_is_translated_sentence_by_sentence(short):
    said = []
    first, second = short.hypotheses(["A small cat sat. ", "The dog ran away!"], n_best=2)
    both = short.hypotheses(["A small cat sat. The dog ran away!"], n_best=2, warn=said.append)[0]
    whole = short.hypotheses(["A small cat sat."], n_best=2)[0]
    assert [found.text for found in both] == [f"{a.text} {b.text}" for a, b in zip(whole, second, strict=True)]
    assert both[0].log_prob == pytest.approx(whole[0].log_prob + second[0].log_prob, rel=1e-4)
    assert both[0].score == pytest.approx((whole[0].score + second[0].score) / 2, rel=1e-4)
    assert said == []
    assert first != whole  # spaces are the sentence's own while it is not split


def test_a_paragraph_longer_than_all_training_texts_is_translated_sentence_by_sentence(rnn):
    one, two = "A small cat sat.", "The dog ran away!"
    seen = Translator(rnn.model, rnn.tokenizers, rnn.config, {**rnn.facts, "usual_tokens": 20})
    apart, together = " ".join(rnn.translate([one, two])), rnn.translate(f"{one} {two}")
    assert seen.translate(f"{one} {two}") == apart != together, "34 letters, 20 are usual"
    assert seen.translate("A small cat sat on the mat") == rnn.translate("A small cat sat on the mat"), "one sentence"


def test_a_sentence_over_the_limit_is_translated_in_pieces(short):
    said = []
    (found,) = short.hypotheses(["a cat, a dog and a bird sat on mats"], lines=[4], warn=said.append)[0]
    pieces = ["a cat, a dog and", "a bird sat on mats"]
    assert found.text == " ".join(short.translate(pieces))
    assert said == ["line 4: a sentence of 35 tokens, the model takes 20: translated in pieces."]


def test_a_word_over_the_limit_is_cut_and_named(short):
    said = []
    found = short.hypotheses(["x", "b" * 25], lines=[7, 9], warn=said.append)
    (cut,), (whole,) = found[1], short.hypotheses(["b" * 20])[0]
    assert (cut.text, cut.log_prob) == (whole.text, pytest.approx(whole.log_prob, abs=1e-4))
    assert said == ["line 9: a word of 25 tokens, the model takes 20: the last 5 were cut off. Give a shorter word."]
    with pytest.warns(UserWarning, match="line 1: a word of 25 tokens"):
        short.translate("b" * 25)


@pytest.mark.parametrize("task", ["summarise", "pronounce"])
def test_a_long_text_of_another_task_is_cut_and_not_answered_sentence_by_sentence(tmp_path, task):
    """The summary of a text is not the summaries of its sentences."""
    short = Translator.load(make_run(tmp_path / "run", *RNN, "data.max_tokens=20", f"task.name={task}"))
    said = []
    (cut,) = short.hypotheses(["A small cat sat. The dog ran away!"], lines=[3], warn=said.append)[0]
    (first,) = short.hypotheses(["A small cat sat. The"])[0]
    assert (cut.text, cut.log_prob) == (first.text, pytest.approx(first.log_prob, abs=1e-4))
    assert said == ["line 3: a text of 34 tokens, the model takes 20: the last 14 were cut off. Give a shorter text."]


@pytest.mark.parametrize(
    ("source", "read", "said"),
    [
        ("a dog <turn> the cat <turn> it sat", "the cat <turn> it sat", "the oldest 1 of 3 turns were left out."),
        ("a dog ran away <turn> the cat sat <turn> mats", "mats", "the oldest 2 of 3 turns were left out."),
        (
            "a dog <turn> abcdefghijklmnopqrstuvwxyz",
            "fghijklmnopqrstuvwxyz",
            "the oldest 1 of 2 turns and the first 5 tokens of the last were left out.",
        ),
        ("abcdefghijklmnopqrstuvwxyz", "fghijklmnopqrstuvwxyz", "the first 5 tokens of the last were left out."),
        ("a dog ran away <turn> the cat <turn> ", "the cat <turn>", "the oldest 1 of 2 turns were left out."),
    ],
)
def test_of_a_dialogue_that_is_too_long_the_oldest_turns_are_left_out(tmp_path, source, read, said):
    """The last turn is the one that is answered."""
    short = Translator.load(make_run(tmp_path / "run", *RNN, "data.max_tokens=21", "task.name=dialogue"))
    told = []
    (found,) = short.hypotheses([source], lines=[3], warn=told.append)[0]
    (expected,) = short.hypotheses([read])[0]
    assert (found.text, found.log_prob) == (expected.text, pytest.approx(expected.log_prob, abs=1e-4))
    assert told == [f"line 3: a dialogue of {len(source)} tokens, the model takes 21: {said}"]


def test_exactly_the_limit_is_whole(short):
    said = []
    short.hypotheses(["b" * 20], warn=said.append)
    assert said == []


def test_a_megabyte_in_one_line_is_no_harm(short):
    said = []
    short.hypotheses(["b" * 10**6], warn=said.append)
    assert "1,000,000 tokens" in said[0]


def test_text_is_normalised_as_in_training(tmp_path):
    nfc = Translator.load(make_run(tmp_path / "nfc", *RNN, "data.normalise=nfc"))
    composed, apart = "où là", unicodedata.normalize("NFD", "où là")
    assert nfc.translate(apart) == nfc.translate(composed)
    plain, normal = (Intake(nfc.tokenizers.source, 99, normalise) for normalise in ("none", "nfc"))
    assert plain.prepare([apart], [1]) != normal.prepare([apart], [1]) == plain.prepare([composed], [1])


def test_threads_are_set_and_checked(rnn_run):
    before = torch.get_num_threads()
    Translator.load(rnn_run, threads=1)
    assert torch.get_num_threads() == 1
    torch.set_num_threads(before)
    for wrong in (0, -1, 1025, 1_000_000):
        with pytest.raises(UsageError, match=f"threads = {wrong}: want 1 to 1024"):
            Translator.load(rnn_run, threads=wrong)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(("beam", "n_best"), [(0, 1), (-1, 1), (1001, 1), (100_000_000, 1), (5, 0), (None, 1001)])
def test_a_beam_out_of_reason_is_refused_even_without_text(rnn, beam, n_best):
    for texts in ([], [""], ["a cat"]):
        with pytest.raises(UsageError, match=r"^(beam|n_best) = -?\d+: want 1 to 1000$"):
            rnn.hypotheses(texts, beam=beam, n_best=n_best)


def test_a_beam_larger_than_the_vocabulary(tmp_path):
    settings = (*RNN, "text.tokenizer=word", "text.vocab_size=9")
    tiny = Translator.load(make_run(tmp_path / "tiny", *settings, "decode.beam=12"))
    size = len(tiny.tokenizers.target)
    assert size == 9
    for ask, said in (
        (lambda: tiny.hypotheses(["a"], beam=10), "beam = 10"),
        (lambda: tiny.hypotheses(["a"], n_best=10), "10 outputs of one search"),
        (lambda: tiny.alternatives(["a"], 10, beam=1), "10 alternatives"),
    ):
        with pytest.raises(UsageError, match=f"{said}: the model's vocabulary has 9 tokens; want at most that many"):
            ask()
    assert len(tiny.hypotheses(["a"], n_best=9)[0]) == 9
    assert tiny.fill(SearchRequest()).beam == 9  # the model's own setting is no mistake of the caller


def test_many_hypotheses_take_fewer_sentences_at_once(rnn, monkeypatch):
    sizes = []
    encode = rnn.model.encode
    monkeypatch.setattr(rnn.model, "encode", lambda src, *rest: sizes.append(len(src)) or encode(src, *rest))
    rnn.sample(["a"] * 5, 400, max_length=2)
    assert sorted(sizes) == [1, 2, 2]  # several batches run at the same time, in any order
    rnn.hypotheses(["a"] * 3, beam=260, max_length=2)
    assert sizes[3:] == [3]
    rnn.alternatives(["a"] * 3, 260, beam=2, max_length=2)
    assert sizes[4:] == [1, 1, 1]


def test_devices(rnn_run):
    assert Translator.load(rnn_run, device="auto").device.type in ("cpu", "cuda")
    with pytest.raises(UsageError, match="want auto, cpu or cuda"):
        Translator.load(rnn_run, device="toaster")
    if not torch.cuda.is_available():
        with pytest.raises(UsageError, match="no CUDA device"):
            Translator.load(rnn_run, device="cuda")


def test_facts_come_from_the_run(rnn):
    assert rnn.facts == {"params": 9, "step": 4, "data_hash": "d", "finished": True}


@pytest.mark.parametrize("settings", [RNN, TRANSFORMER, (*TRANSFORMER, "text.joint=false", "model.positions=learned")])
def test_alignment_of_a_given_and_of_an_own_target(tmp_path, settings):
    translator = Translator.load(make_run(tmp_path / "run", *settings))
    source, target, weights = translator.align("a small cat", "un petit chat")
    assert weights.shape == (len(target), len(source))
    assert source[-1] == target[-1] == "</s>"
    assert "".join(target[:-1]).replace("▁", " ") == "un petit chat"
    np.testing.assert_allclose(weights.sum(1), 1, atol=1e-5)
    assert (weights >= 0).all()
    own = translator.align("a small cat")
    assert "".join(own[1][:-1]) == "".join(
        translator.tokenizers.target.pieces(
            translator.search([translator.tokenizers.source.encode("a small cat")], 5)[0][0].ids
        )
    )
    assert own[2].shape == (len(own[1]), len(own[0]))


def test_alignment_of_a_transformer_is_the_mean_over_heads_of_the_upper_half(tmp_path):
    from seqloom.nn.trace import Trace

    translator = Translator.load(make_run(tmp_path / "run", *TRANSFORMER))
    ids = translator.tokenizers.source.encode("a cat")
    src = torch.tensor([[*ids, 2]])
    trace = Trace()
    with torch.inference_mode():
        memory = translator.model.encode(src, torch.ones_like(src, dtype=torch.bool))
        translator.model.hidden(torch.tensor([[1, *ids]]), memory, trace)
    expected = sum(trace[f"decoder.cross.{depth}"][0][0].mean(0) for depth in (1, 2)) / 2
    np.testing.assert_allclose(translator.align("a cat", "a cat")[2], expected.numpy(), atol=1e-6)


def test_a_model_without_attention_says_so(tmp_path):
    translator = Translator.load(make_run(tmp_path / "run", *RNN, "model.attention=none"))
    with pytest.raises(UsageError, match=r"model\.attention=additive"):
        translator.align("a cat")


@pytest.mark.parametrize("source", ["", "  ", "b" * 300])
def test_an_alignment_needs_one_text_that_fits(rnn, source):
    with pytest.raises(UsageError, match="tokens; an alignment shows texts of 1 to 250"):
        rnn.align(source)


def test_weights_are_the_same_bytes_and_the_same_model(tmp_path, rnn):
    for name in ("a", "b"):
        save_weights(rnn.model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "b"]
    again = build_model(rnn.config, len(rnn.tokenizers.source), len(rnn.tokenizers.target), joint=True)
    load_weights(again, tmp_path / "a")
    for name, tensor in rnn.model.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name]), name


def test_a_shared_tensor_is_stored_once(tmp_path, rnn):
    from safetensors import safe_open

    save_weights(rnn.model, tmp_path / "w")
    with safe_open(tmp_path / "w", "pt") as stored:
        names = list(stored.keys())
    tied = {"output.weight", "source_table.weight", "target_table.weight"}
    assert len(tied & set(names)) == 1
    assert sorted(names) == sorted(stored_tensors(rnn.model))
    assert set(rnn.model.state_dict()) - set(names) == tied - set(names)


def test_a_failed_write_leaves_the_old_weights(tmp_path, rnn, monkeypatch):
    file = tmp_path / "w"
    save_weights(rnn.model, file)
    before = file.read_bytes()
    monkeypatch.setattr("os.fsync", lambda number: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(WriteError, match=f"{file}: cannot be written: the disk is full"):
        save_weights(rnn.model, file)
    assert file.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["w"]


def cut(name, size):
    def damage(run):
        file = run / name
        file.write_bytes(file.read_bytes()[:size])

    return damage


def write(name, content):
    return lambda run: (run / name).write_text(content, "utf-8")


def remove(name):
    def damage(run):
        (run / name).unlink()

    return damage


def just_begun(run):
    (run / "model.safetensors").unlink()
    (run / "run.json").unlink()


def unfinished(run):
    (run / "model.safetensors").unlink()
    (run / "run.json").write_text('{"format": 1, "finished": false}', "utf-8")
    for step in ("step-00000500", "step-00001000"):
        (run / "checkpoints" / step).mkdir(parents=True)


def replace_setting(old, new):
    def damage(run):
        file = run / "config.toml"
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new), "utf-8")

    return damage


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (remove("config.toml"), "no model here (no config.toml)"),
        (cut("config.toml", 40), "config.toml"),
        (write("config.toml", "[model]\nwidht = 3\n"), "Did you mean 'width'?"),
        (write("config.toml", "\x00\x00"), "not a TOML file"),
        (remove("run.json"), "run.json is missing"),
        (cut("run.json", 10), "run.json: damaged"),
        (write("run.json", "[]"), "run.json: damaged"),
        (write("run.json", '{"format": 2, "version": "9.9"}'), "written by Seqloom 9.9 in format 2"),
        (remove("model.safetensors"), "model.safetensors is missing"),
        (unfinished, "training has not finished (no model.safetensors yet; the last checkpoint is step-00001000)"),
        (just_begun, "(no model.safetensors yet): run the same `seqloom train` command again"),
        (cut("model.safetensors", 2000), "model.safetensors: damaged or cut short"),
        (cut("model.safetensors", 0), "model.safetensors: damaged or cut short"),
        (write("model.safetensors", "PK this is a pickle"), "model.safetensors: damaged or cut short"),
        (remove("tokenizer/tokenizer.json"), "has no tokenizer"),
        (cut("tokenizer/tokenizer.json", 99), "damaged"),
        (replace_setting("width = 8", "width = 16"), "the settings ask for"),
        (replace_setting('cell = "gru"', 'cell = "lstm"'), "not the weights of the model that config.toml"),
        (replace_setting('attention = "additive"', 'attention = "none"'), "does not belong to it"),
        (replace_setting('kind = "rnn"', 'kind = "transformer"'), "is missing"),
        (replace_setting("width = 8", "width = 100000"), "the settings ask for"),
        (replace_setting("\nlayers = 1", "\nlayers = 1000"), "are too few for the 1000 layers"),
    ],
)
def test_every_damage_is_one_sentence(run, damage, said):
    damage(run)
    with pytest.raises(ModelError) as caught:
        Translator.load(run, notice=lambda message: None)
    assert said in str(caught.value)
    assert str(run) in str(caught.value)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("rum", "no such folder. Did you mean 'run'?"),
        ("nowhere/run", "no such folder."),
        (".", "it contains some: "),
        ("run/model.safetensors", "a file, not a folder. Did you mean"),
        ("run/tokenizer", "a part of a run. Did you mean"),
    ],
)
def test_a_wrong_path_gets_the_right_one(run, path, said):
    with pytest.raises(ModelError) as caught:
        open_run(run.parent / path)
    assert said in str(caught.value)
    assert "`seqloom train --out`" in str(caught.value)
