"""Files are written in one place: seqloom/files writes them whole or not at all and says what to do when it cannot."""

import ast

# module: why it opens files to write by itself
ALLOWED = {
    "data.store_builder": "columns larger than the memory, inside a folder that `replaced_folder` puts in place",
    "data.store_index": "columns larger than the memory, inside a folder that `replaced_folder` puts in place",
    "corpora.fetch": "a finished download gets its name",
    "cli.app": "a closed standard output becomes the null device",
}
WRITES = {"write_text", "write_bytes", "rename", "renames", "touch", "tofile", "save_file", "fsync", "move"}
HASHES = {"file_digest"}


def is_mode(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(set(node.value) & set("wax+"))


def opens_to_write(call: ast.Call) -> bool:
    """`open(file, "w")`, `path.open("wb")`, with the mode by its place or by its name."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    place = call.args[int(isinstance(call.func, ast.Name)) :][:1]
    modes = [*place, *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
    return name == "open" and any(map(is_mode, modes))


def replaces_a_file(call: ast.Call) -> bool:
    """`path.replace(other)` and `os.replace(a, b)`; a text's `replace` has two arguments, a dataclass's has names."""
    if not (isinstance(call.func, ast.Attribute) and call.func.attr == "replace") or call.keywords:
        return False
    return len(call.args) == 1 or ast.unparse(call.func.value) == "os"


def faults(tree: ast.Module, names: set[str]) -> list[ast.Call]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [
        call
        for call in calls
        if (isinstance(call.func, ast.Attribute) and call.func.attr in names)
        or (names is WRITES and (opens_to_write(call) or replaces_a_file(call)))
    ]


def test_only_files_writes_files(sources):
    found = {
        f"{source.name}:{call.lineno} {ast.unparse(call)[:60]}": source.module
        for source in sources
        if not source.module.startswith("files.")
        for call in faults(source.tree, WRITES)
    }
    strange = [place for place, module in found.items() if module not in ALLOWED]
    assert not strange, "use seqloom.files.durable or seqloom.files.folders:\n" + "\n".join(strange)
    assert set(found.values()) == ALLOWED.keys(), "the list above names a file that writes nothing"


def test_one_hash_of_a_file(sources):
    found = [f"{source.name}:{call.lineno}" for source in sources for call in faults(source.tree, HASHES)]
    assert len(found) == 1, f"use seqloom.files.durable.hash_file: {found}"


def test_the_rule_sees_every_way_of_writing():
    lines = [
        'open(a, "w")', 'a.open("ab")', 'a.open(mode="x")', "a.write_text(b)", "os.replace(a, b)", "a.replace(b)",
        "a.rename(b)",
    ]  # fmt: skip
    assert all(faults(ast.parse(line), WRITES) for line in lines)
    fine = ["open(a)", 'a.open("rb")', 'a.replace("b", "c")', "dataclasses.replace(a, b=1)", "replace(a, b=1)"]
    assert not any(faults(ast.parse(line), WRITES) for line in fine)
