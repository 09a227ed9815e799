"""Hooks of the site (mkdocs.yml): the pages at the top of the repository become pages of it, README its home page.

Links are written so that they work where the sources are read. Those that leave docs/ are bent here.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
TOP = {  # page at the top of the repository -> page of the site
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "LICENSE",
}
RECORDS = ("lineage/", "log.md", "changelog.md")  # long records: the search would show them before the how-tos
LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def on_files(files: Files, config: Any) -> Files:
    for source, target in TOP.items():
        files.append(File.generated(config, target, content=(ROOT / source).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Bend the links of a page that lead out of docs/ or, from the top of the repository, into it."""
    sources = {target: source for source, target in TOP.items()}
    uri = page.file.src_uri
    if uri.startswith(RECORDS):
        page.meta["search"] = {"exclude": True}
    folder = posixpath.dirname(uri) if uri not in sources else ".."
    return LINK.sub(lambda link: f"{link[1]}{bent(link[2], folder)}{link[3]}", markdown)


def bent(target: str, folder: str) -> str:
    """Where a link of a page in `folder` (as seen from docs/) leads to on the site."""
    path, mark, anchor = target.partition("#")
    if not path or ":" in path:
        return target
    found = posixpath.normpath(posixpath.join(folder, path))
    if not found.startswith("../") and folder != "..":
        return target
    name = found.removeprefix("../")
    inside = TOP.get(name, name.removeprefix("docs/"))
    return posixpath.relpath(inside, folder if folder != ".." else ".") + mark + anchor
