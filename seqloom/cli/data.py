"""seqloom data: list and fetch public corpora. A command with subcommands."""

import sys
from collections.abc import Callable
from pathlib import Path

from cyclopts import App

from seqloom.cli.app import VERBS, description, examples
from seqloom.workflows import data as run

EXAMPLES = """\
Examples:
    seqloom data list
    seqloom data get tatoeba-fra
    seqloom data get numbers --out corpora/numbers
"""


def say(message: str) -> None:
    print(message, file=sys.stderr)


def show_list() -> None:
    """List the corpora with their licences.

    Examples
    --------
        seqloom data list
    """
    for line in run.list_corpora():
        print(line)


def get(name: str, /, *, out: Path | None = None, yes: bool = False) -> None:
    """Fetch a corpus and turn it into two-column files, or generate one.

    Shows the licence and asks before it downloads. A download that broke off continues when you give the same command
    again. ORIGIN.txt in the folder has the addresses, the licence and the checksums. The names of the written files are
    printed.

    Parameters
    ----------
    name
        corpus, as in `seqloom data list`, with the language, pair or split in place of the capitals
    out
        new folder [default: the name of the corpus]
    yes
        agree to the licence without being asked

    Examples
    --------
        seqloom data get tatoeba-fra
        seqloom data get multi30k-en-de --out corpora/captions --yes
        seqloom data get dates
    """

    def agree(question: str) -> bool:
        if yes:
            say(question)
        return yes or (sys.stdin is not None and sys.stdin.isatty() and run.ask(question, say))

    for path in run.get(name, Path(name) if out is None else out, agree, say):
        print(path)


data = App(name="data", help=VERBS["data"], help_epilogue=EXAMPLES, sort_key=[*VERBS].index("data"))
PARTS: tuple[tuple[str, Callable[..., None]], ...] = (("list", show_list), ("get", get))
for order, (word, part) in enumerate(PARTS):
    data.command(part, name=word, help=description(part), help_epilogue=examples(part), sort_key=order)
