"""The page as a person uses it, in a real Chromium."""

import json
from contextlib import suppress
from pathlib import Path

import pytest


def type_text(page, text):
    page.fill("#text", text)


def wait_for_translation(page, text):
    page.wait_for_function("text => document.getElementById('output').textContent === text", arg=text)


@pytest.fixture(scope="module")
def translated(pairs):
    return lambda text: pairs[0].translator.translate(text)


def test_it_translates_while_one_types(page, translated):
    page.type("#text", "a small dog", delay=5)
    wait_for_translation(page, translated("a small dog"))
    asked = [url for url in page.requests if url.endswith("/v1/translate")]
    assert len(asked) <= 4, "it waits for a pause in the typing"
    assert page.inner_text("#count") == "11 / 5,000"
    page.press("#text", "Escape")
    wait_for_translation(page, "")
    assert page.input_value("#text") == ""


def test_an_answer_to_an_older_text_is_dropped(page, translated):
    """The answer to the first text is held back until the second has been answered."""
    held = []

    def hold(route):
        if json.loads(route.request.post_data)["q"] == "the cat" and not held:
            held.append(route)
        else:
            route.continue_()

    page.route("**/v1/translate", hold)
    type_text(page, "the cat")
    page.wait_for_function("() => document.getElementById('output').classList.contains('waiting')")
    page.wait_for_timeout(300)
    type_text(page, "a small dog")
    wait_for_translation(page, translated("a small dog"))
    for route in held:
        with suppress(Exception):  # the page gave the request up, which is right too
            route.fulfill(json={"translations": [{"text": "stale", "source": "en", "target": "de", "hypotheses": []}]})
    page.wait_for_timeout(200)
    assert page.inner_text("#output") == translated("a small dog")


def test_what_takes_the_server_long_is_asked_for_when_somebody_looks(page, translated):
    asked = []
    page.on("request", lambda request: asked.append(request.post_data_json) if request.method == "POST" else None)
    type_text(page, "a small dog")
    wait_for_translation(page, translated("a small dog"))
    page.wait_for_timeout(500)
    plain = {"q": "a small dog", "source": "en", "target": "de"}
    assert asked == [plain]
    page.click("#others summary")
    page.wait_for_selector("#alternatives button")
    assert asked[1:] == [plain | {"alternatives": 3}]
    page.focus("#output")
    page.wait_for_selector("#mirror bdi", state="attached")
    page.click("#text")
    assert asked[2:] == [plain | {"alignment": True}], "once"
    page.wait_for_selector("#mirror .marked", state="attached")  # told of the cursor a moment later
    assert page.locator("#mirror .marked").count() == 1, "the word that the cursor is in"
    type_text(page, "the cat")
    wait_for_translation(page, translated("the cat"))
    page.wait_for_selector("#alternatives button")
    assert "alternatives" in asked[-1], "the panel is open: that is a wish too"


def test_alternatives_are_shown_and_copied(page):
    type_text(page, "a small dog")
    page.click("#others summary")
    page.wait_for_selector("#alternatives button")
    assert page.locator("#alternatives button").count() == 3
    other = page.locator("#alternatives button").first
    other.click()
    page.wait_for_function("() => document.getElementById('status').textContent === 'Copied.'")
    assert page.evaluate("navigator.clipboard.readText()") == other.text_content()


def test_a_word_under_the_pointer_shows_where_it_came_from(page, server):
    q = "a small dog ran"
    fields = {"q": q, "source": "en", "target": "de", "alternatives": 3, "alignment": True}
    [found] = server.post("/v1/translate", **fields).json["translations"]
    source, target = found["alignment"]["links"][0]
    type_text(page, q)
    wait_for_translation(page, found["text"])
    page.hover(f'#output bdi[data-target="{target}"]')
    page.wait_for_selector("#mirror .marked", state="attached")
    marked = page.eval_on_selector_all("#mirror .marked", "nodes => nodes.map(node => node.textContent)")
    assert marked == [q.split()[source]]
    page.focus("#output")
    page.keyboard.press("ArrowRight")
    assert page.locator("#output .marked").count() == 1
    assert ":" in page.text_content("#spoken"), "and it is told to who cannot see it"


def test_code_to_paste_works(page, translated):
    import subprocess
    import sys

    q = """it's "a" cat \\ $HOME"""
    type_text(page, q)
    page.click("#code summary")
    curl = page.text_content("#snippet")
    assert curl.startswith("curl http://127.0.0.1:")
    page.click("#tab-python")
    done = subprocess.run([sys.executable, "-c", page.text_content("#snippet")], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert done.stdout == translated(q) + "\n"
    page.press("#tab-python", "ArrowRight")
    assert page.get_attribute("#tab-js", "aria-selected") == "true"
    assert page.evaluate("document.activeElement.id") == "tab-js"
    assert 'fetch("http://127.0.0.1:' in page.text_content("#snippet")
    page.click("#copy-code")
    assert page.evaluate("navigator.clipboard.readText()") == page.text_content("#snippet")


def test_a_chosen_file_is_translated(page, translated):
    with page.expect_file_chooser() as chooser:
        page.click("#choose-file")
    chooser.value.set_files([{"name": "a.txt", "mimeType": "text/plain", "buffer": b"the cat\n"}])
    with page.expect_download() as download:
        page.click("#file-list a")
    assert download.value.suggested_filename == "a_de.txt"
    assert Path(download.value.path()).read_text("utf-8") == translated("the cat") + "\n"


def test_languages_swap_with_the_text(page, pairs, translated):
    type_text(page, "the cat")
    wait_for_translation(page, translated("the cat"))
    page.keyboard.press("Alt+s")
    assert (page.input_value("#source"), page.input_value("#target")) == ("de", "en")
    assert page.input_value("#text") == translated("the cat")
    page.select_option("#source", "auto")
    assert page.is_disabled("#swap")
    type_text(page, "der Hund und die Katze")
    page.wait_for_function("() => document.getElementById('detected').textContent.startsWith('German')")


def test_what_the_server_refuses_is_shown(page):
    type_text(page, "a" * 5001)
    page.wait_for_function("() => document.getElementById('status').textContent.includes('5,001 characters')")
    assert page.get_attribute("#count", "class") == "over"
    page.complaints = [complaint for complaint in page.complaints if "400" not in complaint]


def test_markup_is_text(page, server):
    """Neither what is typed nor what comes back is ever read as HTML."""
    evil = "<img src=x onerror=alert(1)> cat"
    page.route(
        "**/v1/translate",
        lambda route: route.fulfill(
            json={
                "translations": [
                    {"text": evil, "source": "en", "target": "de", "hypotheses": [], "alternatives": [evil]}
                ]
            }
        ),
    )
    type_text(page, evil)
    wait_for_translation(page, evil)
    page.click("#others summary")
    page.wait_for_selector("#alternatives button")
    assert page.locator("#output img, #mirror img, #alternatives img").count() == 0
    assert page.text_content("#alternatives button") == evil


def test_right_to_left_words_keep_their_order(page):
    assert page.get_attribute("#text", "dir") == "auto"
    page.route(
        "**/v1/translate",
        lambda route: route.fulfill(
            json={"translations": [{"text": "مرحبا world", "source": "en", "target": "de", "hypotheses": []}]}
        ),
    )
    type_text(page, "hello")
    wait_for_translation(page, "مرحبا world")
    assert page.eval_on_selector_all("#output bdi", "nodes => nodes.map(node => node.textContent)") == [
        "مرحبا",
        "world",
    ]
    assert page.evaluate("getComputedStyle(document.getElementById('output')).direction") == "rtl"


def test_light_and_dark(page):
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark == "rgb(20, 21, 28)" and light == "rgb(246, 245, 241)"
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "light", "it is remembered"


def test_a_browser_that_keeps_nothing_shows_the_page_too(page, translated):
    page.add_init_script(
        'Object.defineProperty(window, "localStorage", { get() { throw new DOMException("no", "SecurityError"); } });'
    )
    page.reload()
    page.wait_for_selector("#source option", state="attached")
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") in ("light", "dark")
    type_text(page, "the cat")
    wait_for_translation(page, translated("the cat"))


def test_an_answer_that_is_given_up_half_read_is_no_empty_answer(page):
    name = page.evaluate(
        """async () => {
            const { translate } = await import("/studio/api.js");
            const json = async () => { throw new DOMException("no", "AbortError"); };
            window.fetch = async () => ({ ok: true, json });
            return translate({}).then(() => "", (error) => error.name);
        }"""
    )
    assert name == "AbortError"


def test_it_fits_a_phone(page):
    page.set_viewport_size({"width": 360, "height": 740})
    type_text(page, "a small dog ran on the mat " * 8)
    page.click("#code summary")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    text, output = page.locator("#text").bounding_box(), page.locator("#output").bounding_box()
    assert output["y"] > text["y"] + text["height"], "one below the other"


def test_everything_has_a_name_and_can_be_reached(page):
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, select, textarea, input")].filter(
            (each) => !(each.ariaLabel || each.textContent.trim() || each.labels?.length)).map((each) => each.id)"""
    )
    assert nameless == []
    reached = []
    page.focus("#source")
    for _ in range(8):
        reached.append(page.evaluate("document.activeElement.id"))
        page.keyboard.press("Tab")
    assert {"source", "target", "text", "output", "clear"} <= set(reached)
    assert page.get_attribute("#spoken", "aria-live") == "polite"


def test_a_key_can_be_given(visit, locked, translated):
    page = visit(locked)
    page.wait_for_selector("#key-row:not([hidden])")
    type_text(page, "the cat")
    page.wait_for_function("() => document.getElementById('status').textContent.includes('api_key')")
    page.fill("#key", "open sesame")
    page.press("#key", "Enter")
    wait_for_translation(page, translated("the cat"))
    assert page.url.rstrip("/") == locked.address.rstrip("/"), "Enter leaves the page where it is"
    assert not [text for text in page.said if "DOM" in text or "assword" in text]


def test_a_model_without_languages_is_named_by_its_folder(visit, make_folder, serve):
    """No `src -> tgt`, and no language to detect."""
    from seqloom.serve.service import Service
    from seqloom.workflows.serve import load_pair

    folder = make_folder()
    folder = folder.rename(folder.with_name("dates"))
    with serve(Service([load_pair(str(folder), 1)])) as running:
        page = visit(running)
        page.wait_for_function("() => document.getElementById('model').textContent === 'dates'")
        assert page.locator("#source option").all_text_contents() == ["dates (input)"]
        assert page.locator("#target option").all_text_contents() == ["dates (output)"]
        assert "src" not in page.inner_text("body")


def test_a_model_that_does_not_translate_answers_beside_the_translators(visit, pairs, make_folder, serve):
    """A text box and the answer: the languages stay as they are, and alone the model has the page for itself."""
    from seqloom.serve.service import Service
    from seqloom.workflows.serve import load_single

    folder = make_folder("task.name=pronounce")
    single = load_single(f"sounds={folder}", 1)
    expected = single.answering.translate("the cat")
    for translators in (pairs, []):
        with serve(Service(translators, singles=[single])) as running:
            page = visit(running)
            page.wait_for_selector("#named:not([hidden])")
            assert page.locator("#named-model option").all_text_contents() == ["sounds (pronounce)"]
            assert page.is_visible("#text") == page.is_visible("#choose-file") == bool(translators)
            page.fill("#named-text", "the cat")
            page.click("#named-ask")
            page.wait_for_selector("#named-answer li")
            assert page.locator("#named-answer bdi").all_text_contents() == [expected]
            page.fill("#named-text", "a" * 5001)
            page.click("#named-ask")
            page.wait_for_function("() => document.getElementById('named-status').textContent.includes('5,000')")
