"""A model in a page (seqloom/explain/live, run by node) writes what torch writes: ids, scores, attention, what-ifs."""

import json
import random
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
import torch
from torch.nn import functional as F

from seqloom.config import dump_config, load_config
from seqloom.decode.search import search
from seqloom.errors import UsageError
from seqloom.explain.document import Explained
from seqloom.formats.live_weights import pack_json
from seqloom.inside.edits import set_gate
from seqloom.inside.lanes import explain
from seqloom.inside.what_if import EditedModel
from seqloom.models.build import build_model
from seqloom.models.traced_attention import read_attention
from seqloom.models.weights import save_weights
from seqloom.nn.trace import Trace
from seqloom.runtime.answering import load_answering
from seqloom.runtime.folder import load_model, open_run
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.text.vocabulary import BOS, EOS, PAD

pytest.importorskip("onnxscript", reason="the extra `onnx` is not installed")
live = pytest.importorskip("seqloom.formats.live_model")
NODE = shutil.which("node")
SCRIPTS = Path(__file__).parents[2] / "seqloom" / "explain" / "live"
ASK = """
import { readFileSync } from "node:fs";
const [scripts, document, asked] = process.argv.slice(2);
const { LiveModel } = await import(`${scripts}/model.js`);
const { laneOf } = await import(`${scripts}/lane.js`);
const model = await LiveModel.load(JSON.parse(readFileSync(document, "utf-8")));
const known = { model: "run", task: "translate", family: "any", provenance: {} };
const path = { basis: "", explained: [], fitted_on: 1, points: [] };
const paths = [["encoder", "source"], ["decoder", "target"]].map(([name, axis]) => ({ ...path, name, axis }));
const before = { ...known, maps: [], heads: null, paths, lens: [] };
const lanes = JSON.parse(readFileSync(asked, "utf-8")).map((what) => laneOf(model, what, before));
console.log(JSON.stringify({ kind: "explain", version: 2, lanes }));
"""
SMALL = "model.width=48 model.heads=4 model.ffn_size=64 model.layers=1 data.max_tokens=30 text.tokenizer=char"
QUICK = {
    "GRU, additive attention": "model.kind=rnn model.cell=gru model.attention=additive model.bidirectional=true",
}
SLOW = {
    "LSTM, fixed vector": "model.kind=rnn model.cell=lstm model.attention=none model.bidirectional=false",
    "Luong": "model.kind=rnn model.cell=lstm model.attention=bilinear model.decoder=luong model.bidirectional=true",
    "Transformer": "model.kind=transformer model.norm=pre model.layers=2 model.decoder_layers=3",
    "rotary Transformer": "model.kind=transformer model.norm=post model.positions=rotary model.activation=gelu",
    "fused GRU": "model.kind=rnn model.cell=gru_fused model.attention=dot model.decoder=luong model.layers=2",
    "Gaussian": "model.kind=rnn model.cell=rnn_relu model.attention=gaussian model.init_range=0.2",
    "plain": "model.kind=rnn model.cell=rnn model.attention=scaled_dot model.maxout=48 model.bidirectional=false",
    "GPT": "model.kind=gpt model.positions=rotary model.activation=silu",
    "learned positions": "model.kind=transformer model.positions=learned model.embed_norm=true model.tied=false",
}


@dataclass(frozen=True)
class Case:
    """A model that has learned to reverse words, and its document for a page."""

    folder: Path
    document: Path

    @property
    def model(self):
        return load_model(open_run(self.folder))

    def source(self, text):
        return torch.tensor([[*open_run(self.folder).tokenizers.source.encode(text), EOS]])

    def ask(self, asked):
        """The lanes that the page computes, one per what-if."""
        script, questions = self.folder.parent / "ask.mjs", self.folder.parent / "asked.json"
        script.write_text(ASK, "utf-8")
        questions.write_text(json.dumps(asked), "utf-8")
        words = [NODE, str(script), str(SCRIPTS), str(self.document), str(questions)]
        done = subprocess.run(words, capture_output=True, encoding="utf-8", timeout=120)
        assert done.returncode == 0, done.stderr
        return Explained.from_json(done.stdout).lanes


def some_words(number, seed):
    draw = random.Random(seed)
    return ["".join(draw.choices("abcdefgh", k=draw.randint(1, 7))) for _ in range(number)]


def padded(rows):
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)


def learn_to_reverse(model, tokenizer, steps):
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    for step in range(steps):
        words = some_words(32, step)
        source = padded([[*tokenizer.encode(word), EOS] for word in words])
        target = padded([[BOS, *tokenizer.encode(word[::-1]), EOS] for word in words])
        before, after = target[:, :-1], target[:, 1:]
        real = after != PAD
        hidden = model.hidden(before, model.encode(source, source != PAD))
        loss = F.cross_entropy(model.project(hidden[real]), after[real], reduction="sum")
        optimizer.zero_grad()
        (loss / real.sum()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def make_case(folder, settings, bits=16, steps=150):
    config = load_config(overrides=[*SMALL.split(), *settings.split()])
    tokenizer = learn_tokenizer("char", ["abcdefgh"], 300)
    torch.manual_seed(3)
    model = build_model(config, len(tokenizer), len(tokenizer), True)
    learn_to_reverse(model, tokenizer, steps)
    run = folder / "run"
    run.mkdir()
    (run / "config.toml").write_text(dump_config(config), "utf-8")
    (run / "run.json").write_text('{"format": 1, "finished": true}', "utf-8")
    Tokenizers(tokenizer, tokenizer).save(run)
    save_weights(model, run / "model.safetensors")
    jaxtyping.config.update("jaxtyping_disable", True)  # while a graph is traced lengths are symbols
    try:
        made = live.live_model(open_run(run), bits, axes_of(run))
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
    (folder / "live.json").write_text(json.dumps(made, allow_nan=False), "utf-8")
    return Case(run, folder / "live.json")


def explained(run, text, **options):
    """The states as `explain` has them, on axes that were fitted on other words."""
    model = load_answering([run], 1)
    return explain([model], text, views=["states"], sentences=some_words(20, -9), **options).lanes[0]


def axes_of(run):
    bases = {}
    return {path.name: bases[path.basis] for path in explained(run, "abc", bases=bases).paths}


@pytest.fixture(
    scope="module",
    params=[*QUICK.items(), *(pytest.param(item, marks=pytest.mark.slow) for item in SLOW.items())],
    ids=lambda item: item[0],
)
def case(request, tmp_path_factory):
    if NODE is None:
        pytest.skip("node is not installed")
    return make_case(tmp_path_factory.mktemp("live"), request.param[1])


def found_by_torch(case, words, **options):
    model = case.model
    with torch.inference_mode():
        memories = [model.encode(src, src != PAD) for src in map(case.source, words)]
        return [search(model, memory, **options)[0] for memory in memories]


def log_prob(lane):
    return sum(step.log_prob for step in lane.steps)


def written(lane):
    return [token.id for token in lane.target.tokens]


def test_greedy_search_writes_the_same_ids(case):
    words = some_words(50, -1)
    expected = [best[0] for best in found_by_torch(case, words, beam=1)]
    lanes = case.ask([{"text": word, "beam": 1} for word in words])
    assert [written(lane) for lane in lanes] == [[*one.ids, EOS] for one in expected]
    assert [log_prob(lane) for lane in lanes] == pytest.approx([one.log_prob for one in expected], abs=0.02)
    assert len({lane.answers[0] for lane in lanes}) > 30, "the model has learned nothing: this shows little"


def test_beam_search_finds_the_same_hypotheses(case):
    words = some_words(12, -2)
    expected = found_by_torch(case, words, beam=4, n_best=4, length_penalty=1.0)
    for lane, ranked in zip(case.ask([{"text": word, "beam": 4} for word in words]), expected, strict=True):
        assert lane.score == pytest.approx(ranked[0].score, abs=0.01)
        assert written(lane) == [*ranked[0].ids, EOS]
        finished = sorted((node.score for node in lane.beam.nodes if node.fate == "finished"), reverse=True)
        assert finished[:4] == pytest.approx([one.score for one in ranked], abs=0.03)
        best = [node for node in lane.beam.nodes if node.best]
        assert [node.token.id for node in best] == written(lane) and best[-1].fate == "finished"
        parents = {node.id: node for node in lane.beam.nodes}
        for node in lane.beam.nodes:
            before = parents[node.parent].log_prob if node.parent >= 0 else 0.0
            assert node.log_prob == pytest.approx(before + node.token.log_prob, abs=1e-5)
        kept = [sum(node.step == 2 and node.fate == fate for node in lane.beam.nodes) for fate in ("kept", "finished")]
        assert kept[0] <= 4 and sum(node.step == 2 for node in lane.beam.nodes) == 8


@pytest.mark.parametrize(
    "rules",
    [
        {"length_penalty": 0.0, "min_length": 9, "no_repeat_ngram": 0, "coverage_penalty": 0.0},
        {"length_penalty": 0.6, "min_length": 4, "no_repeat_ngram": 2, "coverage_penalty": 0.4},
    ],
)
def test_the_models_own_search_settings_hold(case, tmp_path, rules):
    model = open_run(case.folder).config.model
    if model.kind == "rnn" and model.attention == "none":
        rules = rules | {"coverage_penalty": 0.0}
    rules = rules | {"beam": 3}
    (tmp_path / "live.json").write_text(
        json.dumps(json.loads(case.document.read_text("utf-8")) | {"search": rules}), "utf-8"
    )
    words = ["aabb", "abab", *some_words(8, -7)]
    expected = [best[0] for best in found_by_torch(case, words, **rules)]
    lanes = replace(case, document=tmp_path / "live.json").ask([{"text": word} for word in words])
    # a coverage penalty is a logarithm of attention that may be near 0, where 16 bits are coarse: 2 % of the score
    assert [lane.score for lane in lanes] == pytest.approx([one.score for one in expected], abs=0.05, rel=0.02)
    assert sum(written(lane)[: len(one.ids)] == [*one.ids] for lane, one in zip(lanes, expected, strict=True)) >= 9


def test_a_prefix_is_written_and_scored(case):
    words = some_words(5, -3)
    prefix = open_run(case.folder).tokenizers.target.encode("hg")
    expected = found_by_torch(case, words, beam=1, prefixes=[prefix])
    asked = [{"text": word, "beam": 1, "prefix": prefix} for word in words]
    for lane, (one,) in zip(case.ask(asked), expected, strict=True):
        assert written(lane)[:2] == prefix
        assert log_prob(lane) == pytest.approx(one.log_prob, abs=0.05)
    (ended,) = case.ask([{"text": "abc", "prefix": [*prefix, EOS]}])
    assert (ended.answers, written(ended)) == (["hg"], [*prefix, EOS])


def test_steps_and_maps_are_the_models(case):
    """Log-probabilities, ranks, attention of every layer and head, gates of encoder and decoder."""
    model = case.model
    words = some_words(4, -4)
    for word, lane in zip(words, case.ask([{"text": word, "beam": 1} for word in words]), strict=True):
        trace, source, read = Trace(), case.source(word), torch.tensor([[BOS, *written(lane)[:-1]]])
        with torch.inference_mode():
            memory = model.encode(source, source != PAD, trace)
            log_probs = model.project(model.hidden(read, memory, trace))[0].log_softmax(-1)
        for step, expected, token in zip(lane.steps, log_probs, written(lane), strict=True):
            assert step.log_prob == pytest.approx(float(expected[token]), abs=0.02) and step.rank == 1
            assert step.entropy == pytest.approx(float(-(expected.exp() * expected).sum()), abs=0.02)
            assert [choice.id for choice in step.top[:1]] == [token] and len(step.top) == 5
        pooled = read_attention(trace)
        recorded = {name: torch.cat(trace[name], -2)[0].numpy() for name in trace.names()}
        if not any(".gate." in name for name in recorded):  # a plain cell has no view of gates
            recorded = {name: values for name, values in recorded.items() if ".state." not in name}
        if pooled is not None:
            recorded["decoder.attention"] = pooled[0].numpy()
        assert {each.name for each in lane.maps} == set(recorded)
        for each in lane.maps:
            size = max(1, np.abs(recorded[each.name]).max())  # a cell of an LSTM may be large
            np.testing.assert_allclose(each.values, recorded[each.name], atol=6e-3 * size, err_msg=each.name)


def test_states_follow_the_text(case):
    """The points of another text on the axes of the page are those of `explain` for that text."""
    words = some_words(3, -10)
    for word, lane in zip(words, case.ask([{"text": word, "beam": 1} for word in words]), strict=True):
        target = open_run(case.folder).tokenizers.target.decode(written(lane)[:-1])
        expected = explained(case.folder, word, target=target).paths
        assert [path.name for path in lane.paths] == [path.name for path in expected] == ["encoder", "decoder"]
        for path, torchs in zip(lane.paths, expected, strict=True):
            size = np.abs(torchs.points).max()
            np.testing.assert_allclose(path.points, torchs.points, atol=0.01 * size, err_msg=path.name)
    (without,) = replace(case, document=without_axes(case)).ask([{"text": "abc"}])
    assert not without.paths and any(
        note.startswith("states: this page shows it for the orig") for note in without.notes
    )


def without_axes(case):
    document = json.loads(case.document.read_text("utf-8")) | {"bases": pack_json({})}
    file = case.document.with_name("without_axes.json")
    file.write_text(json.dumps(document), "utf-8")
    return file


def test_a_head_that_is_switched_off_adds_nothing(case):
    """As if its rows of the output projection were 0."""
    if open_run(case.folder).config.model.kind != "transformer":
        pytest.skip("no heads")
    places = [("encoder.self.0", "encoder", "attention"), ("decoder.self.0", "decoder", "attention")]
    places += [("decoder.cross.0", "decoder", "cross")]
    words = some_words(4, -5)
    plain = [log_prob(lane) for lane in case.ask([{"text": word, "beam": 1} for word in words])]
    for name, part, attention in places:
        model = case.model
        layer = getattr(getattr(model, part)[0], attention)
        width = layer.W_o.in_features // layer.heads
        with torch.no_grad():
            layer.W_o.weight[:, 2 * width : 3 * width] = 0
        with torch.inference_mode():
            memories = [model.encode(src, src != PAD) for src in map(case.source, words)]
            expected = [search(model, memory, beam=1)[0][0].log_prob for memory in memories]
        found = [log_prob(lane) for lane in case.ask([{"text": w, "beam": 1, "off": [[name, 2]]} for w in words])]
        assert found == pytest.approx(expected, abs=0.05) and found != pytest.approx(plain, abs=1e-3)


def test_attention_can_be_set(case):
    config = open_run(case.folder).config.model
    if config.kind == "rnn" and config.attention == "none":
        pytest.skip("no attention")
    change = {"map": "decoder.attention", "head": None, "step": 1, "weights": [1.0, 0.0, 0.0, 0.0]}
    plain, moved = case.ask([{"text": "abc", "beam": 1}, {"text": "abc", "beam": 1, "attention": [change]}])
    assert moved.map("decoder.attention").values[1] == pytest.approx([1, 0, 0, 0])
    assert moved.steps[0] == plain.steps[0]
    assert moved.steps[1].top != plain.steps[1].top
    if config.kind == "transformer":
        change |= {"map": "decoder.cross.0", "head": 1}
        one = case.ask([{"text": "abc", "beam": 1, "attention": [change]}])[0].map("decoder.cross.0").values[:, 1]
        assert one[1] == pytest.approx([1, 0, 0, 0]) and one[0] != pytest.approx([1, 0, 0, 0], abs=1e-3)


def test_gates_can_be_held(case):
    """An update gate of 1 keeps the state of a GRU: whatever it reads, the state after is the state before."""
    config = open_run(case.folder).config.model
    if config.kind != "rnn" or "gru" not in config.cell:
        pytest.skip("no update gate")
    gates = {f"decoder.{layer}.gate.update": 1.0 for layer in range(config.layers)}
    plain, held = case.ask([{"text": "abc", "beam": 1}, {"text": "abc", "beam": 1, "gates": gates}])
    assert held.map("decoder.0.gate.update").values.min() == 1.0
    if config.decoder != "luong":  # its state has no part but the cells': attention never moves either
        assert np.ptp(held.map("decoder.attention").values, axis=0).max() == pytest.approx(0, abs=1e-6)
    assert log_prob(held) != pytest.approx(log_prob(plain), abs=1e-3)


def test_gates_of_the_encoder_are_set_as_torch_sets_them(case):
    """At one source token, and at every token; each direction for itself."""
    model, words = case.model, some_words(3, -8)
    gates = [each.name for each in case.ask([{"text": "abc"}])[0].maps if each.name.startswith("encoder.")]
    gates = [name for name in gates if ".gate." in name and "candidate" not in name]
    if not gates:
        pytest.skip("the encoder has no gates")
    for name in gates:
        for position in (1, None):
            key = name if position is None else f"{name}@{position}"
            lanes = case.ask([{"text": word, "beam": 1, "gates": {key: 0.9}} for word in words])
            for word, lane in zip(words, lanes, strict=True):
                trace, source = Trace(), case.source(word)
                edited = EditedModel(model, [set_gate(name, position, 0.9)])
                read = torch.tensor([[BOS, *written(lane)[:-1]]])
                with torch.inference_mode():
                    memory = edited.encode(source, source != PAD, trace)
                    log_probs = edited.project(edited.hidden(read, memory))[0].log_softmax(-1)
                expected = log_probs[range(len(written(lane))), written(lane)]
                assert [step.log_prob for step in lane.steps] == pytest.approx(expected.tolist(), abs=0.03)
                np.testing.assert_allclose(lane.map(name).values, trace[name][0][0].numpy(), atol=6e-3)


def test_nothing_in_nothing_out_and_too_much_is_cut(case):
    empty, blank, long = case.ask([{"text": ""}, {"text": " \n"}, {"text": "ab" * 40}])
    assert empty.answers == blank.answers == [""] and empty.steps == []
    assert long.notes == ["The source has 80 tokens; the model takes 30, the rest was cut off."]


@pytest.mark.slow
def test_8_bits_are_close(tmp_path):
    if NODE is None:
        pytest.skip("node is not installed")
    case = make_case(tmp_path, QUICK["GRU, additive attention"], bits=8)
    words = some_words(30, -6)
    expected = [[*best[0].ids, EOS] for best in found_by_torch(case, words, beam=1)]
    lanes = case.ask([{"text": word, "beam": 1} for word in words])
    assert sum(written(lane) == ids for lane, ids in zip(lanes, expected, strict=True)) >= 27


def test_models_without_a_search_and_missing_packages_are_named(case, monkeypatch):
    run = open_run(case.folder)
    reader = replace(run, config=replace(run.config, task=replace(run.config.task, name="classify")))
    with pytest.raises(UsageError, match=r"was trained for 'classify': it writes no text\. Leave out --live\."):
        live.check_live(reader)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"--live needs onnx, onnxscript: pip install 'seqloom\[onnx\]'"):
        live.check_live(run)


def test_a_model_that_is_too_large_is_refused(case, monkeypatch):
    monkeypatch.setattr(live, "MOST_PARAMETERS", 1000)
    with pytest.raises(UsageError, match=r"at most 1,000 parameters; this model has [\d,]+\. Leave out --live"):
        live.live_model(open_run(case.folder))
