"""Train a bundled model: the recipe, the data and the minutes behind each name in the box.

    SEQLOOM_DATA=... python benchmarks/box/train.py rnnsearch --minutes 15 [--work runs/box]

Minutes are minutes of *processor time* of one thread, so that other work on the machine decides nothing: generations
that were trained for the same minutes can be compared as inventions. The four generations share the training pairs
(corpus.py) and the tokenizer of en-fr. The same command continues a run. Then: pack.py NAME runs/box/NAME.
"""

import argparse
import gzip
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

time.monotonic = time.process_time  # before Seqloom is imported: budgets count the time of this process

import seqloom  # noqa: E402
from seqloom.runtime.bundled import BOX  # noqa: E402

HERE = Path(__file__).parent
TATOEBA_DEV, CMUDICT = Path("tatoeba-en-fr", "dev.tsv.gz"), Path("cmudict-g2p", "g014b2b.train.gz")


@dataclass(frozen=True)
class Arm:
    """A recipe with settings; `source` is the language of the first column, or '' for words and phonemes."""

    recipe: str | Path
    settings: tuple[str, ...] = ()
    source: str = "en"
    tokenizer: Path | None = BOX / "en-fr"


TRANSLATOR = HERE / "translator.toml"
ARMS = {
    "en-fr": Arm(TRANSLATOR, tokenizer=None),
    "fr-en": Arm(TRANSLATOR, source="fr", tokenizer=None),
    "rnn": Arm("ladder/rnn"),
    "lstm": Arm("ladder/lstm-reversed"),
    "rnnsearch": Arm("ladder/rnnsearch-additive"),
    # The translators' recipe had learned next to nothing after these minutes: BLEU 0.7.
    "transformer": Arm("transformer-small", ("model.positions=rotary",)),
    "pronounce": Arm(
        "g2p-lstm", ("model.width=376", "model.dropout=0.3", "train.max_epochs=0"), source="", tokenizer=None
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=[*ARMS])
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/box"))
    parser.add_argument("--set", dest="settings", action="append", default=[], help="SETTING=VALUE, for a trial")
    parser.add_argument("--init", type=Path, help="begin with the weights of this run, with a warm-up of its own")
    parser.add_argument("--out", help="name of the run, for a trial")
    options = parser.parse_args()
    data = Path(os.environ.get("SEQLOOM_DATA") or sys.exit("SEQLOOM_DATA must name the folder with the corpora"))
    options.work.mkdir(parents=True, exist_ok=True)
    arm = ARMS[options.name]
    pairs, valid = files(arm, data, options.work)
    languages = [f"data.source_lang={arm.source}", f"data.target_lang={'fr' if arm.source == 'en' else 'en'}"]
    settings = [*arm.settings, *(languages if arm.source else []), *options.settings]
    out = options.work / (options.out or options.name)
    run = seqloom.train(pairs, valid=valid, out=out, recipe=arm.recipe, overrides=settings, tokenizer=arm.tokenizer,
                        init=options.init, budget=60 * options.minutes, threads=1)  # fmt: skip
    facts = run.facts
    print(f"{options.name}: {facts.step:,} updates, {facts.passes:.1f} passes, validation {facts.valid_scores}")


def files(arm: Arm, data: Path, work: Path) -> tuple[Path, Path | None]:
    """The training pairs, and those that choose the weights (None: held out of the training pairs)."""
    if not arm.source:
        return data / CMUDICT, None
    pairs, valid = work / f"from-{arm.source}.tsv", work / f"from-{arm.source}.dev.tsv"
    if not pairs.exists():
        swap = ["--swap"] if arm.source == "fr" else []
        subprocess.run([sys.executable, HERE / "corpus.py", pairs, *swap], check=True)
    with gzip.open(data / TATOEBA_DEV, "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    valid.write_text(
        "".join("\t".join(sides if arm.source == "en" else sides[::-1]) + "\n" for sides in lines), "utf-8"
    )
    return pairs, valid


if __name__ == "__main__":
    main()
