"""The explain document as one HTML file, which works offline: it loads nothing and sends nothing.

The folder page/ holds its style sheet and its script as ES modules, one subject per file; a page of a server can load
the same modules one by one. With a model in the page, the modules of the folder live/ run it. A single file cannot
import, so `script` joins the modules: each becomes a function that returns what it exports. The content-security policy
names the hashes of that script and that style sheet: a browser runs nothing else, whatever a model or a file may have
written into the document.
"""

import base64
import hashlib
import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Template
from typing import TYPE_CHECKING, Any

from seqloom.errors import ModelError

if TYPE_CHECKING:
    from seqloom.explain.document import Explained

FIRST = "page/main.js"
FIRST_LIVE = "live/main.js"
IMPORT = re.compile(r'^import \{ ([^}]+) \} from "([^"]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:const|class|function|async function) (\w+))", re.MULTILINE)
OPERATOR = re.compile(r"^  ([A-Z]\w+): ", re.MULTILINE)  # a row of the table in live/operators.js
FRAME_HEIGHT = 760  # of the page in a notebook, in pixels


def page(document: "Explained", live: Sequence[Mapping[str, Any]] = ()) -> str:
    """The document as an HTML page; with `live`, one model per lane (formats/live_model.py), it computes what-ifs."""
    for model in live:
        check_operators(model)
    first = FIRST_LIVE if live else FIRST
    return Template(part("page/index.html")).substitute(
        policy=policy(first),
        title=escape(title(document)),
        style=part("page/page.css"),
        script=script(first),
        document=embedded(document.to_json().decode()),
        live=embedded(json.dumps([*live], ensure_ascii=False, separators=(",", ":"))),
    )


def check_operators(model: Mapping[str, Any]) -> None:
    """Refuse a model whose graphs have operators that the page cannot compute."""
    known = {*OPERATOR.findall(part("live/operators.js"))}
    used = {node[0] for graph in ("encoder", "step") for node in model[graph]["nodes"]}
    if unknown := sorted(used - known):
        raise ModelError(
            f"{model['model']}: its graphs have operators that the page does not know: {', '.join(unknown)}. "
            "Leave out --live."
        )


def frame(document: "Explained") -> str:
    """The page inside a frame of its own, for a notebook: it can reach neither the notebook nor the network."""
    return (
        f'<iframe sandbox="allow-scripts allow-downloads" title="{escape(title(document))}" '
        f'style="width: 100%; height: {FRAME_HEIGHT}px; border: 0" srcdoc="{escape(page(document))}"></iframe>'
    )


def title(document: "Explained") -> str:
    """The models and the text, in a line."""
    if document.lanes:
        text = document.lanes[0].source.text
        return f"{', '.join(lane.model for lane in document.lanes)}: {text[:60]}{'...' if len(text) > 60 else ''}"
    runs = dict.fromkeys([*(curve.run for curve in document.curves), *(map_.model for map_ in document.phrases)])
    return ", ".join(runs) or "Seqloom"


def embedded(text: str) -> str:
    """JSON that a script element can hold: no `<` can end the element, and no line separator a string."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def policy(first: str) -> str:
    """Only this script and this style sheet; pictures only from the page itself (for the PNG downloads)."""
    return (
        f"default-src 'none'; script-src '{digest(script(first))}'; style-src '{digest(part('page/page.css'))}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def script(first: str) -> str:
    """A module and all that it imports as one script, each after those that it imports."""
    order: list[str] = []

    def visit(name: str) -> None:
        if name not in order:
            for _, other in IMPORT.findall(part(name)):
                visit(resolve(name, other))
            order.append(name)

    visit(first)
    body = "\n".join(module(name) for name in order)
    return f'"use strict";\nconst modules = {{}};\n{body}\n'


def module(name: str) -> str:
    """A module as a function: imports become constants, exports what it returns."""
    text = part(name)
    exports = ", ".join(EXPORT.findall(text))
    text = IMPORT.sub(lambda found: f'const {{ {found[1]} }} = modules["{resolve(name, found[2])}"];', text)
    return f'modules["{name}"] = (() => {{\n{EXPORT.sub("", text)}\nreturn {{ {exports} }};\n}})();'


def resolve(importer: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(importer), name))


@cache
def part(name: str) -> str:
    """A file of the folders page/ and live/."""
    place: Traversable = files("seqloom.explain")
    for step in name.split("/"):
        place = place.joinpath(step)
    return place.read_text("utf-8")
