"""Measure a server under load: latency, errors, memory, and what dynamic batching gains over one text at a time.

    python benchmarks/serve_load.py runs/x [--seconds 60] [--connections 64] [--texts FILE] [--beams 1,5] [--threads 2]

The server runs in its own process on loopback, the clients in another. Each connection sends a sentence, waits for the
answer and sends the next. For each beam two servers are measured for the same time, one after the other: `batched` is
`seqloom serve` with its normal settings, `one at a time` is the same server with batches of one text. Reports
requests/s, p50, p95 and p99, errors by status, the longest answer time, memory (RSS) before and after each sixth of the
time, and whether each answer equals the answer to the same sentence without load. The last line is JSON.
"""

import argparse
import asyncio
import gzip
import itertools
import json
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

DEFAULT_TEXTS = [
    "a man in a blue shirt is standing on a ladder cleaning a window.",
    "two dogs run across the grass.",
    "a group of people are sitting around a table in a small restaurant.",
    "a child plays.",
    "people walk down a busy street past shops, cars and bicycles in the late afternoon sun.",
]
PATIENCE = 60.0  # seconds to wait for an answer before closing the connection


@dataclass(frozen=True)
class Place:
    """The address of the server, and the language pair it translates."""

    port: int
    source: str
    target: str


@dataclass
class Tally:
    seconds: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    different: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--texts", type=Path, help="sentences, one per line, also .gz")
    parser.add_argument("--beams", default="1,5")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--serve", choices=("batched", "one"), help=argparse.SUPPRESS)
    parser.add_argument("--beam", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options)
        return
    texts = read_texts(options.texts)
    found = {}
    for beam in map(int, options.beams.split(",")):
        for kind in ("batched", "one"):
            found[f"beam {beam}, {kind}"] = measure(options, texts, beam, kind)
        ratio = found[f"beam {beam}, batched"]["requests_a_second"] / found[f"beam {beam}, one"]["requests_a_second"]
        found[f"beam {beam}, batched / one"] = round(ratio, 2)
        print(f"beam {beam}: dynamic batching answers {ratio:.2f} x as many requests as one at a time")
    print(json.dumps({**found, "connections": options.connections, "seconds": options.seconds}))


def read_texts(file: Path | None) -> list[str]:
    if file is None:
        return DEFAULT_TEXTS
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return [line.strip() for line in content.decode().splitlines() if line.strip()]


def serve(options: argparse.Namespace) -> None:
    """In the child: `seqloom serve`, with batches of one text where that is asked for."""
    from seqloom.decode.options import SearchRequest
    from seqloom.serve.batcher import Limits
    from seqloom.workflows.serve import Address
    from seqloom.workflows.serve import serve as run

    limits = Limits() if options.serve == "batched" else Limits(rows=1, linger=0)
    greet = lambda text: print(text, flush=True)  # noqa: E731
    request = SearchRequest(beam=options.beam)
    run([options.folder], Address(port=0), request, threads=options.threads, limits=limits, say=greet)


def measure(options: argparse.Namespace, texts: list[str], beam: int, kind: str) -> dict[str, object]:
    words = [sys.executable, __file__, options.folder, "--serve", kind, "--beam", str(beam)]
    words += ["--threads", str(options.threads)] if options.threads else []
    with subprocess.Popen(words, stdout=subprocess.PIPE, encoding="utf-8") as child:
        assert child.stdout is not None
        address = next(word for word in child.stdout.readline().split() if word.startswith("http"))
        greeting = "".join(itertools.takewhile(lambda line: not line.startswith("Ctrl-C"), child.stdout))
        pair = re.search(r"\((\w+)-(\w+)\)", greeting)
        assert pair is not None
        place = Place(int(address.rpartition(":")[2]), pair[1], pair[2])
        alone = asyncio.run(ask_alone(place, texts[:200]))  # also warms up the server
        tally, took, memory = asyncio.run(load(options, place, texts, alone, child.pid))
        child.terminate()
        code = child.wait(60)
    row = summary(tally, took) | {"rss_mb": memory, "exit_code": code}
    print(f"beam {beam}, {'batched' if kind == 'batched' else 'one at a time'}: {json.dumps(row)}")
    return row


async def ask_alone(place: Place, texts: list[str]) -> dict[str, str]:
    """Return the answer to each text when it is the only request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
    answers = {}
    for text in dict.fromkeys(texts):
        status, body = await ask(reader, writer, place, text)
        assert status == 200, body
        answers[text] = msgspec.json.decode(body)["translations"][0]["text"]
    writer.close()
    return answers


async def load(
    options: argparse.Namespace, place: Place, texts: list[str], alone: dict[str, str], server: int
) -> tuple[Tally, float, list[float]]:
    tally, started = Tally(), time.monotonic()
    end = started + options.seconds
    turns = itertools.cycle(texts)
    watching = asyncio.ensure_future(watch(server, options.seconds))
    await asyncio.gather(*(client(place, turns, end, tally, alone) for _ in range(options.connections)))
    return tally, time.monotonic() - started, await watching


async def watch(server: int, seconds: float) -> list[float]:
    """Record the memory of the server before, and after each sixth of the time."""
    held = [resident(server)]
    for _ in range(6):
        await asyncio.sleep(seconds / 6)
        held.append(resident(server))
    return held


async def client(place: Place, turns: "itertools.cycle[str]", end: float, tally: Tally, alone: dict[str, str]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
    while time.monotonic() < end:
        text, started = next(turns), time.monotonic()
        try:
            status, body = await asyncio.wait_for(ask(reader, writer, place, text), PATIENCE)
        except (OSError, EOFError, TimeoutError) as error:
            tally.statuses[type(error).__name__] += 1
            writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
            continue
        tally.statuses[str(status)] += 1
        if status == 200:
            tally.seconds.append(time.monotonic() - started)
            answer = msgspec.json.decode(body)["translations"][0]["text"]
            tally.different += answer != alone.get(text, answer)
        else:
            await asyncio.sleep(1)  # as Retry-After asks
    writer.close()


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, place: Place, text: str) -> tuple[int, bytes]:
    body = msgspec.json.encode({"q": text, "source": place.source, "target": place.target})
    kind, length = "Content-Type: application/json", f"Content-Length: {len(body)}"
    head = ("POST /v1/translate HTTP/1.1", "Host: localhost", kind, length)
    writer.write("\r\n".join((*head, "", "")).encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    lines = answer.decode("latin-1").split("\r\n")
    length = next(int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:"))
    return int(lines[0].split()[1]), await reader.readexactly(length)


def resident(pid: int) -> float:
    """Return the resident memory of a process in megabytes (Linux only)."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return round(int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) / 1024, 1)


def summary(tally: Tally, took: float) -> dict[str, object]:
    cuts = statistics.quantiles(tally.seconds, n=100) if len(tally.seconds) > 1 else [0.0] * 99
    return {
        "requests_a_second": round(len(tally.seconds) / took, 1),
        "p50_ms": round(1000 * cuts[49], 1),
        "p95_ms": round(1000 * cuts[94], 1),
        "p99_ms": round(1000 * cuts[98], 1),
        "longest_ms": round(1000 * max(tally.seconds, default=0.0), 1),
        "statuses": dict(tally.statuses),
        "different_answers": tally.different,
    }


if __name__ == "__main__":
    main()
