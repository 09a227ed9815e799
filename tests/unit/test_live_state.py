"""The parts of a live page that need no model, run by node: what-ifs as data, links, weights; rules for its scripts."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from seqloom.errors import ModelError
from seqloom.explain.page import IMPORT, check_operators, page
from seqloom.formats.live_weights import pack, pack_json
from tests import explain_documents as documents

NODE = shutil.which("node")
SCRIPTS = Path(__file__).parents[2] / "seqloom" / "explain" / "live"
MODULES = {file.name: file.read_text("utf-8") for file in SCRIPTS.glob("*.js")}
PARSES = re.compile(
    r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|DOMParser|document\.write|eval|Function|fetch|import\()"
)


def run(tmp_path, body):
    """What a script prints, as JSON; `state` and `weights` are the modules."""
    if NODE is None:
        pytest.skip("node is not installed")
    imports = f'import * as state from "{SCRIPTS}/state.js";\nimport * as weights from "{SCRIPTS}/weights.js";\n'
    (tmp_path / "script.mjs").write_text(imports + body, "utf-8")
    done = subprocess.run([NODE, str(tmp_path / "script.mjs")], capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_words_are_deleted_and_replaced(tmp_path):
    found = run(
        tmp_path,
        """const text = " the  small cat.";
        console.log(JSON.stringify([state.wordsOf(text), state.withoutWord(text, 0), state.withoutWord(text, 2),
          state.replaceWord(text, 1, "old grey"), state.wordsOf(""), state.withoutWord("one", 0)]));""",
    )
    words = [" the", "  small", " cat."]
    assert found == [words, "small cat.", "the  small", "the  old grey cat.", [], ""]


def test_what_ifs_are_added_and_undone(tmp_path):
    found = run(
        tmp_path,
        """const first = state.original("a b", 2), history = new state.History(first);
        const add = (next) => { history.add(next); return history.now; };
        add(state.force(history.now, 1, [5, 6, 7], 1, 9));
        add(state.switchHead(history.now, 0, "decoder.cross.0", 2, false));
        add(state.switchHead(history.now, 0, "decoder.cross.0", 2, false));
        add(state.holdGate(history.now, 1, "decoder.0.gate.update", 1));
        const all = history.now, steps = history.states.length;
        const other = state.withText(all, "c");
        history.undo();
        const undone = history.now;
        for (let i = 0; i < 9; i++) history.undo();
        console.log(JSON.stringify({ first, all, steps, other, undone, left: history.now,
          on: state.switchHead(all, 0, "decoder.cross.0", 2, true).models[0].off,
          free: state.holdGate(all, 1, "decoder.0.gate.update", null).models[1].gates }));""",
    )
    nothing = {"prefix": [], "off": [], "attention": [], "gates": {}}
    assert found["first"] == found["left"] == {"text": "a b", "models": [nothing, nothing]}
    assert found["all"]["models"] == [
        nothing | {"off": [["decoder.cross.0", 2]]},
        nothing | {"prefix": [5, 9], "gates": {"decoder.0.gate.update": 1}},
    ]
    assert found["steps"] == 4, "the same state twice is one step"
    assert found["undone"]["models"][1]["gates"] == {} and found["on"] == [] and found["free"] == {}
    assert found["other"]["text"] == "c" and found["other"]["models"][1]["prefix"] == []  # belongs to the old text
    assert found["other"]["models"][0]["off"] == [["decoder.cross.0", 2]]


def test_a_dragged_row_still_sums_to_1(tmp_path):
    found = run(
        tmp_path,
        """const drag = (row, wanted) => state.setWeight(state.original("a", 1), 0,
          { map: "decoder.attention", head: null, step: 3, column: 1, wanted, row }).models[0].attention;
        console.log(JSON.stringify([drag([0.2, 0.2, 0.6], 0.6), drag([0, 1, 0], 0.5),
          drag([0.5, 0.5], 7), drag([0.5, 0.5], -1)]));""",
    )
    assert [one["weights"] for (one,) in found] == [[0.1, 0.6, 0.3], [0.25, 0.5, 0.25], [0, 1], [1, 0]]
    assert found[0][0] | {"weights": []} == {"map": "decoder.attention", "head": None, "step": 3, "weights": []}


def test_a_link_restores_the_state_and_a_strangers_link_is_checked(tmp_path):
    found = run(
        tmp_path,
        """const it = state.force(state.original("æ <b> & 日本", 1), 0, [4], 1, 8);
        const link = (value) => "#what=" + encodeURIComponent(JSON.stringify(value));
        const model = it.models[0];
        const bad = [{}, null, 3, { ...it, text: 5 }, { ...it, models: [] },
          { ...it, models: [{ ...model, prefix: ["x"] }] },
          { ...it, models: [{ ...model, gates: { a: "b" } }] }, { ...it, models: [{ ...model, off: [[1, 2]] }] },
          { ...it, models: [{ ...model, attention: [{ map: "m", head: null, step: 0, weights: [null] }] }] }].map(link);
        console.log(JSON.stringify({ same: JSON.stringify(state.fromHash(state.toHash(it), 1)) === JSON.stringify(it),
          bad: [...bad, "#what=%", "#what={", "#view-beam", ""].map((hash) => state.fromHash(hash, 1)) }));""",
    )
    assert found["same"] and found["bad"] == [None] * 13


@pytest.mark.parametrize("bits", [16, 8])
def test_weights_come_back(tmp_path, bits):
    draw = np.random.default_rng(1)
    arrays = [draw.normal(size=shape).astype(np.float32) for shape in [(30, 7), (100,), (2, 9, 11), (3,)]]
    arrays[0][4] = 0  # a row without a scale
    arrays += [
        np.array([-np.inf, 2], np.float32),
        np.array([[1, -5]], np.int32),
        np.array(True),
        np.zeros((70,), np.float32),
    ]
    arrays += [np.array([6e-8, -6e-8, 65504, 0.0, -0.1] * 20, np.float32), np.array([-1e9, 0.1] * 50, np.float32)]
    (tmp_path / "packed.json").write_text(json.dumps(pack(arrays, bits), allow_nan=False), "utf-8")
    found = run(
        tmp_path,
        f"""import {{ readFileSync }} from "node:fs";
        const read = await weights.readArrays(JSON.parse(readFileSync("{tmp_path}/packed.json", "utf-8")));
        console.log(JSON.stringify(read.map(({{ shape, data }}) => ({{
          shape, data: Array.from(data, String), kind: data.constructor.name,
        }}))));""",
    )
    kinds = {"f": "Float32Array", "i": "Int32Array", "b": "Uint8Array"}
    for array, one in zip(arrays, found, strict=True):
        values = np.array([float(value) for value in one["data"]], np.float32).reshape(array.shape)
        assert one["shape"] == [*array.shape] and one["kind"] == kinds[array.dtype.kind]
        if bits == 8 and array.ndim > 1 and array.size >= 64:
            np.testing.assert_allclose(values, array, atol=float(np.abs(array).max()) / 250)
        elif array.size >= 64 and np.abs(array).max() < 7e4:
            np.testing.assert_array_equal(values, array.astype(np.float16).astype(np.float32))
        else:
            np.testing.assert_array_equal(values, array.astype(np.float32))


def test_views_of_the_original_text_are_named_and_dropped(tmp_path):
    found = run(
        tmp_path,
        f"""const {{ laneOf }} = await import("{SCRIPTS}/lane.js");
        const found = {{ source: [], hypotheses: [], nodes: [], notes: ["cut"], beam: 1 }};
        const model = {{ bases: {{}}, find: () => found }};
        const maps = ["attention", "gradients", "gradients", "positions", "gates"].map((view) => ({{ view }}));
        const known = {{ model: "x", score: 3, reference: "r" }};
        const before = {{ ...known, maps, paths: [{{ name: "encoder" }}], lens: [1], decay: [1], agreement: [1] }};
        console.log(JSON.stringify(laneOf(model, {{ text: "" }}, before)));""",
    )
    assert [note.partition(":")[0] for note in found["notes"]] == ["cut", "gradients", "states", "lens"]
    assert [found[name] for name in ("paths", "lens", "decay", "agreement", "maps")] == [[]] * 5
    assert found["model"] == "x" and found["score"] is None and found["reference"] is None


def test_json_comes_back(tmp_path):
    value = {"tokens": ["<s>", "é", "日本", "\u2028", '"'], "scores": [0.5, None]}
    assert run(tmp_path, f"console.log(JSON.stringify(await weights.readJson({pack_json(value)!r})))") == value


def test_scripts_parse_nothing_load_nothing_and_can_be_joined():
    for name, text in MODULES.items():
        assert not PARSES.search(text), name
        assert len(IMPORT.findall(text)) == len(re.findall(r"^import ", text, re.MULTILINE)), name


def test_a_page_with_a_model_has_one_more_part_and_the_same_policy():
    live = {"model": "</script><b>", "encoder": {"nodes": []}, "step": {"nodes": [["MatMul", [], [], {}]]}}
    text = page(documents.everything(), [live])
    assert "</script><b>" not in text and "unsafe" not in text and "connect-src" not in text
    assert json.loads(re.search(r'id="live">(.*?)</script>', text)[1]) == [live]
    assert 'modules["live/graph.js"]' in text and "live/graph.js" not in page(documents.everything())


def test_an_operator_that_the_page_lacks_is_named():
    live = {"model": "x", "encoder": {"nodes": [["Einsum", [], [], {}]]}, "step": {"nodes": [["Add", [], [], {}]]}}
    with pytest.raises(
        ModelError, match=r"x: its graphs have operators that the page does not know: Einsum\. Leave out"
    ):
        check_operators(live)


def test_a_gate_at_one_token_is_bounded_kept_in_a_link_and_forgotten_with_the_text(tmp_path):
    found = run(
        tmp_path,
        """let one = state.holdGate(state.original("a b", 1), 0, "decoder.0.gate.update", 0.5);
        one = state.setGate(one, 0, "decoder.0.gate.update", 3, 1.7);
        const linked = state.fromHash(state.toHash(one), 1);
        const wrong = state.fromHash(state.toHash(state.holdGate(one, 0, "x@-1", 1)), 1);
        const [all, kept] = [linked, state.withText(one, "c")].map((each) => each.models[0].gates);
        console.log(JSON.stringify([state.gatesOf(all), kept, wrong]))""",
    )
    held = {"key": "decoder.0.gate.update", "map": "decoder.0.gate.update", "position": None, "value": 0.5}
    touched = {"key": "decoder.0.gate.update@3", "map": "decoder.0.gate.update", "position": 3, "value": 1}
    assert found == [[held, touched], {"decoder.0.gate.update": 0.5}, None]
