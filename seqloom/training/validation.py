"""Validation during training: the loss on held-out data, and a sample of the model's answers."""

import math
from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import nn

from seqloom.data.store import Store
from seqloom.metrics.measures import title_of
from seqloom.tasks.api import Task
from seqloom.training.processes import ALONE, OneProcess
from seqloom.training.signals import StopFlag
from seqloom.training.state import RunState


class Stopped(Exception):
    """The user stopped the run in the middle of a validation; caught in this file."""


class Glance(Protocol):
    """A quick look at a model's answers: scores for the log, some of the answers, and how to show them."""

    def look(self, pause: Callable[[], None], processes: OneProcess) -> tuple[dict[str, float], list[str]]: ...
    def score(self) -> dict[str, float]: ...
    def show(self, before: list[str], answers: list[str]) -> list[str]: ...


class Validation:
    """Validates the model: called with the state of the run, it returns an event for the log, or None after a stop."""

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        store: Store,
        *,
        batch_tokens: int,
        device: torch.device,
        glance: Glance | None,
        tell: Callable[[str], None],
        processes: OneProcess = ALONE,
    ) -> None:
        self.processes = processes
        self.model, self.task, self.device, self.glance, self.tell = model, task, device, glance, tell
        self.batches = task.batches(store, batch_tokens, seed=0)
        self.plan = self.batches.epoch(0)

    def __call__(self, state: RunState, stop: StopFlag) -> dict[str, Any] | None:
        def pause() -> None:
            if stop:
                raise Stopped

        try:
            loss = self.loss(pause)
            scores, answers = self.glance.look(pause, self.processes) if self.glance else ({}, [])
        except Stopped:
            return None
        told = "".join(f", {title_of(name)} {score:.2f}" for name, score in scores.items())
        perplexity = math.exp(min(loss, 50))
        self.tell(f"step {state.step}: validation loss {loss:.3f}, perplexity {perplexity:.2f}{told}")
        for line in self.glance.show(state.samples, answers) if self.glance else ():
            self.tell(line)
        state.samples = answers
        return {"loss": loss, "scores": scores, "samples": answers}

    def score(self, metric: str) -> float:
        """Return this score of the model's answers to all held-out data."""
        if self.glance is None:
            raise TypeError(f"nothing measures {metric} in this run")
        return self.glance.score()[metric]

    @torch.inference_mode()
    def loss(self, pause: Callable[[], None] = lambda: None) -> float:
        """Return the mean -log p of the right answers on the held-out data, with the same random numbers each time."""
        found: dict[int, tuple[float, int]] = {}
        with torch.random.fork_rng(devices=[]):
            for number, _ in self.processes.dealt(range(len(self.plan)), pause, alone=self.task.carries):
                torch.manual_seed(number)
                part = self.task.loss(self.model, self.batches.load(self.plan[number]).to(self.device))
                found[number] = part.nll.item(), part.num_tokens
        nll, tokens = 0.0, 0
        for part_nll, part_tokens in self.processes.merged(found).values():
            nll, tokens = nll + part_nll, tokens + part_tokens
        return nll / max(1, tokens)
