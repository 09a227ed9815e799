"""Make the pictures of README and guide: what the terminal shows, the page of the server, and one view of the inside.

    python docs/pictures.py [--model en-fr]

Needs Chromium and playwright (extra dev). The terminal's output is taken from a real terminal, with its colours.
"""

import argparse
import io
import os
import pty
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

PICTURES = Path(__file__).parent / "pictures"
SENTENCE = "I love you, but I don't know why."
COLUMNS = 92
PORT = 5987
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="en-fr", help="a bundled model or a model folder")
    model = parser.parse_args().model
    PICTURES.mkdir(exist_ok=True)
    commands = [f'echo "{SENTENCE}" | seqloom translate {model}', f'seqloom explain {model} "{SENTENCE}"']
    with browser() as opened:
        terminal_picture(opened, commands, PICTURES / "terminal.png")
        page_picture(opened, model, PICTURES / "page.png")
    seqloom("explain", model, SENTENCE, "--view", "beam", "-o", str(PICTURES / "beam.png"))


@contextmanager
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        sys.exit("no chromium here")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


def terminal_picture(opened: Any, commands: list[str], out: Path) -> None:
    """Type the commands into a terminal and photograph what it shows."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    for command in commands:
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        console.print(Text.from_ansi(typed(command)))
    svg = out.with_suffix(".svg")
    console.save_svg(str(svg), title="seqloom")
    page = opened.new_page(viewport={"width": 1120, "height": 800}, device_scale_factor=1.5)
    page.goto(svg.as_uri())
    page.locator("svg").screenshot(path=str(out), omit_background=True)
    page.close()
    svg.unlink()


def typed(command: str) -> str:
    """What a terminal shows of a command, colours included."""
    shell = f'seqloom() {{ {sys.executable} -m seqloom "$@"; }}; {command}'
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    process = subprocess.Popen(["bash", "-c", shell], stdout=theirs, stderr=subprocess.DEVNULL, env=environment)
    os.close(theirs)
    shown = b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError:  # the end of a terminal
            break
        if not read:
            break
        shown += read
    process.wait()
    return re.sub(r"\r", "", shown.decode("utf-8"))


def page_picture(opened: Any, model: str, out: Path) -> None:
    """Serve the model and photograph its page with a translation and its word links."""
    server = subprocess.Popen([sys.executable, "-m", "seqloom", "serve", model, "--port", str(PORT)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        page = opened.new_page(viewport={"width": 1120, "height": 640}, device_scale_factor=1.5)
        for _ in range(100):
            try:
                page.goto(f"http://127.0.0.1:{PORT}/")
                break
            except Exception:
                time.sleep(0.3)
        page.locator("textarea").first.fill(SENTENCE)
        page.wait_for_timeout(4000)
        page.screenshot(path=str(out))
        page.close()
    finally:
        server.terminate()
        server.wait()


def seqloom(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "seqloom", *words], check=True)


if __name__ == "__main__":
    main()
