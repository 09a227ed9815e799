"""Three models beside each other on "Look inside": the page of `seqloom serve MODEL --beside OTHER --beside OTHER`."""

import json

import pytest

from seqloom.serve.limits import Limits
from seqloom.serve.service import Service
from seqloom.workflows.serve import load_pair

NAMES = ["rnnsearch", "lstm", "transformer"]
TEXT = "a small dog"


@pytest.fixture(scope="module")
def server(three, serve):
    pairs = [load_pair(str(one), 1, "torch") for one in three]
    with serve(Service(pairs[:1], Limits(deadline=300), beside=pairs[1:])) as running:
        yield running


@pytest.fixture
def inside(page):
    """Look inside of a text, from the page that translates it."""
    page.set_default_timeout(300_000)
    page.fill("#text", TEXT)
    page.wait_for_selector("#inside:visible")
    page.click("#inside")
    page.wait_for_selector("#what-if")
    return page


def wait_until_said(page, words="ms)"):
    page.wait_for_function("words => document.querySelector('#what-if output').textContent.includes(words)", arg=words)


def answers(page):
    return [node.text_content() for node in page.query_selector_all(".facts .answer")]


def lanes(page, view):
    return [node.get_attribute("aria-label") for node in page.query_selector_all(f"#view-{view} .lane")]


def lefts(page, view):
    return [node.bounding_box()["x"] for node in page.query_selector_all(f"#view-{view} .lane")]


def test_three_models_stand_side_by_side_on_one_sentence(inside, server):
    assert [node.inner_text() for node in inside.query_selector_all(".facts h3 bdi")] == NAMES
    served = server.service.models["src", "tgt"]
    assert answers(inside) == [one.translate(TEXT) for one in (served.translator, *served.beside.values())]
    assert lanes(inside, "gates") == ["rnnsearch", "lstm"] and lanes(inside, "beam") == NAMES
    assert len(set(lefts(inside, "beam"))) == 3
    missing = [node.inner_text() for node in inside.query_selector_all("#view-self .missing")]
    assert len(missing) == 2 and all("model.kind = rnn has no such view" in one for one in missing), missing
    assert len(inside.query_selector_all(".sentence .line.source")) == 1  # one tokenizer: one line for all
    inside.hover(".line.source .chip >> nth=2")
    lit = inside.locator("#view-attention .lane").evaluate_all(
        "all => all.map((lane) => lane.querySelectorAll('.token.lit').length > 0)"
    )
    assert lit == [True, True]


def test_models_are_stacked_on_one_axis(inside):
    inside.click("#stack")
    assert len(set(lefts(inside, "beam"))) == 1
    inside.click("#all")
    inside.wait_for_selector("#view-gradients")
    assert lanes(inside, "gradients") == NAMES
    inside.set_viewport_size({"width": 400, "height": 800})
    inside.click("#stack")
    assert len(set(lefts(inside, "beam"))) == 1, "a narrow screen has one column"
    assert inside.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_change_inside_one_model_leaves_the_others(inside):
    asked = []
    inside.on(
        "request", lambda request: asked.append(json.loads(request.post_data)) if request.method == "POST" else None
    )
    before = answers(inside)
    inside.click(".sentence .line.target >> nth=2 >> .chip >> nth=0")
    choice = inside.locator(".options button").nth(1)
    piece = choice.locator("bdi").inner_text()
    choice.click()
    wait_until_said(inside)
    assert [one["model"] for one in asked] == ["transformer"]
    after = answers(inside)
    assert after[:2] == before[:2] and after[2].startswith(piece)
    inside.click("#what-if [data-key=undo]")
    wait_until_said(inside, "As the page was made.")
    assert answers(inside) == before


def test_another_word_goes_to_all_and_a_link_restores_it(inside, server):
    inside.click("#what-if [aria-label='Delete small']")
    wait_until_said(inside)
    served = server.service.models["src", "tgt"]
    expected = [one.translate("a dog") for one in (served.translator, *served.beside.values())]
    assert answers(inside) == expected
    inside.click("#what-if [data-key=link]")
    wait_until_said(inside, "link is")
    address = inside.url
    inside.goto("about:blank")
    inside.goto(address)
    inside.wait_for_selector("#what-if")
    wait_until_said(inside)
    assert answers(inside) == expected
    with inside.expect_download() as waiting:
        inside.get_by_role("button", name="Download JSON").click()
    saved = json.loads(waiting.value.path().read_bytes())
    assert [(lane["model"], lane["source"]["text"]) for lane in saved["lanes"]] == [(name, "a dog") for name in NAMES]


@pytest.mark.slow
def test_a_slow_view_is_shown_without_changes(inside):
    inside.click("#all")
    inside.wait_for_selector("#view-attribution")
    inside.click(".sentence .line.target >> nth=1 >> .chip >> nth=0")
    inside.locator(".options button").nth(1).click()
    wait_until_said(inside)
    assert lanes(inside, "attribution") == ["rnnsearch", "transformer"]
    assert "undo them to see it" in inside.inner_text("#view-attribution .missing")
    assert lanes(inside, "gates") == ["rnnsearch", "lstm"]
