"""The lane of every kind of model: the answers of `translate`, tokens with their characters, steps that add up."""

import json
import math

import jsonschema_rs
import numpy as np
import pytest
import torch

from seqloom.errors import UsageError
from seqloom.explain.document import Explained, schema
from seqloom.inside.surface import written_spans
from seqloom.text.vocabulary import BOS, EOS, GAP, UNK

TEXT = "a cat sat"
SHOWN = {"masked": f"a {GAP} sat"}  # other texts that a family is asked


def lane_of(model, text=TEXT, **options):
    (lane,) = model.explain(text, **options).lanes
    return lane


def test_the_answer_is_that_of_translate_and_the_document_survives_its_file(load, family):
    """With every view that the model has."""
    model = load(family)
    text = SHOWN.get(family, TEXT)
    before = model.translate(text)
    document = model.explain(text)
    (lane,) = document.lanes
    assert " ".join(lane.answers) == before
    assert model.translate(text) == before  # explaining changes no answer
    assert (lane.task, lane.family) == (model.config.task.name, model.config.model.kind)
    jsonschema_rs.validator_for(schema()).validate(json.loads(document.to_json()))
    assert Explained.from_json(document.to_json()) == document


@pytest.mark.parametrize("tokenizer", ["char", "bpe", "unigram", "word"])
def test_tokens_cover_the_text(load, family, tokenizer):
    lane = lane_of(load(family, tokenizer=tokenizer), SHOWN.get(family, TEXT), views=())
    side = lane.source if lane.source.tokens else lane.target
    spelled = "".join(side.text[slice(*token.span)] for token in side.tokens if token.span)
    assert spelled.replace(" ", "") == side.text.replace(" ", "")


def test_steps_are_the_distribution_of_the_model(load, family):
    lane = lane_of(load(family), SHOWN.get(family, TEXT), top=4, views=())
    assert lane.steps
    for step in lane.steps:
        log_probs = [choice.log_prob for choice in step.top]
        assert len(log_probs) == 4
        assert log_probs == sorted(log_probs, reverse=True)
        assert sum(map(math.exp, log_probs)) <= 1 + 1e-6
        assert step.entropy >= 0
        if step.rank == 1:
            assert step.log_prob == log_probs[0]
            assert step.margin == pytest.approx(log_probs[0] - log_probs[1])
        else:
            assert step.margin == pytest.approx(step.log_prob - log_probs[0])
            assert step.margin <= 0


@pytest.mark.parametrize("family", ["rnn", "fixed", "transformer", "gpt"])
def test_a_given_target_is_scored_as_score_does(load, family):
    import seqloom

    model = load(family)
    lane = lane_of(model, target="le chat", views=())
    assert lane.forced
    assert (lane.answers, lane.score) == (["le chat"], None)
    (score,) = seqloom.score(model, [TEXT], ["le chat"])
    assert sum(step.log_prob for step in lane.steps) == pytest.approx(score.log_prob, abs=1e-4)
    assert [token.id for token in lane.target.tokens][-1] == EOS
    assert lane.target.tokens[-1].span is None


def test_the_score_of_the_search_is_there_and_its_log_probs_add_up(load):
    model = load("transformer")
    (best,) = model.hypotheses([TEXT], n_best=1)[0]
    lane = lane_of(model, views=())
    assert len(lane.steps) > 1
    assert lane.score == pytest.approx(best.score, abs=1e-5)
    assert sum(step.log_prob for step in lane.steps) == pytest.approx(best.log_prob, abs=1e-4)


def test_an_output_that_was_cut_has_no_end_token(load):
    model = load("rnn", seed=7)
    model.model.output.bias.data[EOS] -= 50  # it never ends
    lane = lane_of(model, "a", views=())
    model.model.output.bias.data[EOS] += 50
    assert EOS not in [token.id for token in lane.target.tokens]
    assert len(lane.steps) == len(lane.target.tokens) == 2 * 2 + 50
    assert any("length limit" in note for note in lane.notes)


def test_a_language_model_predicts_each_token_from_those_before(load):
    model = load("gpt language")
    lane = lane_of(model, "a cat\nsat", views=())
    ids = model.encode("a cat\nsat")
    assert [token.id for token in lane.target.tokens] == ids[1:]
    assert [lane.target.text[slice(*token.span)] for token in lane.target.tokens] == [*"a cat\nsat"]
    with torch.inference_mode():
        hidden, _ = model.model.read(torch.tensor([ids[:-1]]), model.model.begin(1))
        log_probs = model.model.project(hidden[0]).log_softmax(-1)
    assert [step.log_prob for step in lane.steps] == pytest.approx(log_probs[range(9), ids[1:]].tolist(), abs=1e-5)


def test_labels_and_tags_are_named(load):
    lane = lane_of(load("classifier"), views=())
    assert {choice.piece for choice in lane.steps[0].top} == {*"ABCD"}
    assert lane.source.tokens[0].id == BOS
    assert lane.steps[0].at is None
    tagger = load("tagger")
    lane = lane_of(tagger, views=())
    found = tagger.probabilities([TEXT])[0]
    assert len(lane.steps) == 3
    assert [math.exp(step.log_prob) for step in lane.steps] == pytest.approx(found.max(-1).tolist(), abs=1e-5)
    assert [lane.source.tokens[step.at].piece for step in lane.steps] == ["a", "t", "t"]  # the last letter of each word


def test_a_gap_is_a_step_and_a_text_without_one_has_none(load):
    lane = lane_of(load("masked"), f"a {GAP} sat {GAP}.", views=())
    assert [lane.source.tokens[step.at].piece for step in lane.steps] == [GAP, GAP]
    assert [lane.source.text[slice(*lane.source.tokens[step.at].span)] for step in lane.steps] == [GAP, GAP]
    lane = lane_of(load("masked"), views=())
    assert lane.steps == []
    assert any(GAP in note for note in lane.notes)


@pytest.mark.parametrize(
    "family", ["transformer", "rnn language", "gpt language", "rnn tagger", "classifier", "masked"]
)
def test_a_long_text_is_cut_with_a_note(load, family):
    lane = lane_of(load(family), "a cat " * 20, views=())
    side = lane.source if lane.source.tokens else lane.target
    assert len(side.tokens) <= 32
    assert any("tokens" in note or "parts" in note for note in lane.notes)


def test_a_language_model_of_a_long_context_is_shown_on_256_tokens(load):
    lane = lane_of(load("gpt language", "task.window=300"), "a cat " * 60, views=())
    assert len(lane.target.tokens) == 256
    assert "the first 256 are shown" in lane.notes[0]


def test_a_text_that_is_translated_in_parts_shows_the_first(load):
    model = load("transformer")
    lane = lane_of(model, "a cat sat on a mat. the dog ran and ran.", views=())
    assert lane.source.text == "a cat sat on a mat."
    assert lane.answers == [model.translate("a cat sat on a mat.")]
    assert any("2 parts" in note for note in lane.notes)
    whole = lane_of(model, "a cat sat on a mat. the dog ran and ran.", target="le " * 30, views=())
    assert whole.source.text[slice(*whole.source.tokens[29].span)] == "a"  # one pass: the first 30 tokens
    assert len(whole.source.tokens) == len(whole.target.tokens) == 31
    assert len(whole.notes) == 2


def test_lanes_stand_beside_each_other_and_a_view_that_one_lacks_is_a_note(load):
    document = load("rnn").explain(TEXT, beside=[load("transformer"), load("fixed")], views=["attention", "self"])
    assert [lane.family for lane in document.lanes] == ["rnn", "transformer", "rnn"]
    assert [lane.views() for lane in document.lanes] == [["attention"], ["attention", "self"], []]
    assert (
        "model.kind = rnn has no such view; models of kind transformer and gpt have it" in document.lanes[0].notes[-1]
    )
    assert [note for note in document.lanes[2].notes if note.startswith("attention: it has no attention")]
    document = load("classifier").explain("a", beside=[load("tagger")])
    assert [note for note in document.lanes[0].notes if note.startswith("self: ")]
    assert not [note for note in load("classifier").explain("a").lanes[0].notes if note.startswith("self: ")]


def test_what_cannot_be_explained_is_refused(load):
    for family, options, wrong in [
        ("rnn", {"text": "  "}, "the text is empty"),
        ("rnn", {"views": ["atention"]}, "Did you mean 'attention'"),
        ("rnn", {"views": ["self"]}, "models of kind transformer and gpt have it"),
        ("fixed", {"views": ["attention"]}, "no attention"),
        ("tagger", {"views": ["attention"]}, "models trained for translate, "),
        ("tagger", {"target": "A"}, "--target is for models that write"),
        ("gpt language", {"reference": "A"}, "--reference is for models that write"),
    ]:
        with pytest.raises(UsageError, match=wrong.replace("(", r"\(")):
            load(family).explain(**{"text": TEXT, **options})


def test_an_ensemble_is_refused(load):
    from seqloom.decode.ensemble import Ensemble
    from seqloom.runtime.translator import Translator

    one = load("rnn")
    both = Translator(Ensemble([one.model, load("rnn", seed=4).model]), one.tokenizers, one.config)
    with pytest.raises(UsageError, match="explain each of its models"):
        both.explain(TEXT)


def test_a_token_of_several_bytes_covers_its_character(load):
    model = load("transformer")
    lane = lane_of(model, "ä中", target="中x", views=())  # neither is in the vocabulary: bytes
    assert [token.span for token in lane.source.tokens] == [(0, 1)] * 2 + [(1, 2)] * 3 + [None]
    assert [token.span for token in lane.target.tokens][:4] == [(0, 1)] * 3 + [(1, 2)]


def test_bytes_that_a_model_chose_itself_cover_their_character(load):
    tokenizer = load("transformer").tokenizers.target
    ids = tokenizer.encode("é中x")
    assert written_spans(tokenizer, ids, "é中x") == [(0, 1)] * 2 + [(1, 2)] * 3 + [(2, 3)]
    assert written_spans(tokenizer, tokenizer.encode(" ab "), "ab") == [None, (0, 1), (1, 2), None]  # stripped
    assert written_spans(tokenizer, [ids[-1], UNK], "x") == [None, None]


def test_arrays_are_numpy_arrays(load):
    values = lane_of(load("rnn"), views=["attention"]).map("decoder.attention").values
    assert isinstance(values, np.ndarray)


def test_a_prefix_and_edits_change_the_answer_and_the_views_follow(load):
    from seqloom.inside.edits import head_off, set_attention, set_gate

    model = load("rnn")
    plain = lane_of(model, views=["attention"])
    other = next(choice.id for choice in plain.steps[0].top if choice.id > 4 and choice.id != plain.target.tokens[0].id)
    forced = lane_of(model, views=["beam"], prefix=[other])
    assert forced.target.tokens[0].id == other
    assert [node.token.id for node in forced.beam.nodes if node.best] == [token.id for token in forced.target.tokens]
    weights = [0.0] * (len(plain.source.tokens) - 1) + [1.0]
    edited = lane_of(model, views=["attention", "beam"], edits=[set_attention(0, weights)])
    assert edited.map("decoder.attention").values[0] == pytest.approx(weights)
    assert [node.token.id for node in edited.beam.nodes if node.best] == [token.id for token in edited.target.tokens]
    gated = lane_of(model, views=(), edits=[set_gate("decoder.0.gate.update", 0, 1.0)])
    assert gated.steps[0].log_prob != pytest.approx(plain.steps[0].log_prob)
    assert lane_of(model, views=["attention"]) == plain  # the model itself is as before
    heads = load("transformer")
    without = lane_of(heads, target="le chat", views=(), edits=[head_off("decoder.cross.0", 1)])
    assert [step.log_prob for step in without.steps] != [
        step.log_prob for step in lane_of(heads, target="le chat", views=()).steps
    ]


def test_what_cannot_be_edited_is_a_sentence(load):
    from seqloom.inside.edits import head_off, set_attention

    with pytest.raises(UsageError, match="this model has no such part"):
        lane_of(load("rnn"), views=(), edits=[head_off("decoder.cross.0", 1)])
    with pytest.raises(UsageError, match=r"decoder.cross.0, head 7: want 0 to 1"):
        lane_of(load("transformer"), views=(), edits=[head_off("decoder.cross.0", 7)])
    with pytest.raises(UsageError, match=r"decoder.attention, head 0: it has no heads"):
        lane_of(load("rnn"), views=(), edits=[head_off("decoder.attention", 0)])
    with pytest.raises(UsageError, match="2 attention weights for 10 source tokens"):
        lane_of(load("rnn"), views=(), edits=[set_attention(0, [1, 1])])
    with pytest.raises(UsageError, match="999 is not the id of a word"):
        lane_of(load("rnn"), views=(), prefix=[999])
    with pytest.raises(UsageError, match="--edits is for models that write a text"):
        lane_of(load("tagger"), views=(), edits=[head_off("encoder.self.0", 1)])


def test_wrong_things_are_sentences_and_views_may_have_commas(load):
    model = load("rnn")
    for wrong in (5, ["a", "b"]):
        with pytest.raises(UsageError, match="explain takes one text, got"):
            model.explain(wrong)
    with pytest.raises(UsageError, match="top = -1: want at least 1"):
        model.explain("a", top=-1)
    assert lane_of(model, views="attention,beam").views() == ["attention", "beam"]
