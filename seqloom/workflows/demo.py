"""seqloom demo: the bundled models, then all main steps on generated data, dates as people write them -> ISO 8601.

Each step is shown as the command that does the same, so that a newcomer learns the commands by watching.
"""

import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile

from rich.console import Console

from seqloom.demo.dates import generate, split_by_date
from seqloom.errors import TrainingError, UsageError
from seqloom.explain.alignment import alignment_document
from seqloom.explain.heatmap import render_heatmap
from seqloom.files.durable import replace_file
from seqloom.runtime.bundled import DEFAULT, is_installed
from seqloom.runtime.translator import Translator
from seqloom.workflows.compare import compare, draw
from seqloom.workflows.evaluate import evaluate, render
from seqloom.workflows.train import CORPUS, train

NUM_PAIRS, NUM_VALID, NUM_TEST = 40_000, 500, 1_500
RECIPE, DEFAULT_SEED = "dates", 1
WANTED = 98.0  # least exact match on the test dates, in per cent
EXAMPLES = (  # none of these dates is in the corpus
    ("Saturday the 3rd of April, 2021", "2021-04-03"),
    ("le mardi 14 juillet 1998", "1998-07-14"),
    ("1er févr. '07", "2007-02-01"),
    ("24décembre2019", "2019-12-24"),
    ("SEPTEMEBR 9TH, 84", "1984-09-09"),
    ("le trois mai deux mille seize", "2016-05-03"),
    ("11/23/1963", "1963-11-23"),
)
DRAWN = "le mardi 14 juillet 1998"
FIRST, COMPARED = "They are watching.", "I have never seen such a beautiful garden in my life."


def demo(console: Console, out: Path, seed: int = DEFAULT_SEED) -> None:
    """Write the dates, train, evaluate, translate, draw. A second call resumes training, or skips it if it is done."""
    began = time.monotonic()
    check_writable(out)
    console.print("Each step below is a command that you can run yourself.")
    show_bundled(console)
    console.print("\nNow a model of your own: Seqloom learns to read dates, while you watch.")
    write_corpus(console, out / CORPUS, seed)
    train_model(console, out, seed)
    score = measure(console, out)
    translator = open_model(out)
    show_translations(console, out, translator)
    draw_alignment(console, translator)
    say_what_next(console, out, time.monotonic() - began)
    if score < WANTED:
        raise TrainingError(
            f"only {score:.2f} % of the unseen dates are right; the demo promises {WANTED:g} %. "
            f"Please report it with the output above. Another seed may do better: --out {out}-2 --seed {seed + 1}"
        )


def check_writable(out: Path) -> None:
    """Refuse an --out that cannot be written before anything starts: a usage error, not a failed training."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise UsageError(f"{out}: cannot write there ({why}); choose another --out") from None


def step(console: Console, title: str, *command: object) -> None:
    """Print the heading of a step and the command that does the same."""
    console.print(f"\n{title}", style="bold", markup=False)
    if command:
        line = shlex.join(str(word) for word in command)
        console.print(f"$ seqloom {line}", style="cyan", markup=False)


def show_bundled(console: Console) -> None:
    """A first translation in a process of its own, from its start, and the generations of models on one sentence."""
    if not is_installed(DEFAULT):
        console.print("This installation has no bundled models, so the tour begins with training.")
        return
    step(console, "A first translation, by a model that came with Seqloom", "translate", FIRST)
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "seqloom", "translate", FIRST], capture_output=True, encoding="utf-8", check=False
    )
    seconds = time.monotonic() - began
    console.print(f"{(done.stdout or done.stderr).strip()}   ({seconds:.1f} s from a cold start)", markup=False)
    step(console, "Generations of models on one sentence, trained on the same pairs", "compare", COMPARED)
    draw(compare(COMPARED), console)


def write_corpus(console: Console, folder: Path, seed: int) -> None:
    """Write train.tsv, valid.tsv and test.tsv; no date is in two of them."""
    folder.mkdir(parents=True, exist_ok=True)
    example_days = {iso for _, iso in EXAMPLES}
    pairs = [pair for pair in generate(NUM_PAIRS, seed) if pair[1] not in example_days]
    rest, test = split_by_date(pairs, NUM_TEST, seed)
    train, valid = split_by_date(rest, NUM_VALID, seed)
    for name, part in (("train", train), ("valid", valid), ("test", test)):
        write_pairs(folder / f"{name}.tsv", part)
    step(console, f"1. {len(pairs):,} dates, written by the generator into {folder}")
    for text, iso in train[:5]:
        console.print(f"  {text}  ->  {iso}", markup=False)
    console.print(
        f"train.tsv {len(train):,}, valid.tsv {len(valid):,}, test.tsv {len(test):,}; no date is in two files"
    )


def write_pairs(file: Path, pairs: Sequence[tuple[str, str]]) -> None:
    """Write a file; one of an earlier call is kept if its content is the same, and refused if it is not."""
    content = "".join(f"{text}\t{iso}\n" for text, iso in pairs).encode()
    if not file.exists():
        replace_file(file, content)
    elif file.read_bytes() != content:
        raise UsageError(
            f"{file} holds other dates than this demo writes: another --seed, or another version of Seqloom. "
            f"Delete {file.parent.parent}, or choose another --out."
        )


def train_model(console: Console, out: Path, seed: int) -> None:
    chosen = ("--seed", seed) if seed != DEFAULT_SEED else ()
    pairs, valid = out / CORPUS / "train.tsv", out / CORPUS / "valid.tsv"
    files = (pairs, "--valid", valid, "--out", out)
    step(console, "2. Train (Ctrl-C stops, `seqloom demo` continues)", "train", *files, "--recipe", RECIPE, *chosen)
    train(pairs, valid=valid, out=out, recipe=RECIPE, seed=seed)


def measure(console: Console, out: Path) -> float:
    """Exact match on the unseen dates, in per cent."""
    step(console, "3. Measure on dates it has never seen", "evaluate", out, out / CORPUS / "test.tsv")
    report = evaluate(out, str(out / CORPUS / "test.tsv"), say=lambda message: console.print(message, markup=False))
    console.print(render(report), markup=False)
    return report.scores["exact_match"].score


def open_model(out: Path) -> Translator:
    return Translator.load(out)


def show_translations(console: Console, out: Path, translator: Translator) -> None:
    step(console, "4. Translate", "translate", out)
    width = max(len(text) for text, _ in EXAMPLES)
    texts = [text for text, _ in EXAMPLES]
    for (text, wanted), got in zip(EXAMPLES, translator.translate(texts), strict=True):
        verdict = "" if got == wanted else f"   (wrong; correct: {wanted})"
        console.print(f"  {text:<{width}}  ->  {got}{verdict}", markup=False)


def draw_alignment(console: Console, translator: Translator) -> None:
    """Draw which letters the model attended to while it wrote each digit."""
    step(console, "5. Where it looked: each row is a digit it wrote, each column a letter it read")
    document = alignment_document(*translator.align(DRAWN))
    colour = console.is_terminal and console.color_system is not None
    console.print(render_heatmap(document, width=console.width, colour=colour))


def say_what_next(console: Console, out: Path, seconds: float) -> None:
    folder = shlex.quote(str(out))
    step(console, f"That was all, in {seconds / 60:.1f} minutes. What to try next:")
    activate = Path(sys.executable).with_name("activate")
    if shutil.which("seqloom") is None and activate.exists():
        console.print(
            f"  source {shlex.quote(str(activate))}   # once, so that your shell finds `seqloom`", markup=False
        )
    for line in (
        'seqloom compare "your own sentence" -o page.html       # every view of every generation, on one page',
        'seqloom translate fr-en "Ils regardent."               # `seqloom models` lists the bundled models',
        "seqloom serve                                          # the same models in your browser",
        f'echo "the 1st of may, 2033" | seqloom translate {folder} --n-best 3 --scores',
        f"seqloom info {folder}",
        "seqloom doctor pairs.tsv                               # your own file: source<TAB>target, one pair per line",
        "seqloom train pairs.tsv --out runs/mine --budget 20m",
        "seqloom recipes dates                                  # the settings of this demo, to copy and change",
    ):
        console.print(f"  {line}", markup=False)
