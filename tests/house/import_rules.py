"""The rules about imports. Each function takes sources and returns a message for every place that breaks its rule."""

import ast
from collections import defaultdict
from collections.abc import Mapping, Sequence

from tests.house.layers import NO_TORCH, RULES
from tests.house.source import Rule, Source

ONLY_READER_OF_CONFIG = "models.build"
TABLE = "tests/house/layers.py"

# Packages that are optional, or take long to load: a function may import them where they are used.
HEAVY = {
    "ctranslate2",
    "fsspec",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "onnxscript",
    "py3langid",
    "ray",
    "rich",
    "rouge_score",
    "sacrebleu",
    "sentencepiece",
    "shutil",  # loads compressors: 10 ms
    "tempfile",  # loads shutil
    "tensorboard",
    "torch",
    "transformers",
}
MAY_IMPORT_INSIDE = ("cli", "__init__", "__main__")  # a verb loads what it needs when it is called

# Imports inside functions that are left in each folder. A number may only go down.
INSIDE_FUNCTIONS = {
    "config": 1,
    "evaluation": 62,
    "formats": 63,
    "metrics": 3,
    "runtime": 18,
    "serve": 2,
    "text": 2,
    "training": 2,
    "vectors": 33,
    "workflows": 100,
}

# Cycles that are left, with the import that closes each and a way to end it.
KNOWN_CYCLES: dict[frozenset[str], str] = {}  # modules: why they may import each other

HAS_A_ROW = Rule(
    "every folder and every file directly under seqloom/ has a row in the layer table",
    "the table says who may import whom; what has no row is not kept apart from anything",
    f"add a row with a reason to RULES in {TABLE}, then run `make docs`",
)
WHOLE_NAME = Rule(
    "imports are written with the whole name",
    "`from seqloom.nn.cells import GRU` can be searched for; `from .cells import GRU` cannot",
    "write the name from `seqloom` on",
)
FOLLOWS_LAYERS = Rule(
    "a folder imports only what its row in the layer table allows",
    "folders are layers: who reads one knows what it cannot depend on",
    f"move the code to a layer that may, pass the value as an argument, or add a permission to {TABLE}",
)
PERMISSION_IN_USE = Rule(
    "every permission in the layer table is used by an import",
    "a permission that nothing needs lets a wrong import in unseen",
    f"delete it from RULES in {TABLE}, then run `make docs`",
)
NO_TORCH_HERE = Rule(
    f"these never import torch: {', '.join(NO_TORCH)}",
    "torch takes seconds to load, and help, data and settings need no tensors",
    "move what needs tensors to nn/, models/, runtime/ or a workflow",
)
ONE_READER_OF_CONFIG = Rule(
    f"in nn/ and models/ only {ONLY_READER_OF_CONFIG} reads the settings",
    "modules take plain numbers, so that a test or a notebook can build one without a recipe",
    "take the number as an argument of the constructor and pass it in seqloom/models/build.py",
)
NO_CYCLE = Rule(
    "no module imports itself through others, neither at the top nor inside a function",
    "a cycle works or breaks by who is imported first, and two files in a cycle are one subject",
    "merge the two, or move what both need into a file that imports neither; imports for types alone do not count",
)
CYCLE_IS_THERE = Rule(
    "a known cycle is still a cycle",
    "a row for a cycle that is gone would let it come back",
    "delete its row from KNOWN_CYCLES in tests/house/import_rules.py",
)
AT_THE_TOP = Rule(
    f"imports are at the top of the file, except in cli/ and of heavy packages ({', '.join(sorted(HEAVY))})",
    "a reader sees at once what a file needs; only start-up time is worth hiding it in a function",
    "import it at the top; if that makes a cycle or loads torch too early, the code is in the wrong file",
)


def within(name: str, prefixes: set[str]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def folders_without_a_row(sources: Sequence[Source], rules: Mapping[str, object] = RULES) -> list[str]:
    return [HAS_A_ROW.broken(f"{s.name}:1", f"no row for {s.folder!r}") for s in sources if s.folder not in rules]


def relative_imports(sources: Sequence[Source]) -> list[str]:
    return [
        WHOLE_NAME.broken(f"{source.name}:{found.line}", f"imports {found.name}")
        for source in sources
        for found in source.imports
        if found.name.startswith(".")
    ]


def imports_against_the_layers(sources: Sequence[Source]) -> list[str]:
    broken = []
    for source in sources:
        rule, why = RULES[source.folder]
        allowed = rule | {source.folder, "__version__"} | root_names(source.tree)
        for found in source.imports:
            package, _, name = found.name.partition(".")
            if package == "seqloom" and not within(name, allowed):
                where = f"{source.name}:{found.line}"
                reason = f"{source.folder}: {why}"
                broken.append(FOLLOWS_LAYERS.broken(where, f"imports {found.name}", why=reason))
    return broken


def root_names(tree: ast.Module) -> set[str]:
    """`import seqloom` for its version is fine; for anything else it would be a way round the layers."""
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    used = {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "seqloom"}
    return {""} if used == {"__version__"} else set()


def unused_permissions(
    sources: Sequence[Source],
    rules: Mapping[str, tuple[set[str], str]] = RULES,
    table: Source | None = None,
) -> list[str]:
    """`table` is the file of the rules, to name the line of a row."""
    used = defaultdict(set)
    for source in sources:
        used[source.folder] |= {
            i.name.removeprefix("seqloom.") for i in source.imports if i.name.startswith("seqloom.")
        }
    return [
        PERMISSION_IN_USE.broken(
            f"{TABLE}:{line_of_row(table, folder)}", f"{folder} may import {allowed}; nothing does"
        )
        for folder, (permissions, _) in rules.items()
        for allowed in sorted(permissions)
        if not any(within(name, {allowed}) for name in used[folder])
    ]


def line_of_row(table: Source | None, folder: str) -> int:
    lines = table.text.splitlines() if table else []
    return next((number for number, line in enumerate(lines, 1) if line.startswith(f'    "{folder}":')), 1)


def torch_where_it_may_not_be(sources: Sequence[Source]) -> list[str]:
    return [
        NO_TORCH_HERE.broken(f"{source.name}:{found.line}", f"imports {found.name}")
        for source in sources
        if source.folder in NO_TORCH
        for found in source.imports
        if within(found.name, {"torch"}) and not found.for_types
    ]


def second_readers_of_config(sources: Sequence[Source]) -> list[str]:
    return [
        ONE_READER_OF_CONFIG.broken(f"{source.name}:{found.line}", f"imports {found.name}")
        for source in sources
        if source.folder in ("models", "nn") and source.module != ONLY_READER_OF_CONFIG
        for found in source.imports
        if within(found.name, {"seqloom.config"})
    ]


def cycles(sources: Sequence[Source], known: Mapping[frozenset[str], str] = KNOWN_CYCLES) -> list[str]:
    """One message for each group of modules that reach each other, and one for each known group that is gone."""
    edges = import_lines(sources)
    files = {source.module: source.name for source in sources}
    groups = circles({module: set(targets) for module, targets in edges.items()})
    messages = []
    for group in groups:
        if group not in known:
            first = min(group)
            path = path_back(first, edges, group)
            where = f"{files[first]}:{edges[first][path[1]]}"
            messages.append(NO_CYCLE.broken(where, f"is in a cycle: {' -> '.join(path)}"))
    for group in known.keys() - set(groups):
        messages.append(
            CYCLE_IS_THERE.broken("tests/house/import_rules.py:1", f"no cycle of {', '.join(sorted(group))}")
        )
    return messages


def import_lines(sources: Sequence[Source]) -> dict[str, dict[str, int]]:
    """For each module those that it imports when it runs, with the line."""
    modules = {source.module for source in sources}
    edges: dict[str, dict[str, int]] = {source.module: {} for source in sources}
    for source in sources:
        for found in source.imports:
            name = found.name.removeprefix("seqloom.")
            target = name if name in modules else name.rpartition(".")[0]
            itself = target in ("", source.module)
            if found.name.startswith("seqloom.") and not found.for_types and target in modules and not itself:
                edges[source.module].setdefault(target, found.line)
    return edges


def circles(edges: Mapping[str, set[str]]) -> list[frozenset[str]]:
    """The groups of nodes that can all reach each other (two or more nodes)."""
    reach = {node: reachable(node, edges) for node in edges}
    groups = {frozenset({node} | {other for other in reach[node] if node in reach[other]}) for node in edges}
    return sorted((group for group in groups if len(group) > 1), key=min)


def reachable(start: str, edges: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    new = set(edges[start])
    while new:
        found |= new
        new = {target for node in new for target in edges[node]} - found
    return found


def path_back(start: str, edges: Mapping[str, Mapping[str, int]], group: frozenset[str]) -> list[str]:
    """A shortest way from a module through its group back to itself."""
    paths = [[start]]
    while True:
        paths = [[*path, target] for path in paths for target in sorted(edges[path[-1]]) if target in group]
        for path in paths:
            if path[-1] == start:
                return path


def imports_inside_functions(sources: Sequence[Source]) -> dict[str, list[str]]:
    """For each folder the places, `file:line imports name`, that should be at the top."""
    places = defaultdict(list)
    for source in sources:
        for found in source.imports:
            light = found.name.partition(".")[0] not in HEAVY
            if found.in_function and light and source.folder not in MAY_IMPORT_INSIDE:
                places[source.folder].append(f"{source.name}:{found.line} imports {found.name}")
    return dict(places)


def more_imports_inside_functions(
    sources: Sequence[Source], ceilings: Mapping[str, int] = INSIDE_FUNCTIONS
) -> list[str]:
    """One message for each folder that has more than its number; all places are named, for one of them is new."""
    messages = []
    for folder, places in imports_inside_functions(sources).items():
        if len(places) > (most := ceilings.get(folder, 0)):
            where, _, found = places[-1].partition(" ")
            others = "".join(f"\n    {place}" for place in places)
            messages.append(
                AT_THE_TOP.broken(where, f"{found} in a function; {folder}/ has {len(places)} of these, at most {most}")
                + f"\n  all of {folder}/:{others}"
            )
    return messages
