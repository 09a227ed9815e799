"""seqloom serve: serve models over HTTP."""

import os
import sys
from typing import Annotated

from seqloom.cli.flags import NO_OPTIONS, search_flags
from seqloom.decode.options import SearchRequest
from seqloom.workflows.serve import Address
from seqloom.workflows.serve import serve as run


def serve(
    *folders: str,
    host: str = "127.0.0.1",
    port: int = 5000,
    api_key: str | None = None,
    insecure: bool = False,
    allow: tuple[str, ...] = (),
    beside: tuple[str, ...] = (),
    search: Annotated[SearchRequest, search_flags("serve")] = NO_OPTIONS,
    threads: int | None = None,
) -> None:
    """Serve models over HTTP, for LibreTranslate, DeepL and OpenAI clients.

    Implements the APIs of LibreTranslate and DeepL, also for files, and OpenAI's completions, chat and responses.
    Seqloom's own API, with scores and alignments, is under /v1. Models for other tasks are served by name: classifiers,
    taggers and masked models at /models/NAME, language models and others that write at OpenAI's addresses. A web page
    is at /, the OpenAPI document at /openapi.json, and Prometheus metrics at /metrics.

    Without a folder, the bundled translators English to French and French to English are served. Each folder serves one
    pair of languages, or another task. A model whose settings do not name its languages is served as src -> tgt; name
    them with SOURCE-TARGET=FOLDER. If you leave a search option out, the settings of each model decide. SIGTERM or
    Ctrl-C stops the server. It first answers the requests that it has already accepted.

    Parameters
    ----------
    folders
        model folders, as written by `seqloom train --out`, names of bundled models, SOURCE-TARGET=FOLDER, or for other
        tasks NAME=FOLDER
    host
        address to listen on; an address that other machines can reach needs --api-key or --insecure
    port
        port to listen on; 0 = any free port
    api_key
        key that clients must send; the environment variable SEQLOOM_API_KEY does the same and is not visible in `ps`
    insecure
        allow clients on other machines without a key
    allow
        host name under which a proxy on this machine offers the server, such as translate.example.org, or the origin
        of web pages that may ask it, such as https://example.org; can be repeated [default: only the names of this
        machine, and its own page]
    beside
        another model folder for the same languages; it answers no requests for translations. The page's "Look inside"
        shows it beside the served model on the same text; may be given several times
    threads
        number of engine threads [default: all cores]

    Examples
    --------
        seqloom serve
        seqloom serve runs/x
        seqloom serve runs/en-de runs/de-en --port 8080
        seqloom serve en-de=runs/x de-en=runs/y --beam 1
        seqloom serve en-fr reviews=runs/reviews runs/book
        seqloom serve runs/x --beside runs/y --beside runs/z
        seqloom serve runs/x --host 0.0.0.0 --api-key "a long secret"
        seqloom serve runs/x --allow translate.example.org
    """
    still_searching = run(
        folders,
        Address(host, port, api_key, insecure, allow),
        search,
        beside=beside,
        threads=threads,
        say=lambda text: print(text, file=sys.stderr, flush=True),
    )
    if still_searching:  # the search cannot be stopped, and an engine that runs while Python shuts down may crash
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
