"""Small rules that keep the house readable and safe, over the syntax tree and the texts."""

import ast
import re

MOST_LINES_OF_A_FILE = 300  # aim at 250
MOST_LINES_OF_A_FUNCTION = 60  # aim at 30
NO_NAMES = {"util", "utils", "helper", "helpers", "common", "constants", "manager", "misc"}
PICKLES = {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal", "cloudpickle"}
# Put together here, so that this file does not hold what it looks for.
HOSTS = [".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("download", "pytorch", "org"))]
MACHINE_PATH = re.compile(r"(?<![\w.~/}])/(?:work|tmp|root|home|mnt|opt|var)/")
DATA_PATH = "shared" + "/data"


def functions(tree: ast.Module):
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def length(function: ast.FunctionDef) -> int:
    """Its lines without the docstring: that of a command is its help page."""
    first = function.body[0]
    documented = ast.get_docstring(function) is not None
    return function.end_lineno - function.lineno + 1 - (first.end_lineno - first.lineno + 1 if documented else 0)


def test_files_are_short(sources):
    long = [f"{s.name}: {n} lines" for s in sources if (n := s.text.count("\n")) >= MOST_LINES_OF_A_FILE]
    assert not long, "one idea a file: " + ", ".join(long)


def test_functions_are_short(sources):
    long = [
        f"{source.name}:{node.lineno} {node.name}"
        for source in sources
        for node in functions(source.tree)
        if length(node) > MOST_LINES_OF_A_FUNCTION
    ]
    assert not long, f"over {MOST_LINES_OF_A_FUNCTION} lines: " + ", ".join(long)


def test_names_say_what_is_inside(sources):
    vague = [s.name for s in sources if NO_NAMES & set(re.split(r"[._]", s.module))]
    classes = [
        f"{source.name}: {node.name}"
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef) and re.search(r"(Manager|Helper|Utils?)$", node.name)
    ]
    assert not vague + classes


def test_every_module_says_what_it_is(sources):
    silent = [s.name for s in sources if s.text.strip() and not ast.get_docstring(s.tree)]
    assert not silent


def test_nothing_is_pickled(sources):
    """A pickle from a stranger runs their code: weights are safetensors, states are JSON."""
    found = []
    for source in sources:
        for node in ast.walk(source.tree):
            names = {alias.name for alias in node.names} if isinstance(node, ast.Import) else set()
            if isinstance(node, ast.ImportFrom):
                names = {node.module or ""}
            call = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
            keyword = (
                isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False"
            )
            if PICKLES & {name.split(".")[0] for name in names} or call in ("torch.load", "torch.save") or keyword:
                found.append(f"{source.name}:{getattr(node, 'lineno', '?')}")
    assert not found


def test_no_path_of_a_machine_and_no_registry_in_the_project(project_texts):
    found = []
    for name, text in project_texts.items():
        found += [f"{name}: {host}" for host in HOSTS if host in text]
        if name != ".ci/run" and DATA_PATH in text:
            found.append(f"{name}: the real data is reached through SEQLOOM_DATA only")
        if not name.startswith("tests/"):
            found += [f"{name}: {match[0]}" for match in MACHINE_PATH.finditer(text)]
    assert not found, "\n".join(found)


def test_no_forward_pass_leaves_a_tensor_on_self(sources):
    """What a forward computes is returned or given to `trace`; kept on self it leaks between calls and threads."""
    forwards = {"forward", "encode", "start", "step", "hidden", "project"}
    kept = [
        f"{source.name}:{node.lineno} {function.name}"
        for source in sources
        if source.module.startswith(("nn.", "models."))
        for function in functions(source.tree)
        if function.name in forwards
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"
    ]
    assert not kept
