"""seqloom plan: what a training run will need."""

import json
from typing import Annotated

from seqloom.cli.flags import DATA_FLAGS
from seqloom.data.read_as import AS_FOUND, ReadAs
from seqloom.errors import UsageError


def plan(
    data: str | None = None,
    /,
    *,
    pairs: int | None = None,
    lengths: str | None = None,
    recipe: str | None = None,
    task: str | None = None,
    set: list[str] | None = None,
    budget: str | None = None,
    reading: Annotated[ReadAs, DATA_FLAGS] = AS_FOUND,
    cores: int | None = None,
    gflops: float | None = None,
    nodes: int = 1,
    bandwidth: float = 10.0,
    mfu: float = 0.3,
    world: int = 1,
    dry_run: bool = False,
    json_: bool = False,
) -> None:
    """Predict what a training run will need: hours, memory, disk and traffic.

    Nothing is trained or written. Of a file, a sample is read. This machine is measured for about twelve seconds with
    the model itself; with --gflops another machine is described instead, and nothing is measured. The hours include the
    loss on the validation data, but neither the checks and the encoding of the data, nor sample answers, nor saving.

    Parameters
    ----------
    data
        file of pairs, as for `seqloom train`; or leave it out and give --pairs and --lengths
    pairs
        number of pairs
    lengths
        mean tokens of a source and of a target, for example 30,33
    recipe
        built-in recipe or TOML file [default: chosen by the data]
    task
        short for --set task.name=TASK
    set
        one setting, section.name=value; may be given several times
    budget
        wall-clock time, e.g. 20m or 1h30m: how far training comes in it
    cores
        cores or GPUs of each node of the described machine [default: 1]
    gflops
        GFLOP/s that a bare matrix product reaches on one core or GPU of the described machine
    nodes
        number of such nodes
    bandwidth
        Gbit/s between two processes
    mfu
        share of --gflops that training reaches
    world
        number of processes that share the parts of each step (train.accumulate)
    dry_run
        also show what each process would do
    json_
        print one JSON object

    Examples
    --------
        seqloom plan pairs.tsv
        seqloom plan pairs.tsv --recipe transformer-small --budget 2h
        seqloom plan pairs.tsv --set train.accumulate=4 --world 2 --dry-run
        seqloom plan --pairs 36000000 --lengths 30,33 --recipe vaswani2017-base --cores 8 --gflops 9500
    """
    from seqloom.workflows.plan import Machine, PlanRequest
    from seqloom.workflows.plan import plan as run

    overrides = [*(set or ()), *([f"task.name={task}"] if task else ())]
    found = run(
        PlanRequest(
            data, pairs, parse_lengths(lengths), recipe, tuple(overrides), budget, reading,
            Machine(cores, gflops, nodes, bandwidth, mfu), world,
        )
    )  # fmt: skip
    if json_:
        print(json.dumps(found.to_json(), ensure_ascii=False))
        return
    print(found.render())
    if dry_run:
        print(f"\n{found.render_deal()}")


def parse_lengths(text: str | None) -> tuple[float, float] | None:
    """Parse `30,33`; one number stands for both sides."""
    if text is None:
        return None
    try:
        means = [float(part) for part in text.split(",")]
    except ValueError:
        means = []
    if len(means) not in (1, 2):
        raise UsageError(f"--lengths {text}: want the mean tokens of source and target, such as 30,33")
    return means[0], means[-1]
