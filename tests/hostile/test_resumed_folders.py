"""A run whose files a disk or a stranger damaged, with hashes that fit or not: training goes on or says why."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from seqloom.cli.app import main
from tests.fuzz.folder import rehash
from tests.hostile.bounds import end_of

SETTINGS = (
    "model.kind=rnn model.cell=gru model.layers=1 model.width=8 text.tokenizer=char train.valid_every=2 "
    "train.save_every=2 train.keep=2 train.warmup=2 train.average=1 train.batch_tokens=256 train.threads=1 "
    "data.valid_pairs=5"
)
FILES = (
    "config.toml", "run.json", "model.safetensors", "metrics.jsonl", "golden.json", "tokenizer/tokenizer.json",
    "checkpoints/*/manifest.json", "checkpoints/*/state.json", "checkpoints/*/model.safetensors",
    "checkpoints/*/optimizer.safetensors",
    "store/manifest.json", "store/train/source.ids", "store/train/source.starts", "store/train/lines",
    "store/valid/source.ids", "store/valid/lines",
)  # fmt: skip


def flip(content: bytearray, draw: random.Random) -> bytes:
    for _ in range(3):
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return bytes(content)


def numbers(content: bytearray, draw: random.Random) -> bytes:
    """Another digit for every tenth: other counts, offsets and hashes."""
    return bytes(ord(draw.choice("0123456789")) if chr(byte).isdigit() and not draw.randrange(10) else byte
                 for byte in content)  # fmt: skip


DAMAGES: dict[str, Callable[[bytearray, random.Random], bytes]] = {
    "cut": lambda content, draw: bytes(content[: draw.randrange(len(content))]),
    "flipped": flip,
    "other digits": numbers,
    "empty": lambda content, draw: b"",
    "zeros": lambda content, draw: bytes(len(content)),
    "doubled": lambda content, draw: bytes(content * 2),
}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    file.write_text("".join(f"a{number}\tb{number}\n" for number in range(60)), "utf-8")
    return file


@pytest.fixture(scope="module")
def stopped(pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four updates that two more are asked of."""
    folder = tmp_path_factory.mktemp("stopped") / "run"
    assert main(words(pairs, folder, 4)) == 0
    return folder


def words(pairs: Path, folder: Path, steps: int) -> list[str]:
    settings = [*SETTINGS.split(), f"train.max_steps={steps}"]
    return [
        "train",
        str(pairs),
        "--out",
        str(folder),
        *(word for one in settings for word in ("--set", one)),
    ]


def cases() -> list[object]:
    return [
        pytest.param(name, damage, fits, id=f"{name}-{damage}{'-hashes fit' * fits}",
                     marks=() if damage == "cut" and not fits else pytest.mark.slow)
        for name in FILES for damage in DAMAGES for fits in (False, True)
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "damage", "fits"), cases())
def test_training_goes_on_or_says_why(
    name: str, damage: str, fits: bool, pairs: Path, stopped: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(stopped, tmp_path / "run"))
    for file in sorted(folder.glob(name))[-1:]:
        content = DAMAGES[damage](bytearray(file.read_bytes()), random.Random(f"{name} {damage}"))
        file.unlink()
        file.write_bytes(content)
    if fits:
        rehash(folder)
    end_of(words(pairs, folder, 6), capfd, [0, 2, 3, 4])
    assert not list(folder.glob("*.part"))


def test_every_file_is_there(stopped: Path) -> None:
    assert all(list(stopped.glob(name)) for name in FILES)
