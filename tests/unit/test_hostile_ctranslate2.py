"""A CTranslate2 model file from a stranger: every tensor is checked before the library reads one."""

import shutil
import struct
from pathlib import Path

import pytest

from seqloom.formats.check_engine import EngineOptions
from seqloom.formats.export_ctranslate2 import make_ctranslate2_engine
from seqloom.runtime.ctranslate2_check import check_files
from seqloom.runtime.folder import RunFolder, open_run
from tests.unit.engine_folders import add_engine, engine_refused


@pytest.fixture(scope="module")
def translators(tmp_path_factory) -> dict[str, RunFolder]:
    """Folders of Transformers with engines, by the settings that change which tensors an engine has."""
    from tests.unit.test_engine_ctranslate2 import SHAPES, make_run  # the shapes that CTranslate2 runs

    found = {}
    for shape in [*SHAPES, ("model.ffn_size=0",)]:
        run = open_run(make_run(tmp_path_factory.mktemp("shape") / "run", *shape))
        make_ctranslate2_engine(run, EngineOptions(), print)
        found["-".join(shape)] = run
    return found


def test_every_engine_that_seqloom_makes_passes(translators):
    for run in translators.values():
        check_files(run.path / "engine", run.config, run.tokenizers)


@pytest.fixture
def plain(translators, tmp_path) -> RunFolder:
    run = next(iter(translators.values()))
    return open_run(Path(shutil.copytree(run.path, tmp_path / "run")))


def change(run: RunFolder, name: bytes, skip: int, value: bytes) -> None:
    """Overwrite bytes of model.bin after the name of a tensor."""
    file = run.path / "engine" / "model.bin"
    content = bytearray(file.read_bytes())
    place = content.index(struct.pack("<H", len(name) + 1) + name + b"\0") + 2 + len(name) + 1 + skip
    content[place : place + len(value)] = value
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "skip", "value", "said"),
    [
        (b"encoder/layer_0/ffn/linear_0/weight", 1, struct.pack("<I", 2**31), "not as many bytes"),
        (b"encoder/layer_0/ffn/linear_0/weight", 1, struct.pack("<II", 16, 24), "want .24, 16."),
        (b"encoder/layer_0/ffn/linear_0/weight", 0, b"\xff", "cut short|not as many bytes"),
        (b"encoder/layer_0/ffn/linear_0/weight", 9, b"\x09", "not as many bytes"),
        (b"encoder/layer_0/ffn/linear_0/weight", 10, b"\xff\xff\xff\xff", "not as many bytes"),
        (b"encoder/num_heads", 6, b"\0\0", "num_heads' = 0"),
        (b"decoder/num_heads", 6, b"\xff\xff", "num_heads' = -1"),
        (b"decoder/alignment_layer", 6, b"\x09\0", "alignment_layer' = 9"),
        (b"encoder/pre_norm", 6, b"\x07", "pre_norm' = 7"),
        (b"TransformerSpec", 4, b"\xff\xff\xff\xff", "TransformerSpec of 6"),
    ],
)
def test_numbers_in_a_model_file_that_its_settings_do_not_give(plain, name, skip, value, said):
    change(plain, name, skip, value)
    with pytest.raises(ValueError, match=said):
        check_files(plain.path / "engine", plain.config, plain.tokenizers)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"encoder/layer_1/", b"encoder/layer_7/", "no such tensor"),
        (b"decoder/projection/weight\0", b"decoder/projectiom/weight\0", "stands for"),
        (b"TransformerSpec", b"WhisperSpec\0\0\0\0", "WhisperSpec"),
    ],
)
def test_names_in_a_model_file_that_it_must_not_have(plain, old, new, said):
    file = plain.path / "engine" / "model.bin"
    file.write_bytes(file.read_bytes().replace(old, new))
    with pytest.raises(ValueError, match=said):
        check_files(plain.path / "engine", plain.config, plain.tokenizers)


@pytest.mark.parametrize("length", [0, 3, 40, 1000, -1])
def test_a_model_file_cut_short_or_with_more(plain, length):
    file = plain.path / "engine" / "model.bin"
    content = file.read_bytes()
    file.write_bytes(content[:length] if length >= 0 else content + b"x")
    with pytest.raises(ValueError, match=r"cut short|bytes after its end|not as many bytes"):
        check_files(plain.path / "engine", plain.config, plain.tokenizers)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("shared_vocabulary.json", '["a", "b"]', "other tokens"),
        ("shared_vocabulary.json", "[" * 100_000, "nested too deeply"),
        ("source_vocabulary.json", "{}", "other tokens"),
        ("config.json", "[]", "no JSON object"),
        ("config.json", "[" * 100_000, "nested too deeply"),
    ],
)
def test_other_files_of_a_ctranslate2_folder(plain, file, content, said):
    (plain.path / "engine" / file).write_text(content, "utf-8")
    with pytest.raises(ValueError, match=said):
        check_files(plain.path / "engine", plain.config, plain.tokenizers)


def test_a_bad_model_file_is_one_sentence_and_torch_answers(plain):
    change(plain, b"encoder/num_heads", 6, b"\0\0")  # CTranslate2 would divide by it
    files = {file.name: file.read_bytes() for file in (plain.path / "engine").iterdir() if file.name != "manifest.json"}
    add_engine(plain.path, "ctranslate2", files)
    assert "not an engine of this model: model.bin" in engine_refused(plain.path, "ctranslate2")
