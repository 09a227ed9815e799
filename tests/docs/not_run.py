"""The commands of README and the guide that no test runs as they are written, each with the reason."""

NETWORK = "needs a network"
HOURS = "hours on the real data, or data that is not part of the project; tests/docs/test_pages.py knows its options"
CLUSTER = "needs two machines; tests/cli/test_several_processes.py has the same with processes of one"
MAKE = "installs an environment"

NOT_RUN = {  # (page, how the command begins): reason
    ("README.md", "make demo"): f"{MAKE}; `seqloom demo`, which it starts, is run by tests/cli/test_demo.py",
    ("README.md", "make test"): f"{MAKE}, and would run this test in itself",
    ("docs/tour.md", "make demo"): f"{MAKE}; the test types `seqloom demo`, which it starts",
    ("docs/tour.md", "source .venv/bin/activate"): "the test has its own way to the command",
    ("docs/how-to/import-public-weights.md", "pip install g2p_en"): NETWORK,
    ("docs/how-to/live-page.md", "pip install"): NETWORK,
    ("docs/how-to/train-on-several-machines.md", "torchrun --nnodes 2"): CLUSTER,
    ("docs/how-to/train-on-several-machines.md", "srun torchrun --nnodes 2"): CLUSTER,
    ("docs/lineage.md", "SEQLOOM_DATA=... python benchmarks/lineage.py"): HOURS,
    ("docs/results.md", "python benchmarks/"): HOURS,
    ("docs/statistics.md", "SEQLOOM_DATA=DIR python benchmarks/significance.py"): HOURS,
    ("docs/statistics.md", "python benchmarks/significance.py"): HOURS,
}


def reason(page: str, command: str) -> str:
    """Why this command is not run; empty if it is."""
    return next((why for (name, begin), why in NOT_RUN.items() if name == page and command.startswith(begin)), "")
