"""Talk with a model: a line in, an answer out, and what was said before where the model has learned to read it."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from seqloom.config import TASKS
from seqloom.errors import UsageError
from seqloom.runtime.folder import open_run
from seqloom.runtime.inputs import TURN
from seqloom.workflows.decoding import Decoding


def chat(
    folder: Path,
    said: Iterable[str],
    decoding: Decoding,
    *,
    threads: int | None = None,
    warn: Callable[[str], None],
) -> Iterator[str]:
    """The answer to each line as it comes, empty to a blank one. The model is loaded before the first is asked for."""
    task = open_run(folder).config.task.name
    if TASKS[task][0] != "pairs":
        verb = "generate" if task == "language" else "translate"
        raise UsageError(f"{folder}: a model of the task {task} holds no dialogue; try `seqloom {verb} {folder}`")
    from seqloom.runtime.translator import Translator

    translator = Translator.load(folder, threads=threads, notice=warn)
    most, keep = translator.config.data.max_tokens, translator.config.task.turns
    turns: list[str] = []
    for number, line in enumerate(said, 1):
        if not line.strip():  # nothing was said: no turn, but a line for a line
            yield ""
            continue
        turns.append(line.strip())
        source = join_turns(turns[-keep:], lambda text: len(translator.tokenizers.source.encode(text)) <= most)
        answer = decoding.run(translator, [source], lines=[number], warn=warn)[0][0].text
        turns.append(answer)
        yield answer


def join_turns(turns: list[str], fits: Callable[[str], bool]) -> str:
    """The last turns as one source: as many as the model takes, at least the last."""
    while len(turns) > 1 and not fits(TURN.join(turns)):
        turns = turns[1:]
    return TURN.join(turns)
