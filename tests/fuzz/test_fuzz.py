"""Fuzzing of every reader: a few examples every day, a minute per reader in `make test-all`, all found cases always.

A case that was found is a file in tests/fuzz/corpus/NAME-OF-THE-TARGET/.
"""

import os
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.fuzz.mutations import changed_bytes, changed_json
from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"
SECONDS = float(os.environ.get("SEQLOOM_FUZZ_SECONDS", "60"))  # per reader, in the slow test
MOST_SECONDS = 30  # for one content, on a machine that does other work too
CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@pytest.fixture(autouse=True)
def within_bounds() -> Iterator[None]:
    """Let a reader that asks for a gigabyte fail: what it may take comes on top of what the tests take."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    used = int(Path("/proc/self/statm").read_text("ascii").split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + 2**30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_DATA, before)


class TooSlow(BaseException):
    """Not an Exception, and least of all the OSError that TimeoutError is: no reader may take it for its own."""


def read(name: str, content: bytes) -> None:
    """Give a content to a reader; anything but an answer or a refusal in time is a fault."""

    def ring(*_: object) -> None:
        raise TooSlow(f"{name}: more than {MOST_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(MOST_SECONDS)
    try:
        TARGETS[name].run(content)
    except TARGETS[name].refusals as refusal:
        assert str(refusal), "a refusal says why"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def contents(name: str) -> st.SearchStrategy[bytes]:
    target = TARGETS[name]
    good = target.good()
    return st.one_of(changed_bytes(good), *([changed_json(good)] if target.json else []))


@pytest.mark.parametrize("name", TARGETS)
def test_what_the_fuzzing_begins_from(name):
    read(name, TARGETS[name].good())


@pytest.mark.parametrize("case", sorted(CORPUS.glob("*/*")), ids=lambda case: f"{case.parent.name}-{case.name}")
def test_cases_that_were_found(case):
    read(case.parent.name, case.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_a_few_changes(name):
    @settings(max_examples=15, derandomize=True, suppress_health_check=CHECKS, database=None)
    @given(contents(name))
    def fuzz(content: bytes) -> None:
        read(name, content)

    fuzz()


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_a_minute_of_changes(name):
    until, number = time.monotonic() + SECONDS, 0
    while time.monotonic() < until:
        number += 1

        @seed(time.time_ns())
        @settings(max_examples=100, suppress_health_check=CHECKS, database=None, phases=[Phase.generate, Phase.shrink])
        @given(contents(name))
        def fuzz(content: bytes) -> None:
            read(name, content)

        fuzz()
    assert number
