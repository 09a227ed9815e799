"""Files over HTTP: LibreTranslate's /translate_file and DeepL's /v2/document, for honest and for hostile clients."""

import io
import json
import threading
import time
import zipfile
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from seqloom.serve.file_translation import ENDINGS, read_pieces, result_name, sample_of, sentences_of
from seqloom.serve.limits import Limits
from seqloom.serve.marks import Segment
from seqloom.serve.refusal import Refusal
from seqloom.serve.service import Service

SRT = (
    "1\r\n00:00:01,000 --> 00:00:02,500\r\nthe cat <i>sat</i> there\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\n42\r\n"
)
PO = '#: a.c:1\nmsgid "the cat %s"\nmsgstr ""\n\nmsgid "kept"\nmsgstr "bleibt"\n'
FILES = {
    ".txt": "the cat\n\n  a small dog \n",
    ".html": "<!doctype html>\n<p title='x'>the <b>cat</b> &amp; a dog</p>\n<script>var the = 'cat'</script>\n",
    ".srt": SRT,
    ".po": PO,
    ".json": '{\n  "key": "the cat {name}",\n  "n": [1, true, "a small dog"]\n}\n',
}


def multipart(fields=None, content=None, name="a.txt", boundary="b"):
    """A body of form fields and a file, and its header."""
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
        for key, value in (fields or {}).items()
    ]
    if content is not None:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        parts.append(head.encode() + content + b"\r\n")
    body = b"".join(parts) + f"--{boundary}--\r\n".encode()
    return body, {"Content-Type": f"multipart/form-data; boundary={boundary}"}


def send(server, content, name="a.txt", path="/translate_file", headers=None, **fields):
    fields = fields or ({"source": "en", "target": "de"} if path == "/translate_file" else {"target_lang": "de"})
    body, kind = multipart(fields, content, name)
    return server.ask("POST", path, body, kind | (headers or {}))


def fetch(server, answer):
    return server.get(urlsplit(answer.json["translatedFileUrl"]).path)


def finished(server, handle):
    """The status of a document when it is no longer being translated."""
    for _ in range(60):
        status = server.post(f"/v2/document/{handle['document_id']}", document_key=handle["document_key"])
        assert status.status == 200
        if status.json["status"] != "translating":
            return status.json
    raise AssertionError("it was not translated")


@pytest.mark.parametrize("ending", FILES)
def test_a_file_comes_back_with_other_texts(server, pairs, ending):
    answer = send(server, FILES[ending].encode(), f"a film{ending}")
    assert answer.status == 200, answer
    got = fetch(server, answer)
    assert got.status == 200 and got.headers["content-type"] == "application/octet-stream"
    assert got.headers["content-disposition"] == f'attachment; filename="a_film_de{ending}"'
    text = got.body.decode()
    translate = pairs[0].translator.translate
    wanted = {
        ".txt": f"{translate('the cat')}\n\n  {translate('a small dog')} \n",
        ".json": translate("a small dog"),
        ".po": 'msgid "kept"\nmsgstr "bleibt"\n',
        ".srt": "\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\n42\r\n",
        ".html": "\n<script>var the = 'cat'</script>\n",
    }[ending]
    assert wanted in text and text != FILES[ending]
    kept = {".html": ("<p title='x'>", "<b>"), ".srt": ("1\r\n00:00:01,000 --> ", "<i>"), ".po": ("%s",)}
    assert all(part in text for part in kept.get(ending, ()))
    if ending == ".json":
        assert json.loads(text)["n"][:2] == [1, True] and "{name}" in json.loads(text)["key"]
    assert fetch(server, answer).body == got.body, "a download that broke off can be repeated"


def test_the_address_is_the_one_that_the_client_used(server):
    url = send(server, b"the cat").json["translatedFileUrl"]
    assert url.startswith(f"{server.address}/download_file/") and url.endswith(".a_de.txt")
    name = urlsplit(url).path.rpartition("/")[2]
    for other in (name[:-1], name.upper(), "x." + name, name.partition(".")[0], "%00", "a"):
        answer = server.get(f"/download_file/{other}")
        assert answer.status == 404 and answer.error


def test_the_language_of_a_file_is_detected(server, pairs):
    text = b"die Katze und der Hund schlafen dort\n"
    answer = send(server, text, source="auto", target="en")
    assert fetch(server, answer).body.decode() == pairs[1].translator.translate(text.decode().strip()) + "\n"
    same = b"This is a long sentence in English, and nobody would take it for German.\n"
    assert fetch(server, send(server, same, source="auto", target="en")).body == same


def test_a_byte_order_mark_stays(server):
    for ending in (".txt", ".srt"):
        got = fetch(server, send(server, b"\xef\xbb\xbf" + FILES[ending].encode(), f"a{ending}"))
        assert got.body.startswith(b"\xef\xbb\xbf") and got.body.count(b"\xef\xbb\xbf") == 1


def test_a_long_line_is_translated_by_its_sentences(server):
    line = b"The cat sat on the mat. " * 300
    got = fetch(server, send(server, line)).body.decode()
    assert len(got.split()) > 300
    answer = send(server, b"a" * 6000)
    assert answer.status == 400 and "a sentence of more than 5,000 characters" in answer.error
    answer = send(server, b"<p>a <b>" + b"Cat. " * 1500 + b"</b> b</p>", "a.html")
    assert answer.status in (200, 400), answer


def zipped():
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", "the cat " * 1000)
    return held.getvalue()


BAD = {
    "zip named .txt": (zipped(), "a.txt", "not text"),
    "zeros": (b"\0" * 1000, "a.txt", "NUL"),
    "utf-16": ("the cat".encode("utf-16"), "a.txt", "UTF-8 (byte 0)"),
    "latin-1": ("été".encode("latin-1"), "a.srt", "UTF-8 (byte 0)"),
    "an encoded surrogate": (b"a \xed\xa0\x80", "a.txt", "UTF-8 (byte 2)"),
    "empty": (b"", "a.txt", "empty"),
    "blank": (b" \n\n", "a.txt", "empty"),
    "a wrong ending": (b"the cat", "a.docx", ".txt, .html"),
    "no ending": (b"the cat", "txt", ".txt, .html"),
    "no name": (b"the cat", "", ".txt, .html"),
    "an odd name": (b"the cat", "../../etc/passwd", ".txt, .html"),
    "broken json": (b'{"a": ', "a.json", "not valid JSON"),
    "nested json": (b"[" * 100_000, "a.json", "not valid JSON"),
    "a surrogate in json": (b'["\\ud800"]', "a.json", "not valid JSON"),
    "too many lines": (b"a\n" * 20_001, "a.txt", "20,000 texts"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_translated_is_refused_with_a_sentence(server, case):
    content, name, part = BAD[case]
    answer = send(server, content, name)
    assert answer.status == 400 and part in answer.error, answer
    answer = send(server, content, name, "/v2/document")
    if answer.status == 200:  # found out later
        assert part in finished(server, answer.json)["error_message"]
    else:
        assert answer.status == 400 and part in answer.json["message"]
    assert server.translate("the cat").status == 200


def test_six_megabytes_are_too_large(server):  # of more than eight the rest is not read: see test_connections
    for path in ("/translate_file", "/v2/document"):
        answer = send(server, b"the cat\n" * (6 << 17), path=path)
        assert answer.status == 413 and "1,048,576 bytes" in answer.json["error"]


def test_a_body_that_is_no_form_with_a_file_is_refused(server):
    body, kind = multipart({"source": "en", "target": "de"}, b"the cat")
    assert (
        "has no boundary" in server.ask("POST", "/translate_file", body, {"Content-Type": "multipart/form-data"}).error
    )
    wrong = {"Content-Type": "multipart/form-data; boundary=c"}
    assert server.ask("POST", "/translate_file", body, wrong).status == 400
    two, _ = multipart({"source": "en", "target": "de"}, b"the cat\r\n" + multipart(None, b"x")[0][:-7])
    for raw in (two, body.replace(b'"file"', b'"other"')):
        assert "one file, named file" in server.ask("POST", "/translate_file", raw, kind).error
    for answer in (
        server.post("/translate_file", file="the cat", source="en", target="de"),
        server.post("/translate_file", file="dGhlIGNhdA==", filename="a.txt", source="en", target="de"),
        server.ask("POST", "/translate_file?file=x&source=en&target=de"),
        server.ask("POST", "/translate_file", multipart({"file": "x", "source": "en", "target": "de"})[0], kind),
    ):
        assert answer.status == 400 and answer.error == "file must be a file, in a body of multipart/form-data."
    assert server.ask("POST", "/translate_file", multipart({"source": "en", "target": "de"})[0], kind).error == (
        "file is missing: it must be a file, in a body of multipart/form-data."
    )
    assert send(server, b"the cat", source="en", target="fr").status == 400
    assert send(server, b"the cat", source="en").status == 400


def test_around_a_file_there_is_only_utf_8(server):
    """Also if the same bytes are in the file, too."""
    for content in (b"\xff", b"the cat"):
        body, kind = multipart({"source": "en", "target": "de", "x": "HERE"}, content)
        answer = server.ask("POST", "/translate_file", body.replace(b"HERE", b"\xff"), kind)
        assert answer.status == 400 and "multipart body is not valid" in answer.error


def test_other_addresses_still_take_no_files(server):
    body, kind = multipart({"q": "a", "source": "en", "target": "de"}, b"the cat")
    answer = server.ask("POST", "/translate", body, kind)
    assert answer.status == 400 and "no files" in answer.error


def test_the_page_is_told_what_may_be_sent(server):
    settings = server.get("/frontend/settings").json
    assert settings["filesTranslation"] is True and settings["supportedFilesFormat"] == ENDINGS
    assert (settings["bodyLimit"], settings["textsLimit"], settings["fileTextsLimit"]) == (1 << 20, 64, 20_000)


def test_a_document_is_deleted_once_it_is_downloaded(server):
    handle = send(server, b"the cat", path="/v2/document").json
    assert finished(server, handle)["billed_characters"] == len("the cat")
    path, key = f"/v2/document/{handle['document_id']}", handle["document_key"]
    for wrong in (handle["document_id"], "", "é"):
        assert server.post(path, document_key=wrong).status == 404
        assert server.post(path + "/result", document_key=wrong).status == 404
    assert server.post(path + "/result", document_key=key).status == 200
    assert server.post(path + "/result", document_key=key).status == 404
    assert server.post(path, document_key=key).status == 404
    answer = send(server, b"the cat", path="/v2/document", target_lang="de", output_format="pdf")
    assert answer.status == 400 and "output_format must be txt" in answer.json["message"]


def test_a_key_is_needed_to_send_a_file_and_not_to_fetch_it(locked):
    assert send(locked, b"the cat").status == 403
    answer = send(locked, b"the cat", headers={"Authorization": "Bearer open sesame"})
    assert answer.status == 200 and fetch(locked, answer).status == 200


def test_files_are_limited_in_number_and_time(gated, serve, eventually):
    service, gate = gated(Limits(files_each=2, files_running=3, files=4))
    with serve(service) as server:
        handles = [send(server, b"the cat", path="/v2/document").json for _ in range(2)]
        gate.wait_for_batch()
        refused = send(server, b"the cat", path="/v2/document")
        assert refused.status == 429 and "Retry-After".lower() in refused.headers
        path = f"/v2/document/{handles[0]['document_id']}"
        early = server.post(path + "/result", document_key=handles[0]["document_key"])
        assert early.status == 503 and "not translated yet" in early.json["message"]
        gate.opened.set()
        assert [finished(server, handle)["status"] for handle in handles] == ["done", "done"]
        for _ in range(4):
            assert send(server, b"the cat").status == 200
        assert len(service.files.kept) == 4, "the oldest results gave way"
        assert server.post(path, document_key=handles[0]["document_key"]).status == 404


def test_results_are_forgotten_when_their_time_is_over(pairs, serve, eventually):
    service = Service(pairs[:1], Limits(file_kept=0.2))
    with serve(service) as server:
        answer = send(server, b"the cat")
        assert answer.status == 200
        eventually(lambda: not service.files.kept)
        assert fetch(server, answer).status == 404


def test_results_share_so_many_bytes(pairs, serve):
    service = Service(pairs[:1], Limits(files_bytes=40))
    with serve(service) as server:
        answers = [send(server, b"the cat sat on the mat\n" * 3) for _ in range(3)]
        assert sum(len(file.result) for file in service.files.kept.values()) <= 40
        assert fetch(server, answers[0]).status == 404


def test_a_file_that_takes_too_long_is_given_up(gated, serve, eventually):
    service, gate = gated(Limits(file_seconds=0.3))
    with serve(service) as server:
        answer = send(server, b"the cat")
        assert answer.status == 504 and "0.3 seconds" in answer.error
        handle = send(server, b"the cat", path="/v2/document").json
        assert "0.3 seconds" in finished(server, handle)["error_message"]
        result = f"/v2/document/{handle['document_id']}/result"
        assert server.post(result, document_key=handle["document_key"]).status == 504
        eventually(lambda: not service.models["en", "de"].batcher.queue.places)
        gate.opened.set()


def test_a_client_that_goes_away_frees_the_place_of_its_file(gated, serve, eventually):
    import socket

    service, gate = gated()
    body, kind = multipart({"source": "en", "target": "de"}, b"the cat\n" * 200)
    head = f"POST /translate_file HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind['Content-Type']}\r\n"
    with serve(service) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            line.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            gate.wait_for_batch()
            assert len(service.files.kept) == 1
        eventually(lambda: not service.files.kept)
        gate.opened.set()


def test_a_file_waits_while_the_queue_is_full(gated, serve):
    """A request that finds the queue full is refused; a file tries again."""
    service, gate = gated(Limits(queue=1))
    with serve(service) as server:
        first = threading.Thread(target=server.translate, args=("the dog",))
        first.start()
        gate.wait_for_batch()
        handle = send(server, b"the cat", path="/v2/document").json
        time.sleep(0.2)
        gate.opened.set()
        first.join(30)
        assert finished(server, handle)["status"] == "done"


def test_a_short_text_passes_a_long_file(gated, serve, eventually):
    service, gate = gated(Limits(texts=4, rows=4))
    with serve(service) as server:
        handle = send(server, b"the cat\n" * 40, path="/v2/document").json
        gate.wait_for_batch()
        answers = []
        asking = threading.Thread(target=lambda: answers.append(server.translate("a dog")))
        asking.start()
        eventually(lambda: len(service.models["en", "de"].batcher.queue.places) == 2)
        gate.opened.set()
        asking.join(30)
        assert finished(server, handle)["status"] == "done"
        place = next(number for number, texts in enumerate(gate.batches) if "a dog" in texts)
        assert answers[0].status == 200 and place <= 2, gate.batches


def test_names_of_results_fit_into_an_address():
    assert result_name("film.srt", ".srt", "fr") == "film_fr.srt"
    assert result_name("C:\\x\\été d'or.txt", ".txt", "pt_BR") == "_t_d_or_pt_BR.txt"
    assert result_name('..";\r\nx: y.html', ".html", "de") == "_x_y_de.html"
    assert result_name(".srt", ".srt", "de") == "file_de.srt"
    assert len(result_name("a" * 5000 + ".po", ".po", "de")) < 80


def test_a_file_of_nothing_but_tags_is_refused_too():
    with pytest.raises(Refusal, match="more than 10 texts"):
        read_pieces("<br>" * 101, ".html", Limits(file_texts=10), None)


def test_long_texts_are_cut_at_sentence_ends():
    segment = Segment("One two. Three four! Five?", translate=True)
    parts = [*sentences_of(segment, 12)]
    assert [part.text for part in parts if part.translate] == ["One two.", "Three four!", "Five?"]
    assert "".join(part.text for part in parts) == segment.text
    for most, one in ((5, segment), (20, replace(segment, marks=(None,)))):
        with pytest.raises(Refusal):
            [*sentences_of(one, most)]
    assert len(sample_of([Segment("a" * 9000, translate=True)] * 9)) == 5000
