"""From settings to a task: the only file of this layer that reads a config."""

from collections.abc import Callable

from seqloom.config import Config
from seqloom.tasks.api import Task
from seqloom.tasks.classify import Classify
from seqloom.tasks.denoise import Denoise
from seqloom.tasks.language import Language
from seqloom.tasks.masked import Masked
from seqloom.tasks.tag import Tag
from seqloom.tasks.translate import Translate


def build_translate(config: Config) -> Task:
    return Translate(config.train.scheduled_sampling)


TASKS: dict[str, Callable[[Config], Task]] = {
    "translate": build_translate,
    "summarise": build_translate,
    "dialogue": build_translate,
    "pronounce": build_translate,
    "classify": lambda config: Classify(),
    "tag": lambda config: Tag(),
    "language": lambda config: Language(config.task.window, carries=config.model.kind == "rnn"),
    "masked": lambda config: Masked(config.task.hide),
    "denoise": lambda config: Denoise(config.task.hide, config.task.permute),
}


def build_task(config: Config) -> Task:
    return TASKS[config.task.name](config)
