"""Gradients summed by owners, who keep the optimizer's state: the weights of one process, bit for bit."""

import multiprocessing
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file, save_file
from torch import nn

from seqloom.config import load_config
from seqloom.training import ordered_sum
from seqloom.training.gradient_clipping import scale_and_clip
from seqloom.training.optimizers import make_optimizer, optimizer_tensors
from seqloom.training.ordered_sum import OrderedSum, deal_out, pack
from seqloom.training.tensor_stream import TensorStream
from seqloom.training.world import World

PARTS, STEPS = 5, 3
forked = pytest.mark.skipif(sys.platform == "win32", reason="processes that share what the test has set")


class Model(nn.Module):
    """A large table, small layers, one that few parts use and one that none uses."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.table = nn.Embedding(211, 24)
        self.layers = nn.Sequential(nn.Linear(24, 17), nn.LayerNorm(17), nn.Linear(17, 5))
        self.seldom, self.never = nn.Linear(24, 5), nn.Linear(24, 5)

    def loss(self, step: int, part: int) -> torch.Tensor:
        torch.manual_seed(100 * step + part)
        vectors = self.table(torch.randint(211, (13,)))
        answer = self.layers(vectors) + (self.seldom(vectors) if part == 3 and step else 0.0)
        return (answer - torch.randn_like(answer)).pow(2).sum()


def config(optimizer: str) -> object:
    return load_config(overrides=[f"train.optimizer={optimizer}", "train.clip_norm=0.5", "train.learning_rate=0.01"])


def alone(optimizer: str) -> tuple[Model, dict[str, torch.Tensor], list[float]]:
    model, train = Model(), config(optimizer).train
    updates, norms = make_optimizer(model, train), []
    for step in range(STEPS):
        for part in range(PARTS):
            model.loss(step, part).backward()
        norms.append(scale_and_clip(model.parameters(), 7, train.clip_norm))
        updates.step()
        model.zero_grad()
    return model, optimizer_tensors(model, updates), norms


def one_of(rank: int, size: int, folder: Path, optimizer: str) -> None:
    """One process: its parts of each step, and the update of its own parameters."""
    torch.set_num_threads(1)
    store = dist.FileStore(str(folder / "store"), size)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    model, train = Model(), config(optimizer).train
    summed = OrderedSum(model, World(rank, size, rank, size))
    updates = make_optimizer(model, train, lambda parameter: id(parameter) in summed.is_own)
    norms = []
    for step in range(STEPS):
        for part in range(PARTS):
            if part % size == rank:
                model.loss(step, part).backward()
            if part % size + 1 == size or part + 1 == PARTS:
                summed.add(part % size + 1)
        mine = torch.tensor(summed.describe(), dtype=torch.float64)
        every = [torch.empty_like(mine) for _ in range(size)]
        dist.all_gather(every, mine)
        found = summed.settle([row.tolist() for row in every])
        norms.append(scale_and_clip(model.parameters(), 7, train.clip_norm, found))
        updates.step()
        summed.hand_out()
        model.zero_grad()
    save_file({**model.state_dict(), "norms": torch.tensor(norms, dtype=torch.float64)}, folder / f"model-{rank}")
    save_file({"": torch.zeros(1), **optimizer_tensors(model, updates)}, folder / f"optimizer-{rank}")
    dist.destroy_process_group()


@forked
@pytest.mark.parametrize("optimizer", ["adamw", "adadelta", "sgd"])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_owners_make_the_update_of_one_process(tmp_path, monkeypatch, size, optimizer):
    monkeypatch.setattr(ordered_sum, "AT_ONCE", 1000)  # so that the table is sent in pieces
    monkeypatch.setattr(ordered_sum, "LEAST", 100)
    torch.set_num_threads(1)
    model, state, norms = alone(optimizer)
    context = multiprocessing.get_context("fork")
    team = [context.Process(target=one_of, args=(rank, size, tmp_path, optimizer)) for rank in range(size)]
    for process in team:
        process.start()
    for process in team:
        process.join(120)
    assert [process.exitcode for process in team] == [0] * size
    spread: dict[str, torch.Tensor] = {}
    for rank in range(size):
        found = load_file(tmp_path / f"model-{rank}")
        assert found.pop("norms").tolist() == norms
        assert all(torch.equal(found[name], tensor) for name, tensor in model.state_dict().items())
        own = load_file(tmp_path / f"optimizer-{rank}")
        own.pop("")
        assert not spread.keys() & own.keys()  # each parameter has one owner
        spread |= own
    assert spread.keys() == state.keys()
    assert all(torch.equal(spread[name], tensor) for name, tensor in state.items())


def test_parameters_are_dealt_out_evenly_and_whole():
    sizes = [512 * 37_000, *([512 * 512] * 48), *([512] * 100)]
    for owners in (1, 2, 3, 7, 16):
        chosen = deal_out(sizes, owners)
        loads = [sum(size for size, its in zip(sizes, chosen, strict=True) if its == owner) for owner in range(owners)]
        assert sum(loads) == sum(sizes)
        assert max(loads) <= max(max(sizes), 1.1 * sum(sizes) / owners)
    assert deal_out([5, 5], 3) == [0, 1]  # the third has nothing


def test_parcels_hold_every_number_once():
    sizes = {3: 1000, 4: 7, 6: 93, 7: 1, 9: 250, 10: 100}
    parcels = pack(sizes, 100)
    assert all(0 < sum(piece.end - piece.begin for piece in parcel) <= 100 for parcel in parcels)
    for number, size in sizes.items():
        places = [range(piece.begin, piece.end) for parcel in parcels for piece in parcel if piece.parameter == number]
        assert [place for some in places for place in some] == list(range(size))
    assert len(parcels) == 16


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.float64])
def test_a_stream_of_tensors_is_a_safetensors_file(tmp_path, dtype):
    from seqloom.files.durable import hash_file

    tensors = {"b": torch.arange(6).view(2, 3).to(dtype), "a": torch.tensor(3.0).to(dtype), "c": torch.empty(0, 4)}
    file = tmp_path / "x.safetensors"
    assert TensorStream.of(tensors).write(file) == (file.stat().st_size, hash_file(file))
    found = load_file(file)
    assert found.keys() == tensors.keys()
    assert all(
        torch.equal(found[name], tensor) and found[name].dtype == tensor.dtype for name, tensor in tensors.items()
    )


def test_a_stream_of_nothing_can_be_read(tmp_path):
    """Plain SGD keeps no state."""
    TensorStream.of({}).write(tmp_path / "x.safetensors")
    assert load_file(tmp_path / "x.safetensors") == {}
