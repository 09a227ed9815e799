"""Go on with a prompt: pieces of text as they are written."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from seqloom.errors import UsageError

BETWEEN = "---"  # a line between two texts of one prompt
MOST_NAMED = 10  # unknown words
Say = Callable[[str], None]


def to_stderr(message: str) -> None:
    print(message, file=sys.stderr)


def generate(
    folder: Path,
    *,
    prompt: str | None = None,
    prompt_file: Path | None = None,
    tokens: int | None = None,
    num: int = 1,
    threads: int | None = None,
    say: Say = to_stderr,
    **sampling: Any,
) -> Iterator[str]:
    """`num` texts, each the prompt and what follows it, piece by piece; what is not given is as `Generator` has it.

    `say` is told which words of the prompt the model does not know.
    """
    text = read_prompt(prompt, prompt_file)
    if num < 1:
        raise UsageError(f"--num {num}: want at least 1")
    asked = {name: got for name, got in {**sampling, "tokens": tokens}.items() if got is not None}
    from seqloom.decode.options import SampleOptions

    SampleOptions(**{name: got for name, got in asked.items() if name in ("temperature", "top_k", "top_p")})
    from seqloom.runtime.generator import Generator  # torch takes seconds: first what is wrong without it

    generator = Generator.load(folder, threads)
    if unknown := generator.unknown_words(text):
        more = ", ..." if len(unknown) > MOST_NAMED else ""
        say(f"{folder} does not know, and reads as one unknown word: {', '.join(unknown[:MOST_NAMED])}{more}")
    for number in range(num):
        pieces = generator.stream(text, number=number, **asked)
        yield f"{BETWEEN}\n{text}" if number else text
        last = text
        for last in pieces:
            yield last
        if not last.endswith("\n"):
            yield "\n"


def read_prompt(prompt: str | None, file: Path | None) -> str:
    """The prompt as it is; that of a file without its last line end, so that its last line goes on."""
    if file is None:
        return prompt or ""
    if prompt is not None:
        raise UsageError("--prompt and --prompt-file: give one of them")
    from seqloom.data.lines import open_bytes

    with open_bytes(file) as stream:
        content = stream.read()
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"--prompt-file {file}: no UTF-8 at byte {error.start}; save it as UTF-8") from None
