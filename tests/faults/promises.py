"""What is promised when something breaks: one table. The tests try every cell; docs/reference/promises.md shows it."""

FAULTS = {
    "SIGKILL": "the process is killed: `kill -9`, out of memory, a power cut",
    "SIGTERM": "the process is asked to end, as by a batch system or `systemctl stop`",
    "SIGINT twice": "Ctrl-C, and Ctrl-C again",
    "disk full": "from that moment no file can grow: a full disk, a quota or `ulimit -f`",
    "read-only": "from that moment the folder of the output cannot be written",
    "vanished": "an input is deleted: the pairs of a training, the weights of a model, the text to answer",
    "changed": "such an input gets other content",
    "bit flip": "one bit flips in the newest file that the next start reads: pairs, store, checkpoint, weights",
    "clock": "the wall clock jumps ten years ahead, then back",
}

# word of the table: what is promised
OUTCOMES = {
    "again": "It ends at once. The same command afterwards gives the same result as if nothing had happened, and "
    "clears what was left behind.",
    "saved": "It ends after the current step, saves, says how to continue, and exits with 143. The same command "
    "afterwards continues there and gives the same result.",
    "kept": "It ends, keeps the finished part and says how to continue. The same command afterwards gives the same "
    "result.",
    "drained": "It answers the requests that have come, refuses new ones, and exits with 0.",
    "exit 2": "One sentence names the file, the reason and what to do. Nothing that was there changes. Once that is "
    "corrected, the same command gives the same result.",
    "exit 3": "One sentence says what is wrong with the data. Nothing that was there changes. With the right data, the "
    "same command gives the same result.",
    "exit 4": "One sentence names the damaged file. Nothing that was there changes. With the right file, the same "
    "command gives the same result.",
    "exit 5": "One sentence names the file and the reason. What was there before stays, also the last checkpoint. With "
    "room on the disk, the same command gives the same result.",
    "skipped": "The damaged checkpoint is reported, skipped and kept under another name. The run continues from the "
    "one before and gives the same result.",
    "not seen": "Nothing is promised: public weights bring no hash that could show it. The command ends with 0 or 4.",
    "same": "It ends as if nothing had happened, with the same result.",
}

STAGES = {
    "checking": "`train` checks the pairs",
    "tokenizer": "`train` learns the tokenizer",
    "encoding": "`train` builds the token store",
    "steps": "`train` is between two updates",
    "validation": "`train` measures the validation loss",
    "checkpoint": "`train` writes a checkpoint",
    "finish": "`train` writes the model",
    "engine": "`train` makes the fast engine",
    "translate": "`translate -o FILE`, between two chunks",
    "evaluate": "`evaluate --outputs FILE`, before the model answers",
    "export": "`export --out FOLDER` writes",
    "import": "`import --out FOLDER` writes",
    "ladder": "`ladder` trains its first model",
    "serve": "`serve` between two requests",
}

TABLE = """
           | SIGKILL | SIGTERM | SIGINT twice | disk full | read-only | vanished | changed | bit flip | clock
checking   | again   | again   | again        | exit 5    | exit 2    | exit 2   | exit 3  | exit 3   | same
tokenizer  | again   | again   | again        | exit 5    | exit 2    | exit 2   | exit 3  | exit 3   | same
encoding   | again   | again   | again        | exit 5    | exit 5    | same     | same    | same     | same
steps      | again   | saved   | again        | exit 5    | exit 5    | same     | same    | skipped  | same
validation | again   | saved   | again        | exit 5    | exit 5    | same     | same    | skipped  | same
checkpoint | again   | saved   | again        | exit 5    | exit 5    | same     | same    | skipped  | same
finish     | again   | same    | again        | exit 5    | exit 5    | same     | same    | skipped  | same
engine     | again   | same    | again        | exit 5    | exit 5    | same     | same    | skipped  | same
translate  | again   | kept    | kept         | exit 5    | exit 2    | same     | same    | exit 4   | same
evaluate   | again   | again   | again        | exit 5    | exit 2    | same     | same    | exit 4   | same
export     | again   | again   | again        | exit 5    | exit 2    | same     | same    | exit 4   | same
import     | again   | again   | again        | exit 5    | exit 2    | exit 4   | exit 4  | not seen | same
ladder     | again   | again   | again        | exit 5    | exit 2    | same     | same    | skipped  | same
serve      | again   | drained | drained      | same      | same      | same     | same    | same     | same
"""


def read_table(text: str = TABLE) -> dict[tuple[str, str], str]:
    """Return (stage, fault) -> outcome, and refuse a table with other words than those above."""
    head, *rows = ([cell.strip() for cell in line.split("|")] for line in text.strip("\n").splitlines())
    cells = {(stage, fault): found for stage, *row in rows for fault, found in zip(head[1:], row, strict=True)}
    wanted = [(stage, fault) for stage in STAGES for fault in FAULTS]
    assert [*cells] == wanted, f"the table's rows and columns are not those above: {set(wanted) ^ set(cells)}"
    assert set(cells.values()) == OUTCOMES.keys(), f"not the words above: {set(cells.values()) ^ OUTCOMES.keys()}"
    return cells


def render() -> str:
    """Return the page docs/reference/promises.md, without its notice."""
    cells = read_table()
    lines = [
        "# Promises",
        "",
        "What happens when a process is killed, a disk fails or a file changes under it: a row per stage, a column per "
        "fault. The page is written from `tests/faults/promises.py`; `tests/faults/test_fault_matrix.py` and "
        "`tests/faults/test_serve_faults.py` try every cell. *The same result* means the same bytes: weights, "
        "optimizer, tokenizer, store, engine and golden answers of a run, and its log but for times.",
        "",
        f"| stage | {' | '.join(FAULTS)} |",
        "|---|" + "---|" * len(FAULTS),
        *(f"| {told} | {' | '.join(cells[stage, fault] for fault in FAULTS)} |" for stage, told in STAGES.items()),
        "",
        "## The words of the table",
        "",
        *(f"- **{word}**: {told}" for word, told in OUTCOMES.items()),
        "",
        "## The faults",
        "",
        *(f"- **{fault}**: {told}." for fault, told in FAULTS.items()),
        "",
        "Exit codes: see [the errors](../how-to/errors.md). A process that a signal ends at once has the exit code 128 "
        "+ the number of the signal in a shell: 137, 143 or 130.",
    ]
    return "\n".join(lines) + "\n"
