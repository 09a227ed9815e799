"""seqloom import: a folder of public weights becomes a model folder; its config.json says which importer reads it.

The package g2p_en has no config.json; it is recognised by its weight file.

To add a type of model: a function that writes it into an empty folder, and a row here.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from seqloom.errors import ModelError
from seqloom.files.durable import hash_file
from seqloom.files.folders import check_new, new_folder
from seqloom.formats.import_g2p import find_package, import_g2p, is_g2p
from seqloom.formats.import_hugging_face import KINDS, import_public
from seqloom.formats.import_marian import import_marian
from seqloom.formats.public_folder import WEIGHTS, check_weights, read_json
from seqloom.runtime.run_facts import RunFacts, write_facts

Importer = Callable[[Path, Mapping[str, Any], Path], RunFacts]  # folder, its config.json, an empty folder to fill
IMPORTERS: dict[str, Importer] = {**dict.fromkeys(KINDS, import_public), "marian": import_marian}


def import_model(folder: Path, out: Path) -> RunFacts:
    """Write the model of `folder` into the new folder `out`; return the facts in its run.json."""
    check_new(out)
    folder = find_package(folder)
    write = partial(import_g2p, folder) if is_g2p(folder) else importer_of(folder)
    with new_folder(out) as new:
        facts = replace(write(new), weights_sha256=hash_file(new / WEIGHTS))
        write_facts(new, facts)
    return facts


def importer_of(folder: Path) -> Callable[[Path], RunFacts]:
    """The importer of a folder with config.json; ModelError for a type without one, and for missing weights."""
    about = read_json(folder / "config.json")
    name = about.get("model_type")
    if not isinstance(name, str) or name not in IMPORTERS:
        # No "did you mean": a program wrote this name, and roberta is not a typo of bert.
        raise ModelError(
            f"{folder / 'config.json'}: model_type {name!r} cannot be imported; the types that can: "
            f"{', '.join(IMPORTERS)}"
        )
    check_weights(folder)
    return partial(IMPORTERS[name], folder, about)
