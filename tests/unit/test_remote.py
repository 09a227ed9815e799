"""Data at an address: fetched once, whole or not at all, and read like a file."""

import sys

import pytest

from seqloom.cli.app import main
from seqloom.data.remote import fetch, fetch_all, has_address
from seqloom.errors import UsageError

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()


def put(memory, name, text):
    with memory.open(name, "wb") as file:
        file.write(text.encode())
    return f"memory://{name.removeprefix('/')}"


def test_names_with_and_without_addresses(memory, tmp_path):
    assert not has_address("a.en,a.fr")
    assert not has_address("C:/a.tsv")
    assert fetch_all("a.en,a.fr", tmp_path / "into") == "a.en,a.fr"
    assert not (tmp_path / "into").exists()
    one, two = put(memory, "/data/train.en", "a\n"), put(memory, "/data/train.fr", "b\n")
    source, target = fetch_all(f"{one}, {two}", tmp_path / "into").split(",")
    assert source.endswith("/train.en"), "the languages are taken from the name"
    assert target.endswith("/train.fr")
    weighted = fetch_all(f"{put(memory, '/data/more.tsv', 'a	b')}:0.5", tmp_path / "into")
    assert weighted.endswith("/more.tsv:0.5")


def test_a_file_is_fetched_once(memory, tmp_path):
    address = put(memory, "/a.tsv", "a\tb\n")
    file = fetch(address, tmp_path)
    assert file.read_bytes() == b"a\tb\n"
    put(memory, "/a.tsv", "other")
    assert fetch(address, tmp_path).read_bytes() == b"a\tb\n"


def test_addresses_that_cannot_be_read(memory, tmp_path, monkeypatch):
    cases = {
        "memory://nothing.tsv": "there is no such file",
        "nowhere://x/a.tsv": "cannot be read: ValueError: Protocol not known",
        "memory://folder/": None,
        "memory://": "want that of a file",
    }
    for address, message in cases.items():
        with pytest.raises(UsageError, match=message):
            fetch(address, tmp_path / "into")
    assert not [entry for entry in (tmp_path / "into").rglob("*") if entry.is_file()], "nothing is left"
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(UsageError, match=r"pip install 'seqloom\[remote\]'"):
        fetch("memory://a.tsv", tmp_path / "into")


def test_training_from_addresses(memory, tiny_pairs, tiny_settings, tmp_path, capsys):
    address, run = put(memory, "/pairs.tsv", tiny_pairs.read_text("utf-8")), tmp_path / "run"
    words = ["train", address, "--valid", f"file://{tiny_pairs}", "--out", str(run), *tiny_settings]
    assert main(words) == 0, capsys.readouterr().err
    assert (run / "model.safetensors").is_file()
    memory.store.clear()
    assert main(words) == 0, "a run keeps what it fetched"
    assert "nothing to do" in capsys.readouterr().err
