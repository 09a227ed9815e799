"""Fuzzes one reader with atheris, which sees the branches a content takes: `python -m tests.fuzz.with_atheris NAME 60`.

Not part of the tests: its native package exists for some Python versions on Linux only, and it ends its process at the
first fault. `pip install atheris`; a fault leaves a file crash-*, to be moved into tests/fuzz/corpus/NAME.
"""

import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

CORPUS = Path(__file__).parent / "corpus"


def main(name: str, seconds: str) -> None:
    import atheris

    with atheris.instrument_imports(include=["seqloom"]):
        from tests.fuzz.targets import TARGETS

    target = TARGETS[name]

    def read(content: bytes) -> None:
        with suppress(*target.refusals):
            target.run(content)

    with TemporaryDirectory() as found:
        (Path(found) / "good").write_bytes(target.good())
        known = [str(CORPUS / name)] if (CORPUS / name).is_dir() else []
        limits = [f"-max_total_time={seconds}", "-timeout=30", "-rss_limit_mb=2048"]
        atheris.Setup([sys.argv[0], *limits, found, *known], read)
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
