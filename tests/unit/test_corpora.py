"""Public corpora: downloads that break, lie or bring wrong bytes; hostile archives; what becomes of each form."""

import gzip
import hashlib
import io
import tarfile
import threading
import zipfile
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from seqloom.corpora import convert
from seqloom.corpora.catalogue import CORPORA, Corpus, find_corpus, multi30k, splits
from seqloom.corpora.fetch import fetch
from seqloom.corpora.unpack import lines_of, unpack
from seqloom.demo import numbers
from seqloom.errors import DataError, UsageError
from seqloom.workflows.data import check_folder, get, get_corpus, list_corpora

CONTENT = bytes(range(256)) * 800
MARK = '"v1"'


@contextmanager
def server(answer):
    """answer(handler, number of the request) writes one response."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(dict(self.headers))
            answer(self, len(asked))

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/corpus.bin", asked
        running.shutdown()


def send(handler, body, status=200, length=None, mark=MARK, start=0, total=None):
    handler.send_response(status)
    if mark:
        handler.send_header("ETag", mark)
    if length != "none":
        handler.send_header("Content-Length", str(len(body) if length is None else length))
    if status == 206:
        handler.send_header("Content-Range", f"bytes {start}-{start + len(body) - 1}/{total}")
    handler.end_headers()
    handler.wfile.write(body)


def honest(handler, number):
    """Serves ranges, and breaks off in the middle of the first two answers."""
    start = int(handler.headers.get("Range", "bytes=0-")[6:-1])
    rest = CONTENT[start:]
    part = rest[:70_000] if number <= 2 else rest
    send(handler, part, 206 if start else 200, len(rest), start=start, total=len(CONTENT))


def test_a_broken_download_continues(tmp_path):
    with server(honest) as (url, asked):
        found = fetch(url, tmp_path / "x", pause=0)
        assert fetch(url, tmp_path / "x", pause=0) == found and len(asked) == 3, "what is there is not fetched again"
    assert (tmp_path / "x").read_bytes() == CONTENT and found == hashlib.sha256(CONTENT).hexdigest()
    assert asked[1]["Range"] == "bytes=70000-" and asked[1]["If-Range"] == MARK
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_file_that_changed_meanwhile_begins_again(tmp_path):
    def answer(handler, number):
        send(handler, CONTENT if number > 1 else b"old" * 1000, length=len(CONTENT), mark=f'"v{number}"')

    with server(answer) as (url, _):
        fetch(url, tmp_path / "x", pause=0)
    assert (tmp_path / "x").read_bytes() == CONTENT


@pytest.mark.parametrize("mark", [None, 'W/"weak"'])
def test_without_a_mark_a_broken_download_begins_again(tmp_path, mark):
    with server(
        lambda handler, number: send(handler, CONTENT[: 9 if number == 1 else None], length=len(CONTENT), mark=mark)
    ) as (
        url,
        asked,
    ):
        fetch(url, tmp_path / "x", pause=0)
    assert (tmp_path / "x").read_bytes() == CONTENT and all("Range" not in headers for headers in asked)


def test_a_server_that_never_finishes_is_left_and_the_part_stays(tmp_path):
    with (
        server(lambda handler, number: send(handler, b"abc", length=10, mark=None)) as (url, asked),
        pytest.raises(UsageError, match="the same command continues"),
    ):
        fetch(url, tmp_path / "x", pause=0)
    assert len(asked) == 5 and not (tmp_path / "x").exists()


@pytest.mark.parametrize("length", [None, "none", 1 << 40])
def test_what_is_too_large_is_refused(tmp_path, length):
    with (
        server(lambda handler, number: send(handler, CONTENT, length=length)) as (url, _),
        pytest.raises(DataError, match="larger than 1,000 bytes"),
    ):
        fetch(url, tmp_path / "x", most=1000, pause=0)


def test_wrong_bytes_are_deleted(tmp_path):
    with (
        server(lambda handler, number: send(handler, b"<html>please log in</html>")) as (url, _),
        pytest.raises(DataError, match="wrong content"),
    ):
        fetch(url, tmp_path / "x", sha256="0" * 64, pause=0)
    assert not (tmp_path / "x").exists()


def test_refusals_and_a_missing_network_are_one_sentence(tmp_path):
    with (
        server(lambda handler, number: send(handler, b"", 404)) as (url, asked),
        pytest.raises(UsageError, match="404"),
    ):
        fetch(url, tmp_path / "x", pause=0)
        assert len(asked) == 1
    for gone in (url, "http://no-such-host.invalid/x"):
        with pytest.raises(UsageError, match=r"cannot reach .*data get dates"):
            fetch(gone, tmp_path / "x", pause=0)


def pack_zip(path, entries):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in entries:
            archive.writestr(entry, content)


def test_archives_give_only_what_is_asked_for(tmp_path):
    pack_zip(tmp_path / "a.zip", [("../evil", "x"), ("fra.txt", "a\tb\n"), ("/abs", "y")])
    found = unpack(tmp_path / "a.zip", ["fra.txt"], tmp_path)
    assert [*lines_of(found["fra.txt"])] == ["a\tb"]
    assert not (tmp_path.parent / "evil").exists()
    with pytest.raises(DataError, match="no file other"):
        unpack(tmp_path / "a.zip", ["other"], tmp_path)


def test_bombs_links_and_damage_are_refused(tmp_path):
    pack_zip(tmp_path / "bomb.zip", [("a", b"\0" * 3_000_000)])
    link = zipfile.ZipInfo("a")
    link.external_attr = 0o120777 << 16
    pack_zip(tmp_path / "link.zip", [(link, "/etc/passwd")])
    for name, kind in (("symbolic", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE), ("device", tarfile.CHRTYPE)):
        with tarfile.open(tmp_path / f"{name}.tgz", "w:gz") as tape:
            member = tarfile.TarInfo("a")
            member.type, member.linkname = kind, "/etc/passwd"
            tape.addfile(member)
        with pytest.raises(DataError, match="link or a device"):
            unpack(tmp_path / f"{name}.tgz", ["a"], tmp_path)
    with tarfile.open(tmp_path / "bomb.tgz", "w:gz") as tape:
        member = tarfile.TarInfo("a")
        member.size = 3_000_000
        tape.addfile(member, io.BytesIO(b"\0" * 3_000_000))
    for name in ("bomb.zip", "bomb.tgz"):
        with pytest.raises(DataError, match="unpacks to more"):
            unpack(tmp_path / name, ["a"], tmp_path, most=1_000_000)
    with pytest.raises(DataError, match="link or a device"):
        unpack(tmp_path / "link.zip", ["a"], tmp_path)
    for name in ("x.zip", "x.tgz", "x.gz"):
        (tmp_path / name).write_bytes(b"<html>not an archive</html>")
    (tmp_path / "y.gz").write_bytes(gzip.compress(b"\0" * 3_000_000))
    for name in ("x.zip", "x.tgz"):
        with pytest.raises(DataError, match="damaged"):
            unpack(tmp_path / name, ["a"], tmp_path)
    with pytest.raises(DataError, match="damaged"):
        [*lines_of(tmp_path / "x.gz")]
    with pytest.raises(DataError, match="unpacks to more"):
        [*lines_of(tmp_path / "y.gz", most=1_000_000)]


def test_each_form_becomes_pairs():
    assert [*convert.two_columns(["Go.\tVa !\tCC-BY", "alone"])] == [("Go.", "Va !")]
    assert [*convert.pronunciations([";;; c", "read R EH D", "read(2) R IY D # verb"])] == [
        ("read", "R EH D"),
        ("read", "R IY D"),
    ]
    assert [*convert.commands(["IN: jump twice OUT: I_JUMP I_JUMP"])] == [("jump twice", "I_JUMP I_JUMP")]
    conllu = ["# text", "1-2\tdu\t_\t_", "1\tde\tde\tADP", "2\tle\tle\tDET", "2.1\tx\tx\tX", "", "1\tA\ta\tNOUN"]
    assert [*convert.tagged_words(conllu)] == [("de le", "ADP DET"), ("A", "NOUN")]
    assert [*convert.cleaned(iter([(" a\tb ", "c\n"), ("", "x")]))] == [("a b", "c")]
    with pytest.raises(DataError, match="line 2"):
        [*convert.side_by_side(["a", "b"], ["c"])]


def test_a_corpus_is_fetched_and_written(tmp_path):
    page = gzip.compress(b"one\ntwo\n")
    with server(lambda handler, number: send(handler, page)) as (url, asked):
        urls = [url.replace("corpus.bin", f"{number}.gz") for number in range(6)]
        corpus = Corpus("multi30k", "captions", "free", "", "", lambda _: urls, multi30k)
        written = get_corpus(corpus, tmp_path / "out", say=lambda text: None)
    assert [path.name for path in written] == ["train.tsv", "dev.tsv", "test.tsv"] and len(asked) == 6
    assert written[0].read_text() == "one\tone\ntwo\ttwo\n"
    assert "Licence: free" in (tmp_path / "out" / "ORIGIN.txt").read_text()
    assert not (tmp_path / "out" / "download").exists()
    with pytest.raises(UsageError, match="not empty"):
        check_folder(tmp_path / "out")


def test_after_a_failure_the_download_stays_for_the_next_call(tmp_path):
    with server(lambda handler, number: send(handler, b"x", 200 if number == 1 else 404)) as (url, _):
        corpus = Corpus("a", "b", "free", "", "", lambda _: [url, url + "2"], splits(convert.two_columns, "a", "b"))
        with pytest.raises(UsageError, match="404"):
            get_corpus(corpus, tmp_path / "out", say=lambda text: None)
    check_folder(tmp_path / "out")
    assert [path.name for path in (tmp_path / "out" / "download").iterdir()] == ["0-corpus.bin"]


def test_names_are_checked_and_every_example_is_a_corpus():
    for corpus in CORPORA:
        found = find_corpus(corpus.example)
        assert found.name == corpus.name and all(url.startswith("https://") for url in found.urls(found.choice))
    for wrong in ("tatoeba", "tatoeba-french", "scan-x", "cmudict-2", "multi30k-en-../x", "imagenet"):
        with pytest.raises(UsageError):
            find_corpus(wrong)
    assert len([*list_corpora()]) == len(CORPORA) + 2


def test_without_agreement_nothing_is_fetched(tmp_path):
    with pytest.raises(UsageError, match="--yes"):
        get("tatoeba-fra", tmp_path / "x", agree=lambda question: False, say=print)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("number", "english", "french"),
    [
        (0, "zero", "zéro"),
        (80, "eighty", "quatre-vingts"),
        (171, "one hundred seventy-one", "cent soixante et onze"),
        (200, "two hundred", "deux cents"),
        (1001, "one thousand one", "mille un"),
        (80_200, "eighty thousand two hundred", "quatre-vingt mille deux cents"),
        (999_999, "nine hundred ninety-nine thousand nine hundred ninety-nine",
         "neuf cent quatre-vingt-dix-neuf mille neuf cent quatre-vingt-dix-neuf"),
    ],
)  # fmt: skip
def test_numbers_in_words(number, english, french):
    class NoAnd:
        random = staticmethod(lambda: 0.9)

    assert numbers.english_words(number, NoAnd) == english
    assert numbers.french_words(number) == french


def test_ordinals():
    assert [numbers.english_ordinal(word) for word in ("one", "twenty-two", "forty", "one hundred")] == [
        "first", "twenty-second", "fortieth", "one hundredth",
    ]  # fmt: skip
    assert [numbers.french_ordinal(number) for number in (1, 2, 5, 9, 21, 80, 200, 1000, 4000)] == [
        "premier", "deuxième", "cinquième", "neuvième", "vingt et unième", "quatre-vingtième", "deux centième",
        "millième", "quatre millième",
    ]  # fmt: skip


def test_every_text_has_one_meaning_and_a_seed_gives_the_same(tmp_path):
    stream = numbers.stream(3)
    pairs = {next(stream) for _ in range(20_000)}
    assert max(Counter(text for text, _ in pairs).values()) == 1
    assert numbers.generate(500, 1) == numbers.generate(500, 1) != numbers.generate(500, 2)
    written = get("numbers", tmp_path / "n", agree=lambda question: False, say=print)
    train, dev = ({*path.read_text().splitlines()} for path in written)
    assert (len(train), len(dev)) == (19_000, 1_000) and not train & dev
