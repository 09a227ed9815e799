"""Looking at, or replacing, what parts of a model give while a text is explained.

A server explains in one thread and translates in others, with the same model: a hook acts only in the thread that set
it.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from torch import nn

Hook = Callable[[nn.Module, Any, Any], Any]  # (part, inputs, output) -> another output, or None to leave it


@contextmanager
def hooked(parts: Iterable[nn.Module], hook: Hook) -> Iterator[None]:
    """Inside, `hook` is called with every output of these parts that this thread computes."""
    own = get_ident()

    def in_this_thread(part: nn.Module, inputs: Any, output: Any) -> Any:
        return hook(part, inputs, output) if get_ident() == own else None

    handles = [part.register_forward_hook(in_this_thread) for part in parts]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
