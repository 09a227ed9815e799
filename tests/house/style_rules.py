"""The rules about files, names and dangerous calls. Each function returns a message for every broken place."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from tests.house.source import Rule, Source

MOST_LINES_OF_A_FILE = 300  # aim at 250
MOST_LINES_OF_A_FUNCTION = 60  # aim at 30
LEAST_LINES_OF_A_FILE = 40
NO_NAMES = {"util", "utils", "helper", "helpers", "common", "constants", "manager", "misc"}
PICKLES = {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal", "cloudpickle"}
FORWARDS = {"forward", "encode", "start", "step", "hidden", "project"}
# Put together here, so that this file does not hold what it looks for.
HOSTS = [".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("download", "pytorch", "org"))]
MACHINE_PATH = re.compile(r"(?<![\w.~/}])/(?:work|tmp|root|home|mnt|opt|var)/")
DATA_PATH = "shared" + "/data"

# Short files that are allowed, with the reason. Those with the last reason should join a neighbour: take their row out
# with them, and add no new one.
A_VERB = "cli/ has one file per verb"
A_TASK = "tasks/ has one file per task"
ONE_IDEA = "one idea of the lectures, which a reader looks up by its name"
NO_TORCH = "has to load without torch, which its neighbours import"
SHARED = "several folders need just this and not its neighbours"
SLIVER = "small; to be merged with a neighbour"
SHORT_FILES = {
    "seqloom/cli/wrong_call.py": "sentences about wrong calls; the table of verbs fills its own file",
    "seqloom/inside/hooks.py": "three views use it, and none of them is its subject",
    "seqloom/training/schedules.py": "warm-up and schedules: what a reader looks for by this name",
    "seqloom/formats/registry.py": "a row per format, beside one file per format",
    "seqloom/formats/import_folder.py": "a row per importer, beside one file per importer",
    "seqloom/config/families.py": "a record per model family, beside the record per task",
    "seqloom/cli/demo.py": A_VERB,
    "seqloom/cli/finish.py": A_VERB,
    "seqloom/cli/import_.py": A_VERB,
    "seqloom/cli/info.py": A_VERB,
    "seqloom/cli/models.py": A_VERB,
    "seqloom/cli/recipes.py": A_VERB,
    "seqloom/tasks/classify.py": A_TASK,
    "seqloom/tasks/denoise.py": A_TASK,
    "seqloom/tasks/tag.py": A_TASK,
    "seqloom/tasks/translate.py": A_TASK,
    "seqloom/tasks/build.py": "the only file of tasks/ that reads the settings",
    "seqloom/tasks/scheduled_sampling.py": ONE_IDEA,
    "seqloom/nn/dropout.py": ONE_IDEA,
    "seqloom/nn/embed.py": ONE_IDEA,
    "seqloom/nn/key_value_cache.py": ONE_IDEA,
    "seqloom/nn/masks.py": ONE_IDEA,
    "seqloom/nn/readout.py": ONE_IDEA,
    "seqloom/nn/reversal.py": ONE_IDEA,
    "seqloom/nn/tanh.py": ONE_IDEA,
    "seqloom/training/gradient_clipping.py": ONE_IDEA,
    "seqloom/vectors/skipgram.py": ONE_IDEA,
    "seqloom/evaluation/records.py": SHARED,
    "seqloom/text/vocabulary.py": SHARED,
    "seqloom/decode/hypothesis.py": SHARED,
    "seqloom/metrics/testset.py": NO_TORCH,
    "seqloom/runtime/onnx_graph.py": NO_TORCH,
    "seqloom/decode/score.py": SLIVER,
    "seqloom/text/labels.py": SLIVER,
    "seqloom/training/precision.py": SLIVER,
    "seqloom/vectors/start.py": SLIVER,
    "seqloom/vectors/train.py": SLIVER,
}

SHORT_FILE = Rule(
    f"a file has fewer than {MOST_LINES_OF_A_FILE} lines",
    "a file holds one subject; a longer one holds two",
    "find the second subject and give it a file with its name",
)
SHORT_FUNCTION = Rule(
    f"a function has at most {MOST_LINES_OF_A_FUNCTION} lines, its docstring not counted",
    "a reader holds about one screen in mind",
    "give a step of it a name: a function of its own",
)
NO_SLIVER = Rule(
    f"a file has at least {LEAST_LINES_OF_A_FILE} lines",
    "a reader opens ten slivers to follow one thought",
    "merge it with its neighbour; or add a row with a reason to SHORT_FILES in tests/house/style_rules.py",
)
SPEAKING_NAME = Rule(
    f"no file or class is called {', '.join(sorted(NO_NAMES))}",
    "such a name says nothing, so everything ends up there",
    "name the subject: what does a reader look for when they need this?",
)
SAYS_WHAT_IT_IS = Rule(
    "every module begins with a docstring",
    "its first line is how a reader knows whether this is the file they look for",
    "write one sentence that says what the module is or does",
)
ROOM_IS_LISTED = Rule(
    "the docstring of a folder's __init__.py has one row per file, `name   what it holds`",
    "a reader finds the file of an idea from these lists; nothing else shows them all",
    "add, rename or delete the row in that __init__.py",
)
NO_PICKLE = Rule(
    "nothing is pickled: no pickle, no torch.load or torch.save, no allow_pickle",
    "loading a stranger's pickle runs the stranger's code",
    "write weights as safetensors (seqloom/models/weights.py) and everything else as JSON or TOML",
)
NO_MACHINE = Rule(
    "no path of one machine and no address of a package registry is in the project",
    "it works on that machine alone",
    "use a path relative to the project, a temporary folder, or the environment variable SEQLOOM_DATA",
)
NO_STATE = Rule(
    f"{', '.join(sorted(FORWARDS))} of nn/ and models/ assign nothing to self",
    "what a forward pass keeps on self leaks between calls and threads",
    "return it, or give it to `trace`",
)


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Its lines without the docstring: that of a command is its help page."""
    first = function.body[0]
    documented = ast.get_docstring(function) is not None
    return function.end_lineno - function.lineno + 1 - (first.end_lineno - first.lineno + 1 if documented else 0)


def long_files(sources: Sequence[Source]) -> list[str]:
    counted = [(source.name, source.text.count("\n")) for source in sources]
    return [SHORT_FILE.broken(f"{name}:{n}", f"{n} lines") for name, n in counted if n >= MOST_LINES_OF_A_FILE]


def long_functions(sources: Sequence[Source]) -> list[str]:
    return [
        SHORT_FUNCTION.broken(f"{source.name}:{node.lineno}", f"{node.name} has {length(node)} lines")
        for source in sources
        for node in functions(source.tree)
        if length(node) > MOST_LINES_OF_A_FUNCTION
    ]


def slivers(sources: Sequence[Source], allowed: Mapping[str, str] = SHORT_FILES) -> list[str]:
    """A package's __init__.py and __main__.py are as short as they like."""
    counted = [(s.name, s.text.count("\n")) for s in sources if PurePosixPath(s.name).name[:2] != "__"]
    return [
        NO_SLIVER.broken(f"{name}:1", f"{lines} lines")
        for name, lines in counted
        if lines < LEAST_LINES_OF_A_FILE and name not in allowed
    ]


def vague_names(sources: Sequence[Source]) -> list[str]:
    broken = [
        SPEAKING_NAME.broken(f"{source.name}:1", f"a file called {source.module}")
        for source in sources
        if NO_NAMES & set(re.split(r"[._]", source.module))
    ]
    return broken + [
        SPEAKING_NAME.broken(f"{source.name}:{node.lineno}", f"a class called {node.name}")
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef) and re.search(r"(Manager|Helper|Utils?)$", node.name)
    ]


def silent_modules(sources: Sequence[Source]) -> list[str]:
    return [SAYS_WHAT_IT_IS.broken(f"{s.name}:1", "no docstring") for s in sources if not ast.get_docstring(s.tree)]


def unlisted_files(sources: Sequence[Source]) -> list[str]:
    """Files that their folder's list leaves out, and rows of a list that name no file."""
    broken = []
    for room in sources:
        if not room.module or not room.name.endswith("/__init__.py"):
            continue
        files = {s.module.rpartition(".")[2] for s in sources if s.module.rpartition(".")[0] == room.module}
        lines = dict(listed(room))
        for name in sorted(files - lines.keys()):
            broken.append(ROOM_IS_LISTED.broken(f"{room.name}:1", f"no row for {name}.py"))
        for name in sorted(lines.keys() - files):
            broken.append(
                ROOM_IS_LISTED.broken(f"{room.name}:{lines[name]}", f"a row for {name}.py, which is not there")
            )
    return broken


def listed(room: Source) -> Iterator[tuple[str, int]]:
    """The names in the list of a folder's docstring, each with its line. What continues a row is indented."""
    docstring = room.tree.body[0].value.value if ast.get_docstring(room.tree) else ""
    for number, line in enumerate(docstring.splitlines(), 1):
        if found := re.match(r"([a-z_0-9]+)  +\S", line):
            yield found[1], number


def pickles(sources: Sequence[Source]) -> list[str]:
    return [
        NO_PICKLE.broken(f"{source.name}:{node.lineno}", ast.unparse(node))
        for source in sources
        for node in ast.walk(source.tree)
        if is_pickle(node)
    ]


def is_pickle(node: ast.AST) -> bool:
    match node:
        case ast.Import():
            return bool(PICKLES & {alias.name.split(".")[0] for alias in node.names})
        case ast.ImportFrom():
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            return (node.module or "").split(".")[0] in PICKLES or bool(names & {"torch.load", "torch.save"})
        case ast.Attribute():
            return ast.unparse(node) in ("torch.load", "torch.save")
        case ast.keyword():
            return node.arg == "allow_pickle" and ast.unparse(node.value) != "False"
    return False


def places_of_one_machine(texts: Mapping[str, str]) -> list[str]:
    broken = []
    for name, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            found = [host for host in HOSTS if host in line]
            if name != ".ci/run" and DATA_PATH in line:
                found.append(f"{DATA_PATH} (real data is reached through SEQLOOM_DATA only)")
            if not name.startswith("tests/"):
                found += [match[0] for match in MACHINE_PATH.finditer(line)]
            broken += [NO_MACHINE.broken(f"{name}:{number}", place) for place in found]
    return broken


def tensors_on_self(sources: Sequence[Source]) -> list[str]:
    return [
        NO_STATE.broken(f"{source.name}:{node.lineno}", f"{function.name} assigns {ast.unparse(node)}")
        for source in sources
        if source.folder in ("nn", "models")
        for function in functions(source.tree)
        if function.name in FORWARDS
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"
    ]
