"""seqloom serve: a model folder becomes a service."""

import os
import sys

from seqloom.workflows.serve import serve as run


def serve(
    *folders: str,
    host: str = "127.0.0.1",
    port: int = 5000,
    api_key: str | None = None,
    insecure: bool = False,
    beam: int | None = None,
    threads: int | None = None,
) -> None:
    """Serve models over HTTP, to the clients people already have.

    Speaks the LibreTranslate protocol, and the shapes of DeepL (/v2/translate) and OpenAI (/v1/chat/completions); its
    own answers, with scores and alignments, are under /v1. A page to translate in the browser is at /, the OpenAPI
    document at /openapi.json, figures for Prometheus at /metrics.

    Each folder is a pair of languages. A model that does not know its languages is served as src -> tgt; name them with
    SOURCE-TARGET=FOLDER. SIGTERM or Ctrl-C stops: requests that were let in are answered first.

    Parameters
    ----------
    folders
        folders that `seqloom train --out` wrote, or SOURCE-TARGET=FOLDER
    host
        address to listen on; another than this machine needs --api-key or --insecure
    port
        port to listen on; 0 = any free one
    api_key
        key that clients must send; the environment variable SEQLOOM_API_KEY does the same and is seen by nobody
    insecure
        let everybody who reaches this address use it without a key
    beam
        hypotheses kept a sentence, 1 = greedy [default: each model's own]
    threads
        threads of the engine [default: all cores]

    Examples
    --------
        seqloom serve runs/x
        seqloom serve runs/en-de runs/de-en --port 8080
        seqloom serve en-de=runs/x de-en=runs/y --beam 1
        seqloom serve runs/x --host 0.0.0.0 --api-key "a long secret"
    """
    still_searching = run(
        folders,
        host=host,
        port=port,
        api_key=api_key,
        insecure=insecure,
        beam=beam,
        threads=threads,
        say=lambda text: print(text, file=sys.stderr, flush=True),
    )
    if still_searching:  # it cannot be stopped, and an engine that runs on while Python is taken apart may crash
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
