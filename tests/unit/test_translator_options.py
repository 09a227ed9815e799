"""Search options, prefixes, sampling, alternatives and ensembles of a Translator."""

import json
import shutil

import pytest
import torch

from seqloom.config import dump_config, load_config
from seqloom.decode.ensemble import Ensemble
from seqloom.decode.options import SearchRequest
from seqloom.errors import UsageError
from seqloom.models.build import build_model
from seqloom.models.weights import save_weights
from seqloom.runtime.parts import NOTHING
from seqloom.runtime.prefixes import PrefixError, encode_prefix
from seqloom.runtime.translator import Translator
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import EOS

TEXTS = ["a small cat sat on the mat.", "the dog ran. then it slept!", "un petit chat dort", "où est-il ? là-bas"]
RNN = ("model.kind=rnn", "model.layers=1", "model.width=8", "text.tokenizer=char", "text.vocab_size=300")
TRANSFORMER = ("model.kind=transformer", "model.layers=1", "model.width=8", "model.heads=2")


def make_run(folder, *settings, seed=3, texts=TEXTS, facts=()):
    """A run folder as `train` leaves it, with random weights."""
    torch.manual_seed(seed)
    config = load_config(overrides=[*RNN, *settings])
    tokenizer = learn_tokenizer(config.text.tokenizer, texts, config.text.vocab_size)
    tokenizers = Tokenizers(tokenizer, tokenizer)
    model = build_model(config, len(tokenizer), len(tokenizer), joint=True)
    with torch.no_grad():
        model.output.bias[EOS] = 3.0  # outputs end soon
        if config.text.tokenizer == "char":
            model.output.bias[4:260] = -9.0  # no half characters: letters can be counted
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(dump_config(config), "utf-8")
    run = {"format": 1, "params": 9, "step": 4, "data_hash": "d", "finished": True, **dict(facts)}
    (folder / "run.json").write_text(json.dumps(run), "utf-8")
    tokenizers.save(folder)
    save_weights(model, folder / "model.safetensors")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("options") / "run")


@pytest.fixture(scope="module")
def translator(folder):
    return Translator.load(folder)


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    settings = ("text.tokenizer=word", "text.vocab_size=40")
    return Translator.load(make_run(tmp_path_factory.mktemp("words") / "run", *settings))


def test_options_are_the_models_own_unless_given(tmp_path, translator):
    settings = ["length_penalty=0.5", "coverage_penalty=0.25", "min_length=7", "no_repeat_ngram=2", "beam=3"]
    own = Translator.load(make_run(tmp_path / "own", *(f"decode.{setting}" for setting in settings)))
    options = own.fill(SearchRequest())
    got = (options.beam, options.length_penalty, options.coverage_penalty, options.min_length, options.no_repeat_ngram)
    assert got == (3, 0.5, 0.25, 7, 2)
    request = SearchRequest.of(beam=4, n_best=2, length_penalty=0.0, coverage_penalty=None, min_length=0, max_length=9)
    options = own.fill(request)
    got = (options.beam, options.n_best, options.length_penalty, options.coverage_penalty, options.min_length)
    assert (*got, options.max_length) == (4, 2, 0.0, 0.25, 0, 9)
    said = {"length_penalty": 0.5, "coverage_penalty": 0.25, "min_length": 7, "no_repeat_ngram": 2}
    assert own.hypotheses(TEXTS) == translator.hypotheses(TEXTS, 3, **said)
    assert own.hypotheses(TEXTS) != translator.hypotheses(TEXTS, 3)


def test_options_change_the_text(translator):
    plain = translator.translate(TEXTS)
    longer = translator.translate(TEXTS, min_length=10)
    assert all(len(translator.tokenizers.target.encode(text)) >= 10 for text in longer)
    assert plain != longer
    unlike = translator.translate(TEXTS, min_length=10, no_repeat_ngram=1)
    assert all(len(set(text)) == len(text) for text in unlike)


@pytest.mark.parametrize("beam", [1, 4])
def test_every_output_begins_with_the_prefix(translator, beam):
    found = translator.hypotheses(TEXTS, beam, beam, prefixes="un ch")
    assert all(t.text.startswith("un ch") for ranked in found for t in ranked)
    each = ["", "où", "la ", "x\u4e2d"]
    free = translator.hypotheses(TEXTS[:1], beam)[0][0]
    texts = [ranked[0].text for ranked in translator.hypotheses(TEXTS, beam, prefixes=each)]
    assert all(text.startswith(prefix) for text, prefix in zip(texts, each, strict=True))
    assert texts[0] == free.text


def test_a_prefix_is_a_part_of_the_score(translator):
    """Forcing what the model writes anyway changes nothing."""
    free = translator.hypotheses(["a small cat"], 1, min_length=6)[0][0]
    forced = translator.hypotheses(["a small cat"], 1, min_length=6, prefixes=free.text[:3])[0][0]
    assert forced.log_prob == pytest.approx(free.log_prob, rel=1e-5)
    assert forced.text == free.text


def test_a_long_text_has_its_prefix_once(tmp_path):
    short = Translator.load(make_run(tmp_path / "short", "data.max_tokens=20"))
    parts = "A small cat sat. ", "The dog ran away!"
    whole = short.hypotheses(["".join(parts)], prefixes="no")[0][0].text
    first = short.hypotheses([parts[0].strip()], prefixes="no")[0][0].text
    second = short.hypotheses([parts[1]])[0][0].text
    assert whole == f"{first} {second}" and first.startswith("no")


def test_a_blank_text_stays_as_it_is_whatever_is_asked(translator):
    assert translator.hypotheses([" "], prefixes="no")[0][0].text == " "
    assert translator.sample([""], 2) == [[NOTHING] * 2]
    assert translator.alternatives([""], 3, prefixes=["x"]) == [[NOTHING]]


def test_prefixes_of_every_tokenizer(translator, words, tmp_path):
    assert translator.tokenizers.target.decode(encode_prefix("un ", translator.tokenizers.target, "none")) == "un "
    assert words.translate("a cat", prefixes="the  dog ").split()[:2] == ["the", "dog"]
    for kind in ("bpe", "unigram"):
        run = make_run(tmp_path / kind, f"text.tokenizer={kind}")
        found = Translator.load(run).translate(TEXTS, prefixes="un petit \u4e2d ")  # a space belongs to what follows
        assert all(text.startswith("un petit \u4e2d") for text in found)
    composed, apart = encode_prefix("où", words.tokenizers.target, "nfc"), "ou\u0300"
    assert encode_prefix(apart, words.tokenizers.target, "nfc") == composed


@pytest.mark.parametrize(
    ("prefixes", "said"),
    [
        ("", "the prefix is empty"),
        (" \t", "the prefix is empty"),
        ("the zebra dog gnu", "the prefix 'the zebra dog gnu' cannot be written: 'zebra', 'gnu' not among the"),
        (["", "zebra"], "line 12: the prefix 'zebra' cannot be written"),
        (["a"], "1 prefixes for 2 texts"),
        (["", "the\ud83d"], "line 12: the prefix is not a text: character 4 is a lone surrogate"),
        (["the " * 60, ""], "line 11: the prefix has 60 tokens, but an output for this source is cut at 54"),
    ],
)
def test_a_prefix_that_cannot_be(words, prefixes, said):
    with pytest.raises(PrefixError) as caught:
        words.hypotheses(["cat", "dog"], prefixes=prefixes, lines=[11, 12])
    assert said in str(caught.value)
    assert isinstance(caught.value, UsageError)


def test_alternatives_differ_at_once(translator):
    for ranked in translator.alternatives(TEXTS, 4, beam=2, prefixes="un", min_length=4):
        assert len({t.text[:3] for t in ranked}) == 4
        assert [t.score for t in ranked] == sorted((t.score for t in ranked), reverse=True)
    with pytest.raises(UsageError, match="alternatives = 0: want 1 to 1000"):
        translator.alternatives(TEXTS, 0)


def test_samples_follow_from_seed_and_line(translator, folder):
    found = translator.sample(TEXTS * 3, 3, seed=5, min_length=4)
    assert found[:4] != found[4:8]  # the same texts on other lines
    small = Translator.load(folder)
    object.__setattr__(small.config.decode, "batch_size", 2)
    again = small.sample(TEXTS * 3, 3, seed=5, min_length=4)
    assert [[t.text for t in ranked] for ranked in again] == [[t.text for t in ranked] for ranked in found]
    part = translator.sample(TEXTS[2:], 3, seed=5, min_length=4, lines=[3, 4])
    assert [[t.text for t in ranked] for ranked in part] == [[t.text for t in ranked] for ranked in found[2:4]]
    assert translator.sample(TEXTS, 3, seed=6, min_length=4) != found[:4]
    with pytest.raises(UsageError, match="seed = -1: want 0 or more"):
        translator.sample(TEXTS, seed=-1)


def test_a_sample_of_the_likeliest_token_is_greedy(translator):
    greedy = translator.translate(TEXTS, 1)
    assert [found[0].text for found in translator.sample(TEXTS, top_k=1)] == greedy
    assert [found[0].text for found in translator.sample(TEXTS, top_p=1e-6)] == greedy
    assert [found[0].text for found in translator.sample(TEXTS, temperature=0.01)] == greedy


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    """A recurrent network and a Transformer that share a tokenizer."""
    root = tmp_path_factory.mktemp("members")
    return make_run(root / "rnn"), make_run(root / "transformer", *TRANSFORMER, "data.max_tokens=50", seed=4)


def test_an_ensemble_of_two_kinds(members):
    both = Translator.load_ensemble(members)
    assert isinstance(both.model, Ensemble) and not both.model.training
    assert both.config.data.max_tokens == 50  # the least that a member takes
    assert both.facts["params"] == 18
    found = both.hypotheses(TEXTS, n_best=3, coverage_penalty=0.1)
    alone = [Translator.load(member).hypotheses(TEXTS, n_best=3) for member in members]
    assert found not in alone and len(found) == 4
    source, target, weights = both.align("a cat", "un chat")
    assert weights.shape == (len(target), len(source))
    assert weights.sum(1) == pytest.approx(1.0, abs=1e-5)


def test_an_ensemble_splits_what_is_long_for_one_member(members, tmp_path):
    """Members that have read other data know other lengths, and an imported one none."""
    copies = [shutil.copytree(member, tmp_path / member.name) for member in members]
    for folder, usual in zip(copies, (7, 6), strict=True):
        facts = json.loads((folder / "run.json").read_text("utf-8"))
        (folder / "run.json").write_text(json.dumps({**facts, "usual_tokens": usual}), "utf-8")
    assert Translator.load_ensemble(copies).facts["usual_tokens"] == 6
    assert Translator.load_ensemble([copies[0], members[1]]).facts["usual_tokens"] == 7
    assert "usual_tokens" not in Translator.load_ensemble(members).facts


def test_an_ensemble_of_one_and_of_twice_the_same_is_that_model(members):
    alone = Translator.load(members[1])
    for folders in ([members[1]], [members[1], members[1]]):
        together = Translator.load_ensemble(folders)
        got, want = together.hypotheses(TEXTS, n_best=3), alone.hypotheses(TEXTS, n_best=3)
        assert [[t.text for t in ranked] for ranked in got] == [[t.text for t in ranked] for ranked in want]
        assert [t.score for ranked in got for t in ranked] == pytest.approx(
            [t.score for ranked in want for t in ranked], rel=1e-4
        )
    with pytest.raises(UsageError, match="an ensemble of no model"):
        Translator.load_ensemble([])


def test_members_must_share_their_vocabularies(members, tmp_path):
    other = make_run(tmp_path / "other", texts=[text.replace("a", "w") for text in TEXTS])  # as many letters
    with pytest.raises(UsageError) as caught:
        Translator.load_ensemble([members[0], members[1], other])
    said = str(caught.value)
    for part in (str(members[0]), str(other), "source vocabularies differ", "char of", f"--tokenizer {members[0]}"):
        assert part in said
    assert str(members[1]) not in said


def test_members_must_do_the_same(members, tmp_path):
    there = make_run(tmp_path / "there", "data.source_lang=en", "data.target_lang=de")
    back = make_run(tmp_path / "back", facts={"source_lang": "de", "target_lang": "en"})
    with pytest.raises(UsageError, match=r"data\.source_lang is 'en' in one and 'de' in the other"):
        Translator.load_ensemble([there, back])
    Translator.load_ensemble([there, members[0]])  # where nobody said, nobody knows
    with pytest.raises(UsageError, match=r"data\.normalise is 'none' in one and 'nfc' in the other"):
        Translator.load_ensemble([members[0], make_run(tmp_path / "nfc", "data.normalise=nfc")])


def test_a_setting_that_no_search_has(translator):
    with pytest.raises(UsageError, match=r"no_repeat_ngrams: no such search option.* Did you mean 'no_repeat_ngram'\?"):
        translator.translate("a", no_repeat_ngrams=3)


def test_more_outputs_than_words_names_what_was_asked(words):
    with pytest.raises(UsageError, match="99 outputs of one search: the model's vocabulary has"):
        words.hypotheses(["a"], n_best=99)
    with pytest.raises(UsageError, match="beam = 99: the model's vocabulary has"):
        words.hypotheses(["a"], beam=99)
