"""Reproduce the figures of docs/lineage.md. Each part is a few Seqloom commands, which are printed before they run.

    SEQLOOM_DATA=... python benchmarks/lineage.py multi30k --budget 30m       the whole ladder, en-de          12 runs
    SEQLOOM_DATA=... python benchmarks/lineage.py europarl --budget 30m       BLEU by length, en-fr; alignment  3 runs
    SEQLOOM_DATA=... python benchmarks/lineage.py cmudict --budget 30m        spelling to sound, an ensemble    3 runs

After a stop, run the same command again: it resumes. Budgets are wall-clock time, so run nothing else on the machine
meanwhile. With `--threads 1` the same command can run once per core, and the calls share the rungs. The settings were
chosen on validation data; the test files are used only here, at the end of a run. Beside the report, OUT/PART gets
alignment.txt (error rate against gold) and ensemble.txt (phoneme and word error rates).
"""

import argparse
import json
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
    parser.add_argument("--budget", required=True, help="time of each run")
    parser.add_argument("--threads", default="0", help="threads of each run; 0 = all cores")
    arguments = parser.parse_args()
    data = os.environ.get("SEQLOOM_DATA")
    if not data:
        sys.exit("SEQLOOM_DATA must name a folder with multi30k/, europarl-en-fr/, cmudict-g2p/ ...")
    threads = arguments.threads
    more = ["--budget", arguments.budget, *([] if threads == "0" else ["--threads", threads])]
    PARTS[arguments.part](Path(data), arguments.out / arguments.part, more)


def multi30k(data: Path, out: Path, more: list[str]) -> None:
    def pair(part: str) -> str:
        return f"{data}/multi30k/{part}.en.gz,{data}/multi30k/{part}.de.gz"

    seqloom("ladder", pair("train"), "--valid", pair("val"), "--test", pair("test2016"), "--out", out, *more)


def europarl(data: Path, out: Path, more: list[str]) -> None:
    """Run the ladder on Europarl, with its dev part as test set: no setting was chosen on it.

    Validation data is held out of the training part. There are seven times as many pairs as captions, and sentences are
    twice as long: so more pieces, less dropout, larger batches.
    """
    folder = data / "europarl-en-fr"
    seqloom("ladder", f"{folder}/train.en.gz,{folder}/train.fr.gz", "--test", f"{folder}/dev.en.gz,{folder}/dev.fr.gz",
            "--rungs", EUROPARL_RUNGS, "--out", out, *more, "--set", "text.vocab_size=8000",
            "--set", "model.dropout=0.1", "--set", "train.batch_tokens=2048")  # fmt: skip
    gold = data / "hansards-gold-en-fr"
    model, pairs = out / "rnnsearch-additive", gold / "enfr.src-tgt"
    if (model / "model.safetensors").exists():  # else another call is still training it
        found = json.loads(seqloom("align", model, pairs, "--gold", gold / "enfr.gold", "--json", quiet=True))
        tell(out / "alignment.txt", json.dumps({name: found[name] for name in found if name != "alignments"}, indent=1))


def cmudict(data: Path, out: Path, more: list[str]) -> None:
    """Run the g2p recipes as a ladder: they are written to files, which the ladder accepts as rungs."""
    folder = data / "cmudict-g2p"
    out.parent.mkdir(parents=True, exist_ok=True)
    recipes = [out.parent / f"{name}.toml" for name in G2P]
    for name, file in zip(G2P, recipes, strict=True):
        file.write_text(seqloom("recipes", name, quiet=True), "utf-8")
    test = folder / "g014b2b.test.gz"
    seqloom("ladder", folder / "g014b2b.train.gz", "--test", test, "--rungs", ",".join(map(str, recipes)),
            "--out", out, *more)  # fmt: skip
    if not all((out / name / "model.safetensors").exists() for name in G2P):
        return  # another call is still training one
    first, *others = (out / name for name in G2P)
    members = [word for other in others for word in ("--with", other)]
    singles = [seqloom("evaluate", out / name, test, quiet=True) for name in G2P]
    together = seqloom("evaluate", first, test, *members, quiet=True)
    tell(out / "ensemble.txt", "\n\n".join(map("{}:\n{}".format, [*G2P, "together"], [*singles, together])))


def tell(file: Path, text: str) -> None:
    file.write_text(text, "utf-8")
    print(text)


def seqloom(*words: object, quiet: bool = False) -> str:
    """Run one Seqloom command; with `quiet`, return its output."""
    command = [sys.executable, "-m", "seqloom", *map(str, words)]
    print("$", shlex.join(["seqloom", *command[3:]]), file=sys.stderr, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE if quiet else None, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout or ""


PARTS = {"multi30k": multi30k, "europarl": europarl, "cmudict": cmudict}

if __name__ == "__main__":
    main()
