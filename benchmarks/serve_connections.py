"""Measure what other connections cost those who work, and whether the server stays the same for half an hour.

    python benchmarks/serve_connections.py runs/x [--seconds 60] [--rounds 3] [--connections 2000] [--slow 1500]
    python benchmarks/serve_connections.py runs/x --soak 30 [--working 64]

The first command asks with 64 connections, alternately alone and beside the others: 1,500 of 2,000 connections are
idle, send a header one byte at a time or a body one byte at a time, and open again when the server closes them; the
rest ask for /health every few seconds. These come from a process of their own. Reports p50 and p99 of the 64 with and
without the others, and what the server answered to the others.

The second command asks with 64 connections for so many minutes and reports requests, errors, p50, p99, memory (RSS) and
open files of each minute. The last line of both is JSON.
"""

import argparse
import asyncio
import itertools
import json
import random
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from serve_load import Place, Tally, ask_alone, client, read_texts, resident, summary

KINDS = {
    "idle": (b"", 0),
    "slow header": (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: ", 1),
    "slow body": (
        b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n",
        1,
    ),
}
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=float, default=60, help="of each half of a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--working", type=int, default=64)
    parser.add_argument("--connections", type=int, default=2000)
    parser.add_argument("--slow", type=int, default=1500)
    parser.add_argument("--soak", type=float, help="minutes")
    parser.add_argument("--texts", type=Path, help="sentences, one per line, also .gz")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--disturb", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.disturb:
        asyncio.run(disturb(options))
        return
    texts = read_texts(options.texts)
    with serving(options) as (place, server):
        alone = asyncio.run(ask_alone(place, texts[:200]))  # also warms up the server
        measure = soak if options.soak else compare
        print(json.dumps(measure(options, place, server, texts, alone)))


@contextmanager
def serving(options: argparse.Namespace) -> Iterator[tuple[Place, int]]:
    """`seqloom serve` in a process of its own: its address and process id."""
    words = [sys.executable, "-m", "seqloom", "serve", options.folder, "--port", "0"]
    words += ["--threads", str(options.threads)] if options.threads else []
    with subprocess.Popen(words, stderr=subprocess.PIPE, encoding="utf-8") as child:
        assert child.stderr is not None
        greeting = "".join(itertools.takewhile(lambda line: not line.startswith("Ctrl-C"), child.stderr))
        port, pair = re.search(r"http://127\.0\.0\.1:(\d+)", greeting), re.search(r"\((\w+)-(\w+)\)", greeting)
        assert port is not None and pair is not None, greeting
        try:
            yield Place(int(port[1]), pair[1], pair[2]), child.pid
        finally:
            child.terminate()
            print(f"the server ended with {child.wait(60)}; its log: {child.stderr.read() or 'empty'}")


def compare(
    options: argparse.Namespace, place: Place, server: int, texts: list[str], alone: dict[str, str]
) -> dict[str, object]:
    rows: dict[str, list[dict[str, object]]] = {"alone": [], "beside": []}
    others: Counter[str] = Counter()
    for _ in range(options.rounds):
        for kind, found in rows.items():
            with disturbing(options, place, others) if kind == "beside" else nullcontext():
                tally, took = asyncio.run(work(options, place, texts, alone, options.seconds))
                row = summary(tally, took) | {"rss_mb": resident(server), "files": open_files(server)}
            found.append(row)
            print(f"{kind}: {json.dumps(row)}", flush=True)
    p99 = {kind: statistics.median(float(str(row["p99_ms"])) for row in found) for kind, found in rows.items()}
    print(f"p99 {p99['alone']} ms alone, {p99['beside']} ms beside {options.connections - options.working} others")
    return {"p99_ms": p99, "ratio": round(p99["beside"] / p99["alone"], 2), "others": dict(others), "rows": rows}


@contextmanager
def disturbing(options: argparse.Namespace, place: Place, others: "Counter[str]") -> Iterator[None]:
    """The other connections, in a process of its own, while the block runs."""
    words = [sys.executable, __file__, options.folder, "--disturb", str(place.port)]
    words += ["--connections", str(options.connections - options.working), "--slow", str(options.slow)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, encoding="utf-8") as child:
        assert child.stdout is not None and child.stdin is not None
        assert child.stdout.readline() == "all are open\n"
        yield
        child.stdin.close()
        others.update(json.loads(child.stdout.read()))


async def disturb(options: argparse.Namespace) -> None:
    """In the child: hold the other connections open until standard input ends, and count what the server does."""
    seen: Counter[str] = Counter()
    kinds = list(itertools.islice(itertools.cycle(KINDS), options.slow))
    kinds += ["polite"] * (options.connections - options.slow)
    tasks = [asyncio.ensure_future(keep_open(options.disturb, kind, seen)) for kind in kinds]
    while sum(seen[f"{kind}: opened"] for kind in (*KINDS, "polite")) < len(kinds):
        await asyncio.sleep(0.1)
    print("all are open", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    print(json.dumps(dict(seen)))


async def keep_open(port: int, kind: str, seen: "Counter[str]") -> None:
    """One connection, opened again when the server closes it."""
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            seen[f"{kind}: opened"] += 1
            with suppress(OSError, EOFError):
                await (ask_for_health(reader, writer, seen) if kind == "polite" else drip(reader, writer, kind, seen))
            seen[f"{kind}: closed"] += 1
            writer.close()
        except OSError as error:
            seen[f"{kind}: {type(error).__name__}"] += 1
        await asyncio.sleep(random.random())


async def ask_for_health(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seen: "Counter[str]") -> None:
    while True:
        writer.write(HEALTH)
        answer = await reader.readuntil(b'{"status":"ok"}')
        seen[f"polite: {answer.split()[1].decode()}"] += 1
        await asyncio.sleep(1 + 3 * random.random())


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kind: str, seen: "Counter[str]") -> None:
    """Send one byte per second until the server answers or closes."""
    beginning, more = KINDS[kind]
    writer.write(beginning)
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                if answer := await reader.read(1000):
                    seen[f"{kind}: {answer.split()[1].decode()}"] += 1
                return
        writer.write(b"x" * more)


async def work(
    options: argparse.Namespace, place: Place, texts: list[str], alone: dict[str, str], seconds: float
) -> tuple[Tally, float]:
    """The connections that work: each sends a sentence, waits for the answer and sends the next."""
    tally, started, turns = Tally(), time.monotonic(), itertools.cycle(texts)
    end = started + seconds
    await asyncio.gather(*(client(place, turns, end, tally, alone) for _ in range(options.working)))
    return tally, time.monotonic() - started


def soak(
    options: argparse.Namespace, place: Place, server: int, texts: list[str], alone: dict[str, str]
) -> dict[str, object]:
    rows = []
    for minute in range(max(1, round(options.soak))):
        tally, took = asyncio.run(work(options, place, texts, alone, min(60.0, 60 * options.soak)))
        rows.append(summary(tally, took) | {"rss_mb": resident(server), "files": open_files(server)})
        print(f"minute {minute + 1}: {json.dumps(rows[-1])}", flush=True)
    memory = [float(str(row["rss_mb"])) for row in rows]
    half = rows[: len(rows) // 2 or 1], rows[len(rows) // 2 :]
    p99 = [statistics.median(float(str(row["p99_ms"])) for row in part) for part in half]
    print(f"memory {memory[0]} MB after the first minute, {memory[-1]} at the end; p99 {p99[0]} ms, then {p99[1]} ms")
    return {"rows": rows}


def open_files(pid: int) -> int:
    return len([*Path(f"/proc/{pid}/fd").iterdir()])


if __name__ == "__main__":
    main()
