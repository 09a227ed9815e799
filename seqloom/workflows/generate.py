"""seqloom generate: text from a prompt, piece by piece as the model writes it."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from seqloom.data.lines import open_bytes
from seqloom.decode.options import SearchRequest
from seqloom.errors import UsageError
from seqloom.runtime.generator import TOKENS, Generator

BETWEEN = "---"  # a line between two texts of one prompt
MOST_NAMED = 10  # unknown words
Say = Callable[[str], None]


def to_stderr(message: str) -> None:
    print(message, file=sys.stderr)


def generate(
    folder: Path,
    prompt: str | None = None,
    prompt_file: Path | None = None,
    request: SearchRequest | None = None,
    *,
    tokens: int | None = None,
    num: int = 1,
    threads: int | None = None,
    say: Say = to_stderr,
) -> Iterator[str]:
    """Yield `num` texts piece by piece, each the prompt and its continuation. The request has the sampling options.

    `say` gets a notice about words of the prompt that the model does not know.
    """
    text = read_prompt(prompt, prompt_file)
    if num < 1:
        raise UsageError(f"--num {num}: want at least 1")
    asked = request.given if request else {}
    SearchRequest(**asked | {"sample": 1}).check()
    generator = Generator.load(folder, threads)
    if unknown := generator.unknown_words(text):
        more = ", ..." if len(unknown) > MOST_NAMED else ""
        say(f"{folder} does not know these words and reads each as <unk>: {', '.join(unknown[:MOST_NAMED])}{more}")
    for number in range(num):
        pieces = generator.stream(text, TOKENS if tokens is None else tokens, number=number, **asked)
        yield f"{BETWEEN}\n{text}" if number else text
        last = text
        for last in pieces:
            yield last
        if not last.endswith("\n"):
            yield "\n"


def read_prompt(prompt: str | None, file: Path | None) -> str:
    """The prompt, unchanged; from a file without its last newline, so that the model continues the last line."""
    if file is None:
        return prompt or ""
    if prompt is not None:
        raise UsageError("--prompt and --prompt-file: give one of them")
    with open_bytes(file) as stream:
        content = stream.read()
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"--prompt-file {file}: no UTF-8 at byte {error.start}; save it as UTF-8") from None
