"""What an answer over HTTP costs besides the search: processor time per request of two trees, endpoint by endpoint.

    git worktree add ../before COMMIT
    python benchmarks/http_cost.py --against ../before

Each tree serves a small model in a process of its own, whose search is replaced by one that returns the text itself:
what is left is reading the request, the limits, the queue and writing the answer. Both servers run at the same time and
are asked by turns, in batches over one connection that stays open. What is compared is the processor time (user and
system, of all threads) that each server says it has used; the ratio is that of the medians over the rounds.
"""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import urllib.parse
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
SETTINGS = (
    "model.kind=rnn", "model.width=8", "model.layers=1", "text.tokenizer=char", "text.vocab_size=300",
    "train.max_steps=1", "train.schedule=constant", "train.threads=1", "data.valid_pairs=5", "data.source_lang=en",
    "data.target_lang=de",
)  # fmt: skip
# Run by the Python of each tree: it prints the port, then its processor time for each line that it is given.
SERVE = """
import sys, threading, time
from seqloom.runtime.parts import Translation
try:
    from seqloom.serve.finding import Found
except ModuleNotFoundError:  # as earlier trees call it
    from seqloom.serve.search import Found
from seqloom.serve.server import Server, listen
from seqloom.serve.service import Service
from seqloom.workflows.serve import load_pair

service = Service([load_pair(sys.argv[1], threads=1)])
for model in service.models.values():
    model.batcher.find = lambda texts, wanted: [Found([Translation(text, 0.0, 0.0)], []) for text in texts]
with listen("127.0.0.1", 0) as bound:
    started = threading.Event()
    server = Server(service, started.set)
    thread = threading.Thread(target=server.run, args=([bound],))
    thread.start()
    started.wait(60)
    print(bound.getsockname()[1], flush=True)
    for line in sys.stdin:
        print(time.process_time(), flush=True)
    server.should_exit = True
    thread.join(30)
"""
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
SENTENCE = "the cat sat on the mat and the dog ran away"


@dataclass(frozen=True)
class Asked:
    """A request: what it is called in the table, and what is sent."""

    name: str
    method: str
    path: str
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)


def post(name: str, path: str, **fields: object) -> Asked:
    return Asked(name, "POST", path, json.dumps(fields).encode(), JSON)


LIBRE = {"q": SENTENCE, "source": "en", "target": "de"}
REQUESTS = [
    Asked("GET /health", "GET", "/health"),
    Asked("GET /languages", "GET", "/languages"),
    Asked("GET /v1/model", "GET", "/v1/model"),
    post("POST /translate, one text", "/translate", **LIBRE),
    post("POST /translate, 32 texts", "/translate", **LIBRE | {"q": [f"{number} {SENTENCE}" for number in range(32)]}),
    post("POST /translate, HTML", "/translate", **LIBRE | {"q": f"<p>{SENTENCE}</p>", "format": "html"}),
    Asked("POST /translate, form", "POST", "/translate", urllib.parse.urlencode(LIBRE).encode(), FORM),
    post("POST /v1/translate", "/v1/translate", **LIBRE),
    post("POST /v2/translate", "/v2/translate", text=[SENTENCE], source_lang="EN", target_lang="DE"),
    post("POST /detect", "/detect", q=SENTENCE),
    post("POST /translate, refused", "/translate", source="en", target="de"),
]


class Served:
    """One tree's server, asked over one connection."""

    def __init__(self, tree: Path, model: Path, stack: ExitStack) -> None:
        command = [sys.executable, "-c", SERVE, str(model)]
        pipe = subprocess.PIPE
        self.process = stack.enter_context(
            subprocess.Popen(command, stdin=pipe, stdout=pipe, encoding="utf-8", cwd=tree, env=environment_of(tree))
        )
        stack.callback(self.process.stdin.close)
        port = self.process.stdout.readline().strip()
        if not port:
            sys.exit(f"{tree}: its server did not start; see above")
        self.connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
        stack.callback(self.connection.close)

    def seconds(self) -> float:
        """The processor time that the server has used so far."""
        print(file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def ask(self, asked: Asked) -> int:
        self.connection.request(asked.method, asked.path, asked.body, asked.headers)
        answer = self.connection.getresponse()
        answer.read()
        return answer.status

    def microseconds(self, asked: Asked, times: int) -> float:
        """Processor time per request."""
        before = self.seconds()
        for _ in range(times):
            self.ask(asked)
        return (self.seconds() - before) / times * 1e6


def environment_of(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def train(tree: Path, folder: Path) -> Path:
    """A model that one tree has trained for one update: its answers are never used."""
    pairs, out = folder / "pairs.tsv", folder / f"model-{tree.name}"
    pairs.write_text("".join(f"w{number} a\tb{number} c\n" for number in range(100)), "utf-8")
    words = [word for setting in SETTINGS for word in ("--set", setting)]
    command = [sys.executable, "-m", "seqloom", "train", str(pairs), "--out", str(out), *words]
    done = subprocess.run(command, cwd=tree, env=environment_of(tree), capture_output=True, encoding="utf-8")
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return out


def row(name: str, before: list[float], now: list[float]) -> str:
    ratios = [b / a for a, b in zip(before, now, strict=True)]
    ratio = statistics.median(now) / statistics.median(before)
    numbers = f"{statistics.median(before):,.0f} | {statistics.median(now):,.0f}"
    return f"| {name} | {numbers} | {ratio:.3f} | {min(ratios):.3f} to {max(ratios):.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, required=True, help="the folder of the earlier tree")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--times", type=int, default=300, help="requests per round, endpoint and tree")
    parser.add_argument("--only", default="", help="requests whose name contains this")
    options = parser.parse_args()
    trees = [options.against.resolve(), ROOT]
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        models = [train(tree, Path(scratch)) for tree in trees]
        servers = [Served(tree, model, stack) for tree, model in zip(trees, models, strict=True)]
        print("| microseconds of processor time per request | before | now | ratio | single rounds |")
        print("|---|--:|--:|--:|--:|", flush=True)
        for asked in REQUESTS:
            if options.only not in asked.name:
                continue
            statuses = {server.ask(asked) for server in servers for _ in range(20)}  # also warms up
            if len(statuses) > 1:
                print(
                    f"| {asked.name} | the trees answer with different statuses: {sorted(statuses)} | | | |", flush=True
                )
                continue
            found: list[list[float]] = [[], []]
            for number in range(options.rounds):
                for place in (0, 1) if number % 2 else (1, 0):
                    found[place].append(servers[place].microseconds(asked, options.times))
            print(row(asked.name, *found), flush=True)
        print(json.dumps({"rounds": options.rounds, "load": os.getloadavg()[0]}), file=sys.stderr)


if __name__ == "__main__":
    main()
