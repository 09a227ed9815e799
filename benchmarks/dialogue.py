"""Train and evaluate a dialogue model (Schema-Guided Dialogue): perplexity, chrF, distinct-n and a transcript.

    SEQLOOM_DATA=DIR python benchmarks/dialogue.py --work runs/talk --budget 30m [--turns 3] [--split dev]

Each line of the files holds a user's turn and the system's answer; the lines of a dialogue follow one another. With
--turns N a source holds the last N turns, back to the last goodbye: the files do not mark where a dialogue begins. In
the transcript the model answers the user's turns of the first dialogue of the split. It sees its own earlier answers,
not those of the system.
"""

import argparse
import gzip
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import seqloom
from seqloom.decode.options import SearchRequest
from seqloom.runtime.inputs import TURN
from seqloom.workflows.chat import chat
from seqloom.workflows.evaluate import evaluate, render

GOODBYE = re.compile(
    r"\b(?:good ?bye|bye|have a (?:\w+ )?(?:day|time|one|evening|night|trip|flight|stay))\b", re.IGNORECASE
)
Exchange = tuple[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for the run and its data")
    parser.add_argument("--budget", default="30m")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--split", default="dev", choices=("dev", "test"))
    parser.add_argument("--set", action="append", default=[], help="further settings")
    parser.add_argument("--most", type=int, default=0, help="use only this many lines of each file; 0 = all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    data = Path(os.environ["SEQLOOM_DATA"]) / "dialogue-sgd"
    options.work.mkdir(parents=True, exist_ok=True)
    files = {name: write_turns(data, name, options) for name in ("train", "dev", options.split)}
    out = options.work / f"turns-{options.turns}-{options.seed}"
    seqloom.train(
        files["train"], valid=files["dev"], out=out, recipe="dialogue-small", budget=options.budget, seed=options.seed,
        threads=options.threads, overrides=[f"task.turns={options.turns}", *options.set],
    )  # fmt: skip
    report = evaluate(out, str(files[options.split]), threads=options.threads, allow_loss=True, say=print)
    print(render(report))
    found = report.to_json()
    kept = {name: [found[name][part] for part in ("score", "low", "high")] for name in ("perplexity", "chrf", "bleu")}
    print(json.dumps({"split": options.split, "turns": options.turns, **kept, **found["diversity"]}))
    show_transcript(out, next(dialogues(read_exchanges(data / f"{options.split}.tsv.gz"))))


def read_exchanges(file: Path) -> list[Exchange]:
    """Yield (user, system) for each line that has both."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        cells = [line.rstrip("\n").split("\t") for line in lines]
    return [(row[0], row[1]) for row in cells if len(row) == 2 and all(row)]


def dialogues(exchanges: list[Exchange]) -> Iterator[list[Exchange]]:
    """Group the exchanges into dialogues: each ends with a goodbye of the system."""
    dialogue: list[Exchange] = []
    for exchange in exchanges:
        dialogue.append(exchange)
        if GOODBYE.search(exchange[1]):
            yield dialogue
            dialogue = []
    if dialogue:
        yield dialogue


def write_turns(data: Path, name: str, options: argparse.Namespace) -> Path:
    """Return the file itself, or write a copy whose sources hold the earlier turns."""
    if options.turns == 1 and not options.most:
        return data / f"{name}.tsv.gz"
    file: Path = options.work / f"{name}-{options.turns}.tsv"
    exchanges = read_exchanges(data / f"{name}.tsv.gz")
    with file.open("w", encoding="utf-8") as out:
        for dialogue in dialogues(exchanges[: options.most or None]):
            turns = [turn for exchange in dialogue for turn in exchange]
            for place in range(0, len(turns), 2):
                source = TURN.join(turns[max(0, place + 1 - options.turns) : place + 1])
                out.write(f"{source}\t{turns[place + 1]}\n")
    return file


def show_transcript(out: Path, dialogue: list[Exchange]) -> None:
    users = [user for user, _ in dialogue]
    for (user, system), answer in zip(dialogue, chat(out, users, SearchRequest(), warn=print), strict=True):
        print(f"user      {user}\nmodel     {answer}\n(system)  {system}\n")


if __name__ == "__main__":
    main()
