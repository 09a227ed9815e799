"""Serve models over HTTP until a signal comes."""

import logging
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.errors import UsageError

if TYPE_CHECKING:
    from seqloom.serve.limits import Limits
    from seqloom.serve.service import Pair

NAMED = re.compile(r"([A-Za-z][A-Za-z_]*)-([A-Za-z][A-Za-z_]*)=(.+)")  # en-de=runs/x
KEY = "SEQLOOM_API_KEY"  # the environment hides a key from the list of processes


def serve(
    folders: Sequence[str],
    *,
    host: str = "127.0.0.1",
    port: int = 5000,
    api_key: str | None = None,
    insecure: bool = False,
    beam: int | None = None,
    threads: int | None = None,
    limits: "Limits | None" = None,
    say: Callable[[str], None] = print,
) -> bool:
    """Listen first, so that a port in use is told before the models are read; then answer until a signal comes.

    True when a search is still going on that nobody waits for any more.
    """
    from seqloom.serve.greeting import greeting
    from seqloom.serve.limits import Limits
    from seqloom.serve.server import Server, address_of, check_open_to_others, listen
    from seqloom.serve.service import Service
    from seqloom.serve.shapes import WIDEST_BEAM

    if not folders:
        raise UsageError("name at least one model: the folder that `seqloom train --out` wrote")
    if beam is not None and not 1 <= beam <= WIDEST_BEAM:
        raise UsageError(f"--beam {beam}: want 1 to {WIDEST_BEAM}")
    key = os.environ.get(KEY) if api_key is None else api_key
    check_open_to_others(host, key, insecure)
    with listen(host, port) as bound:
        pairs = [load_pair(folder, threads) for folder in folders]
        service = Service(pairs, limits or Limits(), key, beam)
        Server(service, lambda: say(greeting(service, address_of(bound)))).run([bound])
    return service.busy


def load_pair(word: str, threads: int | None) -> "Pair":
    """A folder, or SOURCE-TARGET=FOLDER for a model that does not know its languages or knows wrong ones."""
    from seqloom.runtime.folder import read_config
    from seqloom.runtime.translator import Translator
    from seqloom.serve.service import UNNAMED, Pair

    match = None if Path(word).exists() else NAMED.fullmatch(word)
    folder = Path(match[3] if match else word)
    if read_config(folder).task.name == "language":  # those that write no text the translator refuses itself
        raise UsageError(f"{folder}: a language model goes on with a text and translates none: use `seqloom generate`")
    notice = logging.getLogger("seqloom.serve").warning
    translator = Translator.load(folder, threads=threads, notice=notice)
    data, facts = translator.config.data, translator.facts
    source, target = match.group(1, 2) if match else (data.source_lang, data.target_lang)
    if not source or not target:
        source, target = facts.get("source_lang") or UNNAMED[0], facts.get("target_lang") or UNNAMED[1]
    return Pair(source, target, translator, word)
