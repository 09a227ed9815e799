"""The figures of docs/lineage.md, from real runs: each part is a few commands of Seqloom, printed before they run.

    SEQLOOM_DATA=... python benchmarks/lineage.py multi30k            the whole ladder, en-de          12 x 40 minutes
    SEQLOOM_DATA=... python benchmarks/lineage.py europarl            BLEU by length, en-fr; alignment  3 x 40 minutes
    SEQLOOM_DATA=... python benchmarks/lineage.py cmudict             spelling to sound, an ensemble    3 x 30 minutes

Everything goes on where it was stopped: run the same command again. Budgets are wall-clock time, so leave the machine
alone meanwhile. Settings were chosen on validation data; each test file is read here, at the end of a run, and nowhere
else.
"""

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path

EUROPARL_RUNGS = "lstm,lstm-reversed,rnnsearch-additive"
G2P = ("g2p-lstm", "g2p-rnnsearch", "g2p-transformer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--out", type=Path, default=Path("runs/lineage"))
    parser.add_argument("--budget", help="of each run, when not the usual one")
    arguments = parser.parse_args()
    data = os.environ.get("SEQLOOM_DATA")
    if not data:
        sys.exit("SEQLOOM_DATA names no folder: it holds multi30k/, europarl-en-fr/, cmudict-g2p/ ...")
    PARTS[arguments.part](Path(data), arguments.out / arguments.part, arguments.budget)


def multi30k(data: Path, out: Path, budget: str | None) -> None:
    def pair(part: str) -> str:
        return f"{data}/multi30k/{part}.en.gz,{data}/multi30k/{part}.de.gz"

    seqloom("ladder", pair("train"), "--valid", pair("val"), "--test", pair("test2016"),
            "--budget", budget or "40m", "--out", out)  # fmt: skip


def europarl(data: Path, out: Path, budget: str | None) -> None:
    """The dev part is the test: nothing was chosen on it; validation is held out of the training part."""
    folder = data / "europarl-en-fr"
    seqloom("ladder", f"{folder}/train.en.gz,{folder}/train.fr.gz", "--test", f"{folder}/dev.en.gz,{folder}/dev.fr.gz",
            "--rungs", EUROPARL_RUNGS, "--budget", budget or "40m", "--out", out)  # fmt: skip
    gold = data / "hansards-gold-en-fr"
    model, pairs = out / "rnnsearch-additive", gold / "enfr.src-tgt"
    print(seqloom("align", model, pairs, "--gold", gold / "enfr.gold", quiet=True))


def cmudict(data: Path, out: Path, budget: str | None) -> None:
    """Rungs are recipes; written out as files they are taken as rungs of one's own."""
    folder = data / "cmudict-g2p"
    out.parent.mkdir(parents=True, exist_ok=True)
    recipes = [out.parent / f"{name}.toml" for name in G2P]
    for name, file in zip(G2P, recipes, strict=True):
        file.write_text(seqloom("recipes", name, quiet=True), "utf-8")
    test = folder / "g014b2b.test.gz"
    seqloom("ladder", folder / "g014b2b.train.gz", "--test", test, "--rungs", ",".join(map(str, recipes)),
            "--budget", budget or "30m", "--out", out)  # fmt: skip
    first, *others = (out / name for name in G2P)
    members = [word for other in others for word in ("--with", other)]
    print(seqloom("evaluate", first, test, *members, quiet=True))


def seqloom(*words: object, quiet: bool = False) -> str:
    """Run one command of Seqloom; with `quiet` its output is the answer."""
    command = [sys.executable, "-m", "seqloom", *map(str, words)]
    print("$", shlex.join(["seqloom", *command[3:]]), file=sys.stderr, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE if quiet else None, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout or ""


PARTS = {"multi30k": multi30k, "europarl": europarl, "cmudict": cmudict}

if __name__ == "__main__":
    main()
