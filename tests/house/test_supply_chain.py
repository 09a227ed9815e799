"""What Seqloom is made of is pinned: every package has a hash in the lock file, every fixture one in its list."""

import hashlib
import re
import runpy
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures.sha256"  # as `sha256sum` writes it, with paths from tests/
LOCK = (ROOT / "requirements-lock.txt").read_text("utf-8")
SUPPLY_CHAIN = runpy.run_path(str(ROOT / ".ci" / "supply_chain.py"))
LOCKED = SUPPLY_CHAIN["read_lock"](LOCK)


def test_every_fixture_is_pinned_by_its_hash():
    files = [file for file in (ROOT / "tests").rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    found = {
        file.relative_to(ROOT / "tests").as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
        if file.suffix != ".py" and file != FIXTURES
    }
    lines = [line.split(maxsplit=1) for line in FIXTURES.read_text("utf-8").splitlines() if line[:1] not in ("#", "")]
    pinned = {name.lstrip("*"): digest for digest, name in lines}
    assert found == pinned, "in tests/: add the lines of `sha256sum FILE` to fixtures.sha256, and remove old ones"


def test_the_lock_has_every_direct_dependency_in_its_pinned_version():
    pins = dict(re.findall(r"^([a-z0-9-]+)==(\S+)$", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE))
    assert {name: pins[name] for name in pins.keys() & LOCKED.keys()} == {
        name: LOCKED[name][0] for name in pins.keys() & LOCKED.keys()
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"]]
    wanted += [line for extra in SUPPLY_CHAIN["EXTRAS"] for line in project["optional-dependencies"][extra]]
    names = {re.split(r"[<>=!~\[; ]", line)[0].lower() for line in wanted}
    assert names - LOCKED.keys() == {"torch"}, "run `python .ci/supply_chain.py lock` and `make licences`"


def test_every_package_has_one_hash_and_a_licence_on_the_page():
    rows = LOCK.count("==") - LOCK.count("# torch==")
    assert len(LOCKED) == rows == LOCK.count("--hash=sha256:") > 100
    page = (ROOT / "docs" / "licences.md").read_text("utf-8")
    listed = dict(re.findall(r"^\| ([a-z0-9-]+) \| (\S+) \|", page, re.MULTILINE))
    assert listed.items() >= {name: version for name, (version, _) in LOCKED.items()}.items(), "run `make licences`"
    assert "not stated" not in page
