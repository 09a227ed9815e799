"""Downloads over HTTP: a broken one continues, a wrong one is deleted, and none is larger than its limit."""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from seqloom.errors import DataError, UsageError
from seqloom.files.durable import hash_file, open_no_link, replace_file
from seqloom.files.reading import read_json

MOST_BYTES = 1 << 32
MOST_MARK = 1 << 16
CHUNK = 1 << 16
ATTEMPTS = 5
PATIENCE = 30.0  # seconds without a byte
Show = Callable[[int, int | None], None]  # bytes done, and of how many if the server says so


def fetch(
    url: str, path: Path, *, sha256: str = "", most: int = MOST_BYTES, show: Show = lambda done, total: None,
    pause: float = 1.0,
) -> str:  # fmt: skip
    """Download a file unless it is there already; return its SHA-256.

    A connection that breaks off is opened again, up to five times. After that the part stays, and the next call
    continues it, if the server still has the same file.
    """
    if not path.exists():
        part = path.with_name(path.name + ".part")
        for attempt in range(ATTEMPTS):
            try:
                if receive(url, part, most, show):
                    break
            except (OSError, http.client.HTTPException) as error:
                refuse_final(url, error)
                if attempt == ATTEMPTS - 1:
                    raise UsageError(no_network(url, error)) from None
            time.sleep(pause * attempt)
        else:
            raise UsageError(f"{url}: the connection broke off {ATTEMPTS} times; the same command continues")
        part.rename(path)
        validator(part).unlink(missing_ok=True)
    found = hash_file(path)
    if sha256 and found != sha256:
        path.unlink()
        raise DataError(
            f"{url}: wrong content (SHA-256 {found[:16]}..., expected {sha256[:16]}...). It is deleted; try again later"
        )
    return found


def receive(url: str, part: Path, most: int, show: Show) -> bool:
    """Append what the server sends to the part; False if it is not complete."""
    have, known = (part.stat().st_size if part.is_file() and not part.is_symlink() else 0), validator(part)
    headers = {"User-Agent": "seqloom", "Accept-Encoding": "identity"}
    if have and known.is_file():
        headers |= {"Range": f"bytes={have}-", "If-Range": read_json(known, MOST_MARK)}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=PATIENCE) as answer:
        continues = answer.status == 206 and (answer.headers["Content-Range"] or "").startswith(f"bytes {have}-")
        if answer.status == 206 and not continues:
            part.unlink(missing_ok=True)  # another range than the one asked for: begin again
            return False
        done = have if continues else 0
        length = answer.headers["Content-Length"]
        total = done + int(length) if (length or "").isdigit() else None
        refuse_large(url, total or 0, most)
        remember(answer, known)
        with open_no_link(part, "ab" if continues else "wb") as file:
            while chunk := answer.read1(CHUNK):
                done += len(chunk)
                refuse_large(url, done, most)
                file.write(chunk)
                show(done, total)
    return total is None or done >= total


def validator(part: Path) -> Path:
    """The file with the mark by which the server recognises this version of the file."""
    return part.with_name(part.name + ".etag")


def remember(answer: Any, known: Path) -> None:
    mark = answer.headers["ETag"] or answer.headers["Last-Modified"]
    if mark and not mark.startswith("W/"):
        replace_file(known, json.dumps(mark))
    else:
        known.unlink(missing_ok=True)


def refuse_large(url: str, size: int, most: int) -> None:
    if size > most:
        raise DataError(f"{url}: larger than {most:,} bytes, which this corpus never is; refused")


def refuse_final(url: str, error: Exception) -> None:
    """Raise the errors that another attempt does not change."""
    if isinstance(error, urllib.error.HTTPError) and error.code < 500 and error.code not in (408, 416, 429):
        raise UsageError(f"{url}: the server answers {error.code} ({error.reason}); is the name right?") from None
    reason = getattr(error, "reason", None)
    if isinstance(reason, OSError) and not isinstance(reason, TimeoutError | ConnectionResetError):
        raise UsageError(no_network(url, reason)) from None


def no_network(url: str, error: Exception) -> str:
    return (
        f"cannot reach {urlsplit(url).hostname}: {getattr(error, 'strerror', None) or error}. "
        "Without a network, `seqloom data get dates` and `seqloom data get numbers` still work"
    )
