"""seqloom chat: one line in, one answer out. A model that was trained with earlier turns gets them as context."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from seqloom.config import TASKS
from seqloom.decode.options import SearchRequest
from seqloom.errors import UsageError
from seqloom.runtime.folder import read_config
from seqloom.runtime.inputs import TURN
from seqloom.runtime.translator import Translator


def chat(
    folder: Path,
    said: Iterable[str],
    request: SearchRequest,
    *,
    threads: int | None = None,
    warn: Callable[[str], None],
) -> Iterator[str]:
    """The answer to each line as it comes, empty to a blank one. The model is loaded before the first line is read."""
    request.check()
    task = read_config(folder).task.name
    if TASKS[task].form != "pairs":
        verb = TASKS[task].verb
        raise UsageError(
            f"{folder}: this model was trained for {task!r} and holds no dialogue; try `seqloom {verb} {folder}`"
        )
    translator = Translator.load(folder, threads=threads, notice=warn)
    most, keep = translator.config.data.max_tokens, translator.config.task.turns
    turns: list[str] = []
    for number, line in enumerate(said, 1):
        if not line.strip():  # nothing was said: no turn, but one line out per line in
            yield ""
            continue
        turns.append(line.strip())
        source = join_turns(turns[-keep:], lambda text: len(translator.tokenizers.source.encode(text)) <= most)
        answer = translator.answer([source], request, lines=[number], warn=warn)[0][0].text
        turns.append(answer)
        yield answer


def join_turns(turns: list[str], fits: Callable[[str], bool]) -> str:
    """The last turns as one source: as many as the model can read, at least the last."""
    while len(turns) > 1 and not fits(TURN.join(turns)):
        turns = turns[1:]
    return TURN.join(turns)
