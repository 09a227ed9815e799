"""seqloom serve: serve models over HTTP until a signal comes."""

import logging
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from seqloom.config import TASKS
from seqloom.decode.options import SearchRequest, offered_over_http, spelled
from seqloom.errors import UsageError
from seqloom.runtime.answering import load_answering
from seqloom.runtime.bundled import SERVED, find_model, is_installed
from seqloom.runtime.folder import read_config
from seqloom.runtime.translator import Translator
from seqloom.serve.allowed_hosts import read_allowed
from seqloom.serve.languages import UNNAMED
from seqloom.serve.limits import Limits
from seqloom.serve.named import Single
from seqloom.serve.server import Server, address_of, check_open_to_others, greeting, listen
from seqloom.serve.service import Pair, Service

NAMED = re.compile(r"([A-Za-z][A-Za-z_]*)-([A-Za-z][A-Za-z_]*)=(.+)")  # en-de=runs/x
CALLED = re.compile(r"([A-Za-z0-9_.-]+)=(.+)")  # reviews=runs/x
ODD = re.compile(r"[^A-Za-z0-9_.-]+")
KEY = "SEQLOOM_API_KEY"  # a key in the environment is not visible in the list of processes


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens, and who may use it."""

    host: str = "127.0.0.1"
    port: int = 5000
    api_key: str | None = None  # None = use that of the environment, if there is one
    insecure: bool = False
    allow: Sequence[str] = ()  # host names of a proxy, origins of web pages


def serve(
    folders: Sequence[str],
    address: Address | None = None,
    request: SearchRequest | None = None,
    *,
    beside: Sequence[str] = (),
    threads: int | None = None,
    limits: Limits | None = None,
    say: Callable[[str], None] = print,
) -> bool:
    """Open the port, load the models, and answer requests until a signal comes.

    Without folders: the bundled translators. The port comes first, so that a port in use is refused before models are
    loaded. `request` has the search options that clients do not give. `beside`: models that are only explained. Returns
    True if a search is still running that no client waits for.
    """
    address, request = address or Address(), request or SearchRequest()
    folders = folders or [*filter(is_installed, SERVED)] or SERVED
    for name, range_ in offered_over_http().items():
        if (got := getattr(request, name)) is not None and not range_.least <= got <= range_.most:
            raise UsageError(f"{spelled(name)} {got}: want {range_.least} to {range_.most}")
    key = os.environ.get(KEY) if address.api_key is None else address.api_key
    check_open_to_others(address.host, key, address.insecure)
    allowed = read_allowed(address.allow, address.host)
    with listen(address.host, address.port) as bound:
        loaded = [load_single(folder, threads) or load_pair(folder, threads) for folder in folders]
        pairs = [one for one in loaded if isinstance(one, Pair)]
        singles = [one for one in loaded if isinstance(one, Single)]
        others = [load_pair(folder, threads, engine="torch") for folder in beside]
        service = Service(pairs, limits or Limits(), key, request, beside=others, singles=singles, allowed=allowed)
        Server(service, lambda: say(greeting(service, address_of(bound)))).run([bound])
    return service.busy


def load_single(word: str, threads: int | None) -> Single | None:
    """Load FOLDER or NAME=FOLDER of a model for another task; None for a translator, and for SOURCE-TARGET=FOLDER."""
    exists = Path(word).exists()
    match = None if exists else CALLED.fullmatch(word)
    folder = find_model(match[2] if match else word) if exists or not NAMED.fullmatch(word) else None
    if folder is None:
        return None
    task = read_config(folder).task.name
    if task == "translate":
        if match:
            raise UsageError(f"{word}: {folder} translates; name its languages: SOURCE-TARGET=FOLDER")
        return None
    notice = logging.getLogger("seqloom.serve").warning
    load = partial(load_answering, [folder], threads, notice=notice)
    name = match[1] if match else ODD.sub("-", folder.resolve().name)
    return Single(name, task, TASKS[task].shape, load(), word, load)


def load_pair(word: str, threads: int | None, engine: str = "auto") -> Pair:
    """Load a folder, or SOURCE-TARGET=FOLDER for a model whose settings have no languages or wrong ones."""
    match = None if Path(word).exists() else NAMED.fullmatch(word)
    folder = find_model(match[3] if match else word)
    if TASKS[read_config(folder).task.name].shape == "continues":  # the translator refuses the other shapes itself
        raise UsageError(
            f"{folder}: a language model continues a prompt and does not translate: serve it by a name, "
            "as FOLDER or NAME=FOLDER"
        )
    notice = logging.getLogger("seqloom.serve").warning
    load = partial(Translator.load, folder, threads=threads, engine=engine, notice=notice)
    translator = load()
    data, facts = translator.config.data, translator.facts
    source, target = match.group(1, 2) if match else (data.source_lang, data.target_lang)
    if not source or not target:
        source, target = facts.get("source_lang") or UNNAMED[0], facts.get("target_lang") or UNNAMED[1]
    return Pair(source, target, translator, word, load)
