"""The explain page: one file that loads nothing, runs nothing but its own script, and holds the document unharmed."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from seqloom.explain import document as explain_document
from seqloom.explain.document import VIEWS, Explained
from seqloom.explain.page import EXPORT, IMPORT, frame, page, resolve
from tests import explain_documents as documents

FOLDER = Path(explain_document.__file__).parent / "page"
MODULES = {file.relative_to(FOLDER).as_posix(): file.read_text("utf-8") for file in sorted(FOLDER.rglob("*.js"))}


PARSES = re.compile(r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|DOMParser|document\.write|eval|Function)\b")
ABOUT = re.compile(r'^  (\w+): \{\n    title: "[^"]+",\n    sees: "[^"]+",\n    not: "[^"]+",', re.MULTILINE)


class Parts(HTMLParser):
    """The elements of a page with their attributes, and the text of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.title, self.inside = [], [], "", ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside in ("script", "style"):
            self.texts.append((*self.tags[-1], data))
        if self.inside == "title":
            self.title += data


def document_in(text):
    (found,) = [data for tag, attributes, data in Parts(text).texts if attributes.get("id") == "document"]
    return found


@pytest.mark.parametrize("texts", [{}, documents.HOSTILE, documents.RIGHT_TO_LEFT, documents.long_texts()])
def test_the_document_survives_the_page(texts):
    document = documents.everything(**texts)
    assert Explained.from_json(document_in(page(document))) == document


def test_no_text_of_a_model_becomes_an_element():
    """Texts, names of models, notes: whatever they hold, the page has the same elements."""
    evil = '"><script>alert(1)</script><img src=x onerror=alert(1)><!--'
    plain = Explained(lanes=[documents.recurrent()])
    hostile = Explained(lanes=[documents.recurrent(model=evil, **documents.HOSTILE)])
    shapes = [[tag for tag, _ in Parts(page(document)).tags] for document in (plain, hostile)]
    assert shapes[0] == shapes[1]
    assert evil in Parts(page(hostile)).title
    assert "<" not in document_in(page(hostile))


def test_the_policy_allows_this_script_and_this_style_and_nothing_else():
    parts = Parts(page(documents.everything()))
    (policy,) = [a["content"] for tag, a in parts.tags if a.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules.keys() == {"default-src", "script-src", "style-src", "img-src", "base-uri", "form-action"}
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["img-src"] == "data:"
    for tag in ("script", "style"):
        (text,) = [data for name, attributes, data in parts.texts if name == tag and "type" not in attributes]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[f"{tag}-src"] == f"'sha256-{digest}'"
    assert not any(name in ("style", "src", "srcset") or name.startswith("on") for _, a in parts.tags for name in a)


def test_the_page_names_no_address_outside_itself():
    text = page(Explained(lanes=[documents.transformer()]))
    assert set(re.findall(r"https?://[^\s\"'`<]+", text)) == {"http://www.w3.org/2000/svg"}, "a namespace is not loaded"
    assert not re.search(r"\b(?:fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts)\b", text)


def test_a_page_of_a_long_sentence_with_every_view_stays_below_its_limit():
    """20 words, gates of 512 units, 6 layers of 8 heads."""
    words = " ".join(f"word{i}" for i in range(20))
    lanes = [
        documents.recurrent(units=512, source=words, target=words),
        documents.transformer(layers=6, heads=8, source=words, target=words),
    ]
    document = Explained(lanes=lanes, curves=documents.curves(), phrases=[documents.phrases()])
    assert document.views() == list(VIEWS)
    assert len(page(document).encode()) < 1.5e6


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_what_exists_and_parses_no_text(name):
    text = MODULES[name]
    assert text.count("\n") <= 300
    assert not re.search(
        r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|DOMParser|document\.write|eval|Function)\b", text
    )
    for names, other in IMPORT.findall(text):
        found = resolve(name, other)
        assert found in MODULES, f"{name} imports {other}"
        exported = set(EXPORT.findall(MODULES[found]))
        assert set(names.split(", ")) <= exported, f"{name}: {names} from {other}"
        for each in names.split(", "):
            assert len(re.findall(rf"\b{each}\b", text)) > 1, f"{name} imports {each} and does not use it"
    for statement, known in (("import", IMPORT), ("export", EXPORT)):
        assert len(re.findall(rf"^{statement} ", text, re.MULTILINE)) == len(known.findall(text)), statement
    assert name == "main.js" or any(
        resolve(importer, other) == name for importer, module in MODULES.items() for _, other in IMPORT.findall(module)
    ), f"no module imports {name}"


def test_every_view_is_drawn_and_says_what_it_does_not_mean():
    (listed,) = re.findall(r"export const VIEWS = \[([^\]]+)\]", MODULES["views.js"])
    assert listed.split(", ") == list(VIEWS)
    assert ABOUT.findall(MODULES["about.js"]) == list(VIEWS)
    (place,) = re.findall(r'const DOCS = "([^"]+)"', MODULES["explained.js"])
    sections = re.findall(r"^## (\w+)$", (Path(__file__).parents[2] / place).read_text("utf-8"), re.MULTILINE)
    assert sections == list(VIEWS), "the page sends readers to these sections"


def test_a_notebook_shows_the_page_in_a_frame_that_can_reach_nothing():
    document = documents.lineage(**documents.HOSTILE)
    text = document._repr_html_()
    assert text == frame(document)
    ((tag, attributes),) = Parts(text).tags
    assert tag == "iframe"
    assert attributes["sandbox"] == "allow-scripts allow-downloads", (
        "with allow-same-origin it could reach the notebook"
    )
    assert attributes["srcdoc"] == page(document)


def test_the_title_names_models_runs_and_texts():
    assert Parts(page(documents.lineage())).title.startswith("sutskever, rnnsearch, transformer: the animal did not")
    assert (
        Parts(page(Explained(curves=documents.curves(), phrases=[documents.phrases("x")]))).title
        == "rnnsearch, transformer, x"
    )
    assert Parts(page(Explained())).title == "Seqloom"
    assert json.loads(document_in(page(Explained())))["kind"] == "explain"
