"""Builds a task from settings; the only file of this folder that reads a config."""

from collections.abc import Callable

from seqloom.config import TASKS, Config
from seqloom.tasks.api import Task
from seqloom.tasks.classify import Classify
from seqloom.tasks.denoise import Denoise
from seqloom.tasks.language import Language
from seqloom.tasks.masked import Masked
from seqloom.tasks.tag import Tag
from seqloom.tasks.translate import Translate

LOSSES: dict[str, Callable[[Config], Task]] = {  # by the shape of the answers, or by the name that a task record gives
    "writes": lambda config: Translate(config.train.scheduled_sampling),
    "restores": lambda config: Denoise(config.task.hide, config.task.permute),
    "labels": lambda config: Classify(),
    "tags": lambda config: Tag(),
    "fills": lambda config: Masked(config.task.hide),
    "continues": lambda config: Language(config.task.window, carries=config.model.kind == "rnn"),
}


def build_task(config: Config) -> Task:
    record = TASKS[config.task.name]
    return LOSSES[record.loss or record.shape](config)
