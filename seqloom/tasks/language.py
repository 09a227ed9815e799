"""Language modelling: the next token given the tokens before it.

    loss = - sum_t log p(y_t | y_<t)

A GPT reads each window without memory of earlier ones. A recurrent network carries its state from window to window, but
no gradient: backpropagation through time is truncated at the window (Williams and Peng 1990),

    d loss_t / d theta = sum_s (d loss_t / d h_t) (d h_t / d h_s) (d h_s / d theta),    s = window's first token .. t
"""

from collections.abc import Iterator

from torch import Tensor, nn

from seqloom.data.language_windows import StoredText, Windows
from seqloom.data.store import Store
from seqloom.models.api import LanguageModel, State, each_tensor
from seqloom.nn.loss import Loss
from seqloom.tasks.api import Task, token_loss


class Language(Task):
    def __init__(self, window: int, carries: bool) -> None:
        self.window, self.carries = window, carries
        self.state: State = None
        self.saved: dict[str, Tensor] = {}  # from a checkpoint, until the model is there to restore its state

    def batches(self, store: Store, batch_tokens: int, seed: int) -> StoredText:
        return StoredText(store, self.window, batch_tokens, carries=self.carries, seed=seed)

    def loss(self, model: nn.Module, batch: Windows, smoothing: float = 0.0, progress: float = 0.0) -> Loss:
        assert isinstance(model, LanguageModel)
        hidden, after = model.read(batch.inputs, self.state_before(model, batch))
        if self.carries:
            self.state = each_tensor(Tensor.detach, after)  # truncation: the value is carried on, the gradient is not
        return token_loss(model, hidden.flatten(0, 1), batch.targets.flatten(), smoothing)

    def state_before(self, model: LanguageModel, batch: Windows) -> State:
        if batch.fresh or (self.state is None and not self.saved):
            self.saved = {}
            return model.begin(len(batch.inputs))
        if self.saved:
            tensors = iter([self.saved[name] for name in sorted(self.saved)])
            nothing = model.begin(len(batch.inputs))
            self.state, self.saved = each_tensor(lambda zeros: next(tensors).to(zeros.device), nothing), {}
        return self.state

    def carried(self) -> dict[str, Tensor]:
        if self.saved:
            return self.saved
        return {f"state.{place:04d}": tensor for place, tensor in enumerate(tensors_of(self.state))}

    def restore_carried(self, tensors: dict[str, Tensor]) -> None:
        self.saved = tensors

    def drop_carried(self) -> None:
        self.state, self.saved = None, {}


def tensors_of(state: State) -> Iterator[Tensor]:
    """All tensors of a state, in the order of `each_tensor`."""
    if isinstance(state, Tensor):
        yield state
    elif isinstance(state, (dict, tuple, list)):
        for part in state.values() if isinstance(state, dict) else state:
            yield from tensors_of(part)
