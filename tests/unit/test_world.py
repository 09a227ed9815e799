"""The environment of torchrun: which process this is, and how many threads it gets."""

import pytest

from seqloom.errors import UsageError
from seqloom.runtime.engines import usable_cores
from seqloom.training.world import World, default_threads, read_world

WHOLE = {
    "RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "1",
}  # fmt: skip


def test_one_process_unless_the_environment_says_otherwise() -> None:
    assert read_world({}) == World() == read_world({"MASTER_ADDR": "head"})
    assert read_world(WHOLE) == World(3, 4, 1, 2)


@pytest.mark.parametrize("name", ["RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"])
def test_half_an_environment_is_refused(name: str) -> None:
    half = {other: value for other, value in WHOLE.items() if other != name}
    with pytest.raises(UsageError, match=rf"{name} is not set. Start all processes with `torchrun") as refused:
        read_world(half)
    assert "RANK=3" in str(refused.value) or name == "RANK"


@pytest.mark.parametrize(
    "changed", [{"RANK": "4"}, {"RANK": "-1"}, {"RANK": "two"}, {"LOCAL_RANK": "2"}, {"LOCAL_WORLD_SIZE": "9"}]
)
def test_numbers_that_cannot_be(changed: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="torchrun sets th"):
        read_world(WHOLE | changed)


def test_threads_follow_omp_num_threads_and_the_processes_of_a_machine() -> None:
    cores = usable_cores()
    assert default_threads(World(), {}) == cores
    assert default_threads(World(), {"OMP_NUM_THREADS": "1"}) == 1
    assert default_threads(World(), {"OMP_NUM_THREADS": "5,2"}) == 5
    assert default_threads(World(), {"OMP_NUM_THREADS": "many"}) == cores
    two = World(size=2, local_size=2)
    assert default_threads(two, {"OMP_NUM_THREADS": "1"}) == max(1, cores // 2)  # torchrun sets it
    assert default_threads(two, {"OMP_NUM_THREADS": "3"}) == 3
    assert default_threads(World(size=999, local_size=999), {}) == 1
