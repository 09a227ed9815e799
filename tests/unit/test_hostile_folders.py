"""A model folder from a stranger: whatever its files hold, one sentence that names the file, at once and exit code 4.

A FIFO that is opened blocks for ever, so the tests that fail here may hang: each runs under an alarm.
"""

import json
import os
import re
import shutil
import signal
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tomli_w
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from seqloom.cli.app import main
from seqloom.config import dump_config, load_config
from seqloom.data.jsonl_reader import records_of
from seqloom.data.lines import Fault
from seqloom.data.store import Store
from seqloom.errors import DataError, ModelError, UsageError
from seqloom.files import reading
from seqloom.files.durable import hash_file
from seqloom.files.folders import linked_twin
from seqloom.files.lock import holder
from seqloom.inside.curves import read_events
from seqloom.models.build import build_model
from seqloom.models.stored_shapes import read_shapes
from seqloom.models.weights import save_weights
from seqloom.runtime.checkpoints import newest_checkpoint, open_checkpoint
from seqloom.runtime.engine_folder import origin, read_manifest
from seqloom.runtime.folder import load_model, open_run, read_golden
from seqloom.runtime.run_facts import RunFacts, write_facts
from seqloom.serve.server import greeting
from seqloom.text.learn import learn_tokenizer
from seqloom.text.sides import Tokenizers
from seqloom.training.metrics_log import cut_after
from seqloom.training.state import RunState
from seqloom.workflows.check_folder import check_golden
from seqloom.workflows.info import describe

DEEP = "[" * 100_000
JSON_FILES = ["run.json", "golden.json", "tokenizer/tokenizer.json"]
FILES = ["config.toml", "model.safetensors", *JSON_FILES]
BAD_JSON = {
    "deep": DEEP,
    "deep object": '{"a":' * 100_000,
    "digits": '{"format": ' + "9" * 5000 + "}",
    "not UTF-8": b'{"format": "\xff"}',
    "surrogate": r'{"format": 1, "version": "\ud800"}',
    "empty": "",
    "a number": "1e999",
    "null": "null",
    "null byte": "\0",
}


@pytest.fixture(autouse=True)
def alarm():
    def ring(*_):
        raise TimeoutError("took longer than 10 seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(60)  # the first test trains the model
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def folder(tiny_model, tmp_path) -> Path:
    return Path(shutil.copytree(tiny_model, tmp_path / "model"))


def use(folder: Path) -> None:
    """Everything that `info --check` reads, except the searching."""
    read_golden(folder / "golden.json")
    load_model(open_run(folder))


def put(file: Path, content: str | bytes) -> None:
    file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))


def exchange(file: Path, kind: str) -> None:
    """Put something in the place of a file that must not be read."""
    aside = file.with_name("aside")
    file.rename(aside)
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "link to itself":
        file.symlink_to(file)
    elif kind == "link out":
        outside = file.parents[1] / "outside"
        aside.rename(outside)
        file.symlink_to(outside)
    else:
        file.symlink_to(kind)


def test_the_folder_is_good(folder):
    use(folder)
    describe(folder)


@pytest.mark.parametrize("kind", ["fifo", "folder", "/dev/zero", "/dev/stdin", "link out", "link to itself"])
@pytest.mark.parametrize("name", FILES)
def test_only_regular_files_are_read(folder, name, kind):
    exchange(folder / name, kind)
    with pytest.raises(ModelError) as refused:
        use(folder)
    assert str(folder) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", FILES)
def test_a_link_inside_the_folder_is_fine(folder, name):
    (folder / name).rename(folder / name.replace(".", "-"))
    (folder / name).symlink_to((folder / name.replace(".", "-")).name)
    use(folder)


@pytest.mark.parametrize("name", ["tokenizer", "store", "store/train", "checkpoints", "engine", "checkpoints/step-9"])
def test_a_linked_folder_inside_is_refused(folder, tmp_path, name):
    outside = tmp_path / "outside"
    if (folder / name).exists():
        (folder / name).rename(outside)
    else:
        outside.mkdir()
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(outside)
    for read in (open_run, describe):
        with pytest.raises(ModelError, match="a link that leaves the model folder") as refused:
            read(folder)
        assert str(refused.value).startswith(f"{folder / name}: ")


def test_the_model_folder_itself_may_be_a_link(folder, tmp_path):
    (tmp_path / "short").symlink_to(folder)
    (folder / "tokenizer").rename(folder / "words")
    (folder / "tokenizer").symlink_to("words")
    use(tmp_path / "short")


@pytest.mark.parametrize("content", BAD_JSON.values(), ids=BAD_JSON.keys())
@pytest.mark.parametrize("name", JSON_FILES)
def test_every_fault_of_json_is_a_sentence(folder, name, content):
    put(folder / name, content)
    with pytest.raises(ModelError, match=name.partition("/")[0]):
        use(folder)


@pytest.mark.parametrize(
    "content",
    [
        "x = " + "9" * 5000,
        "x = " + "[" * 100_000,
        b"x = '\xff'",
        "x = '\\ud800'",
        "[data]\nmax_tokens = 1e999",
        "a." * 100_000 + "a = 1",
    ],
    ids=["digits", "deep", "not UTF-8", "surrogate", "infinite", "dots"],
)
def test_every_fault_of_toml_is_a_sentence(folder, content):
    put(folder / "config.toml", content)
    with pytest.raises(ModelError, match=r"config\.toml"):
        use(folder)
    with pytest.raises(UsageError, match=r"config\.toml"):  # as a recipe
        load_config(folder / "config.toml")


@pytest.mark.parametrize("name", ["config.toml", *JSON_FILES])
def test_a_huge_file_is_refused_without_reading_it(folder, name):
    with (folder / name).open("wb") as file:
        file.truncate(2**40)  # no bytes on the disk
    with pytest.raises(ModelError, match="larger than"):
        use(folder)


def test_a_small_file_that_is_large_in_memory():
    with pytest.raises(ValueError, match="more than"):
        reading.parse_json(b"[" + b"[]," * 9_000_000 + b"0]")


@pytest.mark.parametrize("name", ["/dev/zero", "../run.json", "..", "", ".hidden", "a/b", "x\0y", "a\nb"])
def test_names_in_manifests_are_plain(folder, name):
    checkpoint = sorted((folder / "checkpoints").glob("step-*"))[-1]
    manifest = json.loads((checkpoint / "manifest.json").read_text("utf-8"))
    manifest["files"][name] = {"size": 0, "sha256": ""}
    put(checkpoint / "manifest.json", json.dumps(manifest))
    with pytest.raises(ModelError, match="not the name of a file in this folder"):
        open_checkpoint(checkpoint)
    engine = {"format": 1, "engine": "onnx", "made_from": origin(open_run(folder)), "files": {name: ""}}
    (folder / "engine").mkdir()
    put(folder / "engine" / "manifest.json", json.dumps(engine))
    with pytest.raises(ModelError, match="not the name of a file in this folder"):
        read_manifest(open_run(folder))


def test_a_manifest_names_regular_files(folder):
    (folder / "engine").mkdir()
    os.mkfifo(folder / "engine" / "encoder.onnx")
    engine = {"format": 1, "engine": "onnx", "made_from": {}, "files": {"encoder.onnx": ""}}
    put(folder / "engine" / "manifest.json", json.dumps(engine))
    with pytest.raises(ModelError, match="a FIFO, not a regular file"):
        read_manifest(open_run(folder))
    checkpoint = sorted((folder / "checkpoints").glob("step-*"))[-1]
    (checkpoint / "model.safetensors").unlink()
    os.mkfifo(checkpoint / "model.safetensors")
    with pytest.raises(ModelError, match="cannot be read: a FIFO, not a regular file"):
        open_checkpoint(checkpoint)


@pytest.mark.parametrize("content", [*BAD_JSON.values(), "{}", '{"format": 1, "engine": 1}', "[]"])
def test_damaged_manifests(folder, content):
    (folder / "engine").mkdir()
    put(folder / "engine" / "manifest.json", content)
    with pytest.raises(ModelError, match=r"manifest\.json: damaged"):
        read_manifest(open_run(folder))
    steps = sorted((folder / "checkpoints").glob("step-*"))
    for checkpoint in steps:
        put(checkpoint / "manifest.json", content)
    told: list[str] = []
    assert newest_checkpoint(folder / "checkpoints", told.append) is None
    assert len(told) == len(steps)
    with pytest.raises(ModelError):
        open_checkpoint(folder / "checkpoints" / steps[0].name)
    put(folder / "store" / "manifest.json", content)
    with pytest.raises(DataError, match="not a whole token store"):
        Store.open(folder / "store")


@pytest.mark.parametrize(
    "change",
    [{"dtype": "O"}, {"dtype": "F4"}, {"dtype": 3}, {"corpora": []}, {"accounts": {"train": [1]}}, {"sizes": []}],
    ids=str,
)
def test_strange_values_in_the_manifest_of_a_store(folder, change):
    file = folder / "store" / "manifest.json"
    put(file, json.dumps(json.loads(file.read_text("utf-8")) | change))
    with pytest.raises(DataError, match="not a whole token store"):
        Store.open(folder / "store")


@pytest.mark.parametrize("missing", ["data_hash", "held_out", "corpora", "accounts", "dtype", "sizes", "origin"])
def test_a_manifest_of_a_store_without_a_field(folder, missing):
    file = folder / "store" / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    del manifest[missing]
    put(file, json.dumps(manifest))
    with pytest.raises(DataError, match=f"not a whole token store .*{missing}"):
        Store.open(folder / "store")


def test_the_columns_and_texts_of_a_store_are_regular_files(folder):
    put(folder / "store" / "valid" / "texts.jsonl", DEEP)
    manifest = folder / "store" / "manifest.json"
    put(manifest, json.dumps(json.loads(manifest.read_text("utf-8")) | {"sizes": {}}))
    with pytest.raises(DataError, match=r"texts\.jsonl"):
        _ = Store.open(folder / "store", "valid").texts
    (folder / "store" / "train" / "lines").unlink()
    os.mkfifo(folder / "store" / "train" / "lines")
    with pytest.raises(DataError, match="a FIFO"):
        Store.open(folder / "store")


@pytest.mark.parametrize("line", ['{"step": "x"}', '{"step": [1]}', '{"event": [], "step": 3}', DEEP, "\ud800", "3"])
def test_strange_lines_of_a_log_are_left_out(tmp_path, line):
    put(tmp_path / "metrics.jsonl", f'{line}\n{{"event": "train", "step": 3}}\n')
    assert {"event": "train", "step": 3} in read_events(tmp_path)
    assert cut_after(tmp_path / "metrics.jsonl", 3) == [{"event": "train", "step": 3}]


def test_a_log_that_is_a_fifo(tmp_path):
    os.mkfifo(tmp_path / "metrics.jsonl")
    for read in (lambda: read_events(tmp_path), lambda: cut_after(tmp_path / "metrics.jsonl", 3)):
        with pytest.raises(ModelError, match="a FIFO"):
            read()


@pytest.mark.parametrize(
    "change", [{"step": "x"}, {"step": -1}, {"batch": 1.5}, {"samples": 3}, {"valid_losses": []}], ids=str
)
def test_the_state_of_a_checkpoint_is_checked(change):
    saved = json.loads(json.dumps(RunState(step=3, valid_losses={3: 1.0}).to_json()))
    assert RunState.from_json(saved).valid_losses == {3: 1.0}
    with pytest.raises(ModelError, match="state"):
        RunState.from_json(saved | change)


def test_a_note_in_a_lock_may_be_anything(tmp_path):
    for content in BAD_JSON.values():
        put(tmp_path / "lock", content)
        assert holder(tmp_path / "lock") == "unknown pid"


def test_lines_of_data_that_are_nested_too_deeply():
    (_, fault), (_, after) = records_of([DEEP, "[1, 2]"])
    assert isinstance(fault, Fault)
    assert fault.kind == "bad JSON"
    assert after == [1, 2]


@pytest.mark.parametrize("content", [DEEP, '{"a":' * 100_000, DEEP + "]" * 100_000])
def test_files_of_data_that_are_nested_too_deeply(tmp_path, content, capsys):
    put(tmp_path / "pairs.jsonl", content + "\n")
    assert main(["doctor", str(tmp_path / "pairs.jsonl")]) == 3
    assert "Traceback" not in capsys.readouterr().err


def test_a_file_name_that_is_not_utf8(tmp_path, seqloom):
    name = os.fsdecode(os.fsencode(tmp_path) + b"/f\xff.tsv")
    Path(name).write_text("a\tb\n", "utf-8")
    done = seqloom("doctor", name)
    assert r"f\xff.tsv" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_started_run_without_its_settings(folder, tiny_pairs, capsys):
    (folder / "config.toml").unlink()
    assert main(["train", str(tiny_pairs), "--out", str(folder)]) == 4
    assert "no config.toml" in capsys.readouterr().err


def test_a_twin_of_a_folder_can_be_opened(folder):
    with linked_twin(folder, without=("engine", "checkpoints")) as twin:
        use(twin)


def set_values(folder: Path, **values: object) -> None:
    """Change settings of config.toml: `data__max_tokens=3`."""
    table = tomllib.loads((folder / "config.toml").read_text("utf-8"))
    for name, value in values.items():
        section, _, key = name.partition("__")
        table[section][key] = value
    (folder / "config.toml").write_text(tomli_w.dumps(table), "utf-8")


@pytest.fixture(scope="module")
def transformer(tiny_pairs, tmp_path_factory) -> Path:
    """A folder with a random Transformer."""
    config = load_config(overrides=["model.width=16", "model.layers=1", "model.heads=2"])
    out = tmp_path_factory.mktemp("transformer")
    tokenizer = learn_tokenizer("char", ["abc"], 300)
    Tokenizers(tokenizer, tokenizer).save(out)
    (out / "config.toml").write_text(dump_config(config), "utf-8")
    write_facts(out, RunFacts(finished=True))
    save_weights(build_model(config, len(tokenizer), len(tokenizer), True), out / "model.safetensors")
    return out


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary", "none"])
@pytest.mark.parametrize("size", [{"data__max_tokens": 900_000}, {"model__max_length": 10**6 * 2}])
def test_positions_are_bounded_by_the_weights_before_they_are_computed(transformer, tmp_path, kind, size):
    folder = Path(shutil.copytree(transformer, tmp_path / "model"))
    set_values(folder, model__positions=kind)
    load_model(open_run(folder))
    set_values(folder, train__batch_tokens=10**9, **size)
    with pytest.raises(ModelError, match=next(iter(size)).replace("__", r"\.")):
        open_run(folder)


@pytest.mark.parametrize("size", [4_000_000, 10**7, 10**15, 10**30, -1])
def test_sizes_beyond_reason_are_refused_at_once(transformer, tmp_path, size):
    folder = Path(shutil.copytree(transformer, tmp_path / "model"))
    for name in ("data__max_tokens", "model__max_length", "model__width", "model__heads", "model__layers"):
        shutil.copy(transformer / "config.toml", folder)
        text = (folder / "config.toml").read_text("utf-8")
        key = name.partition("__")[2]
        put(folder / "config.toml", re.sub(rf"(?m)^{key} = \d+$", f"{key} = {size}", text))
        with pytest.raises(ModelError, match=rf"{key}"):
            open_run(folder)


def test_learned_positions_and_long_texts_are_arithmetic():
    with pytest.raises(
        UsageError, match=r"may need 2000052 positions, but model.max_length = 60: set data.max_tokens to 4 or"
    ):
        load_config(
            overrides=[
                "model.positions=learned",
                "model.max_length=60",
                "data.max_tokens=1000000",
                "train.batch_tokens=9999999",
            ]
        )
    with pytest.raises(UsageError, match=r"model\.max_length = 10: raise model.max_length"):
        load_config(overrides=["model.positions=learned", "model.max_length=10"])


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.bool_])
def test_weights_are_floating_point_numbers(folder, kind):
    weights = {name: array.astype(kind) for name, array in load_file(folder / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors")
    for read in (use, describe):
        with pytest.raises(ModelError, match=r"model\.safetensors: .* floating-point"):
            read(folder)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_weights_are_finite(folder, number):
    weights = load_file(folder / "model.safetensors")
    weights[max(weights)].flat[-1] = number
    save_file(weights, folder / "model.safetensors")
    write_facts(folder, replace(open_run(folder).facts, weights_sha256=hash_file(folder / "model.safetensors")))
    with pytest.raises(ModelError, match="not finite"):
        use(folder)


def test_golden_sentences_must_exist(folder):
    for content in ("[]", '[{"source": " ", "target": ""}]'):
        put(folder / "golden.json", content)
        with pytest.raises(ModelError, match=r"golden\.json: has no sentences"):
            check_golden(folder)


def test_info_opens_the_tokenizer_it_vouches_for(folder):
    shutil.rmtree(folder / "tokenizer")
    with pytest.raises(ModelError, match="tokenizer"):
        describe(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"params": -1}, {"step": 10**400}, {"kept": 1.5}, {"usual_tokens": -3}, {"limits": []}, {"limits": {"a": "x"}},
        {"valid_scores": {"bleu": None}}, {"source_lang": "en\x1b[2J"}, {"source_lang": "a\nb"}, {"finished": 1},
    ],
    ids=lambda change: str(change)[:30],
)  # fmt: skip
def test_strange_facts(folder, change):
    put(folder / "run.json", json.dumps(json.loads((folder / "run.json").read_text("utf-8")) | change))
    for read in (use, describe):
        with pytest.raises(ModelError, match=rf"run\.json: damaged: {next(iter(change))}"):
            read(folder)


def test_settings_have_no_control_characters(folder):
    set_values(folder, data__source_lang="en;touch x;\x1b[2J")
    with pytest.raises(ModelError, match=r"data\.source_lang = 'en;touch x;\\x1b"):
        open_run(folder)


def test_a_message_shows_control_characters(capsys):
    assert main(["info", "no\x1b[2Jfolder"]) == 4
    assert r"no\x1b[2Jfolder" in capsys.readouterr().err


def test_the_commands_to_paste_are_quoted():
    service = SimpleNamespace(
        models={("en;touch x", 'd"e'): SimpleNamespace(source="en;touch x", target='d"e', name="m", beside=())},
        named={}, key=None, name_of=str,
    )  # fmt: skip
    said = greeting(service, "http://localhost")
    assert """-d 'source=en;touch x' -d 'target=d"e'""" in said
    assert r'"en;touch x", "d\"e"' in said


def tensor(*shape: int, at: tuple[int, int] = (0, 4), dtype: str = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": [*shape], "data_offsets": [*at]}


@pytest.mark.parametrize(
    "header",
    [
        b"", b"[]", b"7", DEEP.encode(), b'{"a": 7}', {"a": {}}, {"a": tensor(2)}, {"a": tensor(-1)},
        {"a": tensor(True)},
        {"a": tensor(1, dtype="F4")}, {"a": tensor(1, at=(4, 8))}, {"a": tensor(1), "b": tensor(1)},
        {"a": tensor(*[2**62] * 100_000)}, {"a": tensor(1, at=(0, 4, 4))}, {"a": tensor(0, at=(0, 0))},
        {"a": tensor(1), "b": tensor(1, at=(4, 8))},
    ],
    ids=lambda header: str(header)[:40],
)  # fmt: skip
def test_a_header_of_weights_that_does_not_fit_the_file(tmp_path, header):
    file = tmp_path / "model.safetensors"
    content = header if isinstance(header, bytes) else json.dumps(header).encode()
    file.write_bytes(len(content).to_bytes(8, "little") + content + b"1234")
    with pytest.raises(ModelError, match="damaged or cut short"):
        read_shapes(file)
    file.write_bytes((2**60).to_bytes(8, "little") + content)
    with pytest.raises(ModelError, match="damaged or cut short"):
        read_shapes(file)


def test_the_header_says_what_the_library_says(folder):
    with safe_open(folder / "model.safetensors", framework="np") as stored:
        wanted = {name: tuple(stored.get_slice(name).get_shape()) for name in stored.keys()}  # noqa: SIM118
    assert read_shapes(folder / "model.safetensors") == wanted
