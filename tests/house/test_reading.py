"""Files of a folder are read in one place: seqloom/files/reading refuses FIFOs, devices, links and huge files."""

import ast

READS = {"read_text", "read_bytes"}
LIBRARIES = {"safe_open", "load_file", "memmap"}  # they open the file themselves: `check_regular` comes first
PARSERS = {"json.loads", "json.load", "tomllib.loads", "tomllib.load"}

# module: why it reads or parses by itself
ALLOWED = {
    "serve.app": "pages that are installed with Seqloom",
    "explain.page": "parts of the page that are installed with Seqloom",
    "ladder.report": "/proc/cpuinfo of this machine",
    "training.same_everywhere": "/proc/cpuinfo of this machine",
    "training.several": "JSON that another process of the same run has just sent",
    "workflows.demo": "compares the demo's own file with what it would write",
    "vectors.head": "a data file that the user names; vectors are larger than any limit",
    "data.lines": "data that the user names, which may come through a pipe",
    "data.remote": "data at an address that the user names",
    "corpora.unpack": "an archive that was just fetched, read within limits",
    "data.spooled": "the run's own copy of piped data, compared block by block",
    "text.tokenizer": "JSON that the library has just written",
    "text.foreign": "JSON that the library has just written",
    "text.learn": "JSON that the library has just written",
    "formats.live_model": "JSON that the library has just written",
}


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def reads(tree: ast.AST) -> list[ast.Call]:
    """Every call that opens a file to read, or parses JSON or TOML."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    opens = {"open", "from_file", *READS}
    return [
        call for call in calls if (name_of(call) in opens and not is_ours(call)) or ast.unparse(call.func) in PARSERS
    ]


def is_ours(call: ast.Call) -> bool:
    """`Store.open(folder)`, `read_text(path, head)`, and files that are opened to write (test_writing.py)."""
    words = [ast.unparse(argument) for argument in call.args]
    writes = any(word in ("'wb'", "'w'", "'ab'") for word in words) or "os.devnull" in ast.unparse(call)
    plain = isinstance(call.func, ast.Name) and call.func.id in READS
    return writes or plain or ast.unparse(call.func) == "Store.open"


def test_only_files_reads_the_files_of_a_folder(sources):
    found = {
        f"{source.name}:{call.lineno} {ast.unparse(call)[:60]}": source.module
        for source in sources
        if not source.module.startswith("files.")
        for call in reads(source.tree)
    }
    strange = [place for place, module in found.items() if module not in ALLOWED]
    assert not strange, "use seqloom.files.reading:\n" + "\n".join(strange)
    assert set(found.values()) == ALLOWED.keys(), "the list above names a file that reads nothing"


def test_libraries_open_only_what_is_checked(sources):
    """A function that lets a library open a file calls `check_regular` first."""
    strange = [
        f"{source.name}:{function.lineno} {function.name}"
        for source in sources
        if source.module != "data.store_builder"  # maps the files that it has just written
        for function in ast.walk(source.tree)
        if isinstance(function, ast.FunctionDef)
        and {name_of(call) for call in ast.walk(function) if isinstance(call, ast.Call)} & LIBRARIES
        and "check_regular" not in ast.unparse(function)
    ]
    assert not strange, "call seqloom.files.reading.check_regular first:\n" + "\n".join(strange)


def test_the_rule_sees_every_way_of_reading():
    for line in ("open(a)", 'a.open("rb")', "a.read_text()", "json.loads(a)", "tomllib.load(a)", "x.from_file(a)"):
        assert reads(ast.parse(line)), line
    for line in ('a.open("wb")', "Store.open(a)", "json.dumps(a)", "parse_json(a)"):
        assert not reads(ast.parse(line)), line
