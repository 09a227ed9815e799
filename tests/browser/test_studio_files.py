"""Files on the page: chosen or dropped, translated, and downloaded, in a real Chromium.

tests/browser/test_studio.py has the shortest of these in the default run.
"""

from pathlib import Path

import pytest

SRT = "1\n00:00:01,000 --> 00:00:02,500\nthe cat\n"
pytestmark = pytest.mark.slow
STATES = "[...document.querySelectorAll('#file-list span')]"


def choose(page, *files):
    """Press the button and choose in the window that opens; files are (name, content)."""
    with page.expect_file_chooser() as chooser:
        page.click("#choose-file")
    chooser.value.set_files([{"name": name, "mimeType": "text/plain", "buffer": text} for name, text in files])


def wait_for_ends(page, number):
    page.wait_for_function(f"number => {STATES}.length === number && !document.querySelector('#file-list progress')",
                           arg=number)  # fmt: skip


def line_of(page, name):
    return page.locator("#file-list li", has=page.locator("bdi", has_text=name))


def downloaded(page, name):
    """The name and the text of what the link in the line of this file gives."""
    with page.expect_download() as download:
        line_of(page, name).locator("a").click()
    return download.value.suggested_filename, Path(download.value.path()).read_text("utf-8")


def put_up_with(page, status):
    """The browser itself writes a refusal of the server to the console."""
    page.complaints = [complaint for complaint in page.complaints if str(status) not in complaint]


@pytest.fixture(scope="module")
def translated(pairs):
    return lambda text: pairs[0].translator.translate(text)


def test_a_chosen_file_is_translated_and_downloaded_under_a_name_of_its_own(page, translated):
    choose(page, ("a film.srt", SRT.encode()), ("notes.txt", b"a small dog\n"))
    wait_for_ends(page, 2)
    assert downloaded(page, "a film.srt") == ("a_film_de.srt", SRT.replace("the cat", translated("the cat")))
    assert downloaded(page, "notes.txt") == ("notes_de.txt", translated("a small dog") + "\n")
    assert page.text_content("#file-spoken") == "notes.txt: translated", "those who do not see it hear it"


def test_a_dropped_file_is_translated_instead_of_opened(page, translated):
    page.click("#swap")
    dropped = page.evaluate_handle(
        "() => { const held = new DataTransfer(); held.items.add(new File(['der Hund'], 'x.txt')); return held; }"
    )
    page.dispatch_event("#output", "dragenter", {"dataTransfer": dropped})
    assert page.evaluate("document.body.className") == "dropping", "the page shows that it would take it"
    taken = page.evaluate(
        """held => !document.getElementById("output").dispatchEvent(
            new DragEvent("dragover", { dataTransfer: held, bubbles: true, cancelable: true }))""",
        dropped,
    )
    assert taken, "else the browser would leave the page and open the file"
    page.dispatch_event("#output", "drop", {"dataTransfer": dropped})
    wait_for_ends(page, 1)
    assert page.evaluate("document.body.className") == ""
    assert downloaded(page, "x.txt")[0] == "x_en.txt", "in the languages that are chosen"


def test_what_cannot_be_translated_says_why_and_the_next_file_is(page):
    choose(page, ("a.zip", b"PK"), ("big.txt", b"a cat\n" * 180_000), ("a.txt", b"the cat"))
    wait_for_ends(page, 3)
    put_up_with(page, 400)
    assert "must end with one of .txt, .html" in line_of(page, "a.zip").inner_text()
    assert "This file has 1.1 MB; the server takes at most 1.0 MB." in line_of(page, "big.txt").inner_text()
    assert line_of(page, "a.txt").locator("a").count() == 1
    assert page.locator("#file-list .bad").count() == 2
    assert len([url for url in page.requests if url.endswith("/v2/document")]) == 2, "what is too large is not sent"


def test_a_file_tells_how_far_it_is_and_waits_for_its_turn(page):
    """The server is played: it is busy at first, then half-way, and then it cannot go on."""
    asked = []

    def answer(route):
        asked.append(route.request.url)
        if len(asked) == 1:
            route.fulfill(status=429, headers={"Retry-After": "1"}, json={"error": "Slowdown"})
        elif len(asked) == 2:
            route.fulfill(json={"document_id": "i", "document_key": "k"})
        elif page.stage == "half-way":
            page.wait_for_timeout(50)
            route.fulfill(json={"document_id": "i", "status": "translating", "seconds_remaining": 40})
        else:
            route.fulfill(json={"document_id": "i", "status": "error", "error_message": "It took too long."})

    page.stage = "half-way"
    page.route("**/v2/document**", answer)
    choose(page, ("a.txt", b"the cat"))
    page.wait_for_function(f"() => {STATES}[0].textContent.startsWith('waiting for a turn')")
    page.wait_for_function(f"() => {STATES}[0].textContent === 'about 40 s left'")
    assert 0 < page.evaluate("document.querySelector('#file-list progress').value") < 1
    page.stage = "over"
    wait_for_ends(page, 1)
    assert line_of(page, "a.txt").locator(".bad").inner_text() == "It took too long."
    put_up_with(page, 429)


def test_the_list_of_files_can_be_read(page, legible):
    choose(page, (f"{'a-long-name-' * 9}.txt", b"the cat"), ("a.zip", b"PK"))
    wait_for_ends(page, 2)
    put_up_with(page, 400)
    for scheme, width in (("light", 400), ("dark", 1280)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        legible(page, "#files")
