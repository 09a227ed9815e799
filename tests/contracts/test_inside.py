"""Looking inside every model of the registry: gradients, attributions and search trees against independent numbers."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from seqloom.decode.options import SearchRequest
from seqloom.decode.search import search
from seqloom.errors import UsageError
from seqloom.inside.attribution import compare_with_attention, kendall, uniform_attention
from seqloom.inside.beam_tree import beam_tree
from seqloom.inside.edits import head_off, set_attention, set_gate
from seqloom.inside.flow import decay, distances, flow
from seqloom.inside.input_gradients import Question, input_gradients
from seqloom.inside.input_gradients import log_probs as scores_at
from seqloom.inside.integrated_gradients import GAP, gauss, integrate
from seqloom.inside.what_if import EditedModel
from seqloom.models.gpt import GPT
from seqloom.models.traced_attention import read_attention
from seqloom.nn.trace import Trace
from seqloom.text.vocabulary import BOS, EOS

SOURCE, TARGET = [5, 7, 4, EOS], [6, 4, 8]


@pytest.fixture
def question(model):
    return Question(model, SOURCE, [BOS, *TARGET], [*enumerate([*TARGET, EOS])])


def log_probs(question, change=None):
    """log p of every answer; `change` = (table, call, token, vector) moves one embedding of one call."""
    model, calls = question.model, []

    def move(table, ids, output):
        calls.append(table)
        if change is not None and len(calls) == change[0] + 1:
            output = output.clone()
            output[0, change[1]] += change[2]
        return output

    hooks = [
        table.register_forward_hook(move)
        for table in {model.target_table, getattr(model, "source_table", model.target_table)}
    ]
    with torch.no_grad():
        source = torch.tensor([question.source])
        memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
        found = model.project(model.hidden(torch.tensor([question.prefix]), memory))[0].log_softmax(-1)
    for hook in hooks:
        hook.remove()
    return found[torch.arange(len(question.answers)), [token for _, token in question.answers]]


def test_gradients_equal_finite_differences(question):
    (found,) = input_gradients(question)
    assert torch.allclose(found.log_prob, log_probs(question))
    direction = torch.randn(found.source.shape[-1], generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    for call, (gradient, token) in enumerate(((found.source, 1), (found.prefix, 2))):
        step = 1e-6
        there = log_probs(question, (call, token, step * direction))
        back = log_probs(question, (call, token, -step * direction))
        assert torch.allclose(gradient[:, token] @ direction, (there - back) / (2 * step), atol=1e-6, rtol=1e-4)


def test_what_is_read_later_has_no_gradient(question):
    (found,) = input_gradients(question)
    later = torch.ones(4, 4, dtype=torch.bool).triu(1)
    assert (found.prefix.norm(dim=-1)[later] == 0).all()
    assert (found.source.norm(dim=-1) > 0).any()


def test_a_pass_that_reads_only_up_to_its_last_prediction_finds_the_same(question):
    (all_at_once,) = input_gradients(question)
    for number, answer in enumerate(question.answers):
        (alone,) = input_gradients(replace(question, answers=[answer]))
        for part in ("log_prob", "source", "prefix"):
            assert torch.allclose(getattr(alone, part)[0], getattr(all_at_once, part)[number], atol=1e-12), part


def test_scores_without_gradients_are_the_same(question):
    scales = (0.0, 0.3, 1.0)
    found = scores_at(question, torch.tensor(scales))
    wanted = torch.stack([one.log_prob for one in input_gradients(question, scales)])
    assert torch.allclose(found, wanted)


def test_integrated_gradients_sum_to_the_change_of_the_score(question):
    found = integrate(question)
    with_words, without = input_gradients(question, (1.0, 0.0))
    assert torch.allclose(with_words.log_prob, log_probs(question))
    change = with_words.log_prob - without.log_prob
    gaps = (found.source.sum(1) + found.prefix.sum(1) - change).abs()
    assert found.gaps == pytest.approx(gaps.tolist())
    assert found.complete
    assert (gaps <= GAP * change.abs().clamp_min(1)).all(), found.points


def test_the_points_of_a_piece_integrate_polynomials_exactly():
    nodes, weights = map(np.array, gauss(4))
    for power in range(8):
        assert weights @ nodes**power == pytest.approx(1 / (power + 1), abs=1e-12)
    assert weights @ nodes**8 != pytest.approx(1 / 9, abs=1e-12)


def test_flow_is_the_norm_of_the_gradient(question):
    maps, decays = flow(question)
    (found,) = input_gradients(question)
    assert [one.name for one in maps] == ["flow.source", "flow.prefix"]
    assert maps[0].axes == ["target", "source"]
    assert np.allclose(maps[0].values, found.source.norm(dim=-1), rtol=1e-5)
    assert [one.map for one in decays] == ["flow.source", "flow.prefix"]


def test_uniform_attention_is_uniform_and_only_inside(question):
    source = torch.tensor([SOURCE])

    def attention():
        trace = Trace()
        with torch.no_grad():
            memory = question.model.encode(source, torch.ones_like(source, dtype=torch.bool))
            question.model.hidden(torch.tensor([question.prefix]), memory, trace)
        return read_attention(trace)

    before = attention()
    with uniform_attention(question.model) as is_uniform:
        if is_uniform:
            assert torch.allclose(attention(), torch.tensor(0.25, dtype=torch.float64))
    if before is None:
        assert not is_uniform
    else:
        assert torch.equal(attention(), before)
        (agreement, *_) = compare_with_attention(question, before[0].numpy(), flow(question)[0])
        assert (agreement.control is not None) == is_uniform


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 3}, {"beam": 3, "n_best": 3, "length_penalty": 0.0}])
def test_the_tree_is_that_of_the_search(model, options):
    source = torch.tensor([SOURCE])
    memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
    request = SearchRequest(**options, max_length=6).filled()
    (wanted,) = search(model, memory, request)
    tree, found = beam_tree(model, SOURCE, request, str, reference=[9, 9])
    assert [one.ids for one in found] == [one.ids for one in wanted]
    ends = {path_of(tree, node): node for node in tree.nodes if node.fate == "finished"}
    for one in wanted:
        node = ends[one.ids + ((EOS,) if one.ended else ())]
        assert node.log_prob == pytest.approx(one.log_prob)
        assert node.score == pytest.approx(one.score)
    best = [node.token.id for node in tree.nodes if node.best]
    assert tuple(best) == wanted[0].ids + ((EOS,) if wanted[0].ended else ())
    for step in range(1, 1 + max(node.step for node in tree.nodes)):
        kept = [node for node in tree.nodes if node.step == step and node.fate in ("kept", "unfinished")]
        assert len(kept) <= request.beam
    assert tree.verdict.startswith(("model error", "search error"))


def path_of(tree, node):
    return (*(path_of(tree, tree.nodes[node.parent]) if node.parent >= 0 else ()), node.token.id)


def test_the_answer_as_a_reference_is_found_at_every_step(model):
    request = SearchRequest(beam=3, max_length=6).filled()
    _, found = beam_tree(model, SOURCE, request, str)
    if found[0].ended:
        tree, _ = beam_tree(model, SOURCE, request, str, reference=[*found[0].ids])
        assert tree.verdict.startswith("found")
        assert all(step.in_beam for step in tree.reference)
        for number, step in enumerate(tree.reference, 1):  # outputs that ended there may have more, and leave the beam
            ended = sum(node.step == number and node.fate == "finished" for node in tree.nodes)
            assert step.rank <= 3 + ended


def test_a_language_model_and_its_own_text(language_model):
    text = [BOS, 5, 6, 7]
    question = Question(language_model, [], text[:-1], [*enumerate(text[1:])])
    maps, decays = flow(question)
    assert [one.name for one in maps] == ["flow.prefix"]
    hidden, _ = language_model.read(torch.tensor([text[:-1]]), language_model.begin(1))
    wanted = language_model.project(hidden)[0].log_softmax(-1)[range(3), text[1:]]
    assert torch.allclose(input_gradients(question)[0].log_prob, wanted)
    assert decays[0].distance == [0, 1, 2]


def test_distance_counts_what_is_read_between():
    question = Question(None, [4, 5, EOS], [BOS, 6], [(0, 6), (1, EOS)])
    assert distances(question, "source", False).tolist() == [[3, 2, 1], [4, 3, 2]]
    assert distances(question, "source", True).tolist() == [[1, 2, 3], [2, 3, 4]]
    assert distances(question, "prefix", False).tolist() == [[0, -1], [1, 0]]


def test_decay_is_a_line_on_a_log_scale():
    away = np.arange(5)[:, None] - np.arange(5)
    norms = np.where(away >= 0, 10.0 ** (-0.5 * away), 0.0).astype(np.float32)
    found = decay("flow.prefix", norms, away, True)
    assert found.distance == [0, 1, 2, 3, 4]
    assert found.norm == pytest.approx([10 ** (-0.5 * d) for d in range(5)])
    assert found.slope == pytest.approx(-0.5)


@pytest.mark.parametrize(
    ("a", "b", "tau"),
    [
        ([1, 2, 3], [1, 2, 3], 1),
        ([1, 2, 3], [3, 2, 1], -1),
        ([1, 2, 3], [1, 3, 2], 1 / 3),
        ([1, 1, 1], [1, 2, 3], None),
    ],
)
def test_kendall_by_hand(a, b, tau):
    assert kendall(np.array(a), np.array(b)) == (None if tau is None else pytest.approx(tau))


def test_kendall_equals_scipy():
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(1)
    for _ in range(20):
        a, b = rng.integers(0, 6, 9), rng.random(9)
        assert kendall(a, b) == pytest.approx(stats.kendalltau(a, b).statistic)


def test_weights_of_single_precision_stay_so(build_like):
    model = build_like().float()
    found = integrate(Question(model, SOURCE, [BOS, *TARGET], [*enumerate([*TARGET, EOS])]))
    assert found.source.dtype == torch.float32
    assert np.isfinite(found.gaps).all()


def run(model, trace=None):
    source = torch.tensor([SOURCE])
    with torch.no_grad():
        memory = model.encode(source, torch.ones_like(source, dtype=torch.bool), trace)
        state, hidden = model.start(memory), []
        for token in [BOS, *TARGET]:
            found, state = model.step(torch.tensor([[token]]), state, memory, trace)
            hidden.append(found)
    return model.project(torch.cat(hidden, 1))


def test_without_edits_nothing_changes(model):
    assert torch.allclose(run(EditedModel(model, [])), run(model))


def test_a_gate_is_what_it_was_set_to_and_changes_only_what_comes_later(model):
    trace = Trace()
    plain = run(model, trace)
    for name in (name for name in trace.names() if ".gate." in name):
        edited = EditedModel(model, [set_gate(name, 2, 0.25)])
        seen = Trace()
        changed = run(edited, seen)
        edited.check()
        assert torch.allclose(torch.cat(seen[name], 1)[0, 2], torch.tensor(0.25, dtype=torch.float64))
        before, after = torch.cat(trace[name], 1)[0], torch.cat(seen[name], 1)[0]
        untouched = slice(3, None) if "backward" in name else slice(0, 2)
        assert torch.allclose(before[untouched], after[untouched])
        if name.startswith("decoder"):
            assert torch.allclose(changed[:, :2], plain[:, :2])
        assert not torch.allclose(changed, plain)


def test_attention_is_what_it_was_set_to(model):
    before = Trace()
    run(model, before)
    if read_attention(before) is None:
        return
    seen = Trace()
    run(EditedModel(model, [set_attention(1, [0, 2, 0, 6])]), seen)
    found = read_attention(seen)[0]
    assert torch.allclose(found[1], torch.tensor([0, 0.25, 0, 0.75], dtype=torch.float64))
    assert torch.allclose(found[0], read_attention(before)[0, 0])


def test_a_head_that_is_off_looks_nowhere_and_adds_nothing(model):
    trace = Trace()
    plain = run(model, trace)
    for name in (name for name in trace.names() if ".self." in name or ".cross." in name):
        edited, seen = EditedModel(model, [head_off(name, 1)]), Trace()
        # What the last layer of a GPT makes of the prompt reaches no prediction: only its keys and values do.
        reaches = not (isinstance(model, GPT) and name == f"encoder.self.{len(model.decoder) - 1}")
        assert torch.allclose(run(edited, seen), plain) != reaches
        assert all((tensor[:, 1] == 0).all() and (tensor[:, 0] != 0).any() for tensor in seen[name])


def test_an_edit_of_a_part_that_is_not_there_is_a_sentence(model):
    edited = EditedModel(model, [head_off("decoder.cros.0", 0)])
    run(edited)
    with pytest.raises(UsageError, match=r"decoder.cros.0: this model has no such part"):
        edited.check()
    for wrong in (lambda: set_attention(0, [0, 0]), lambda: set_attention(0, [-1, 2]), lambda: set_gate("x", 0, 2)):
        with pytest.raises(UsageError):
            wrong()
