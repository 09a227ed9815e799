"""The command line as a whole: help, exit codes, standard output and error. Each verb has its own test file."""

import errno
import json
import subprocess
import sys

import pytest

from seqloom import __version__, errors
from seqloom.__main__ import main as start
from seqloom.cli import app as command_line
from seqloom.cli.app import VERBS, build_app, hyphen_as_file, main
from seqloom.config import load_config


@pytest.fixture
def failing(monkeypatch):
    """Make `seqloom recipes` raise what is given."""

    def arrange(error: BaseException) -> None:
        def recipes() -> None:
            raise error

        monkeypatch.setattr("seqloom.cli.recipes.recipes", recipes)

    return arrange


def test_help_lists_every_verb_with_its_line(capsys):
    assert main(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for verb, line in VERBS.items():
        assert f"{verb} {line}" in shown
    assert "seqloom train pairs.tsv --out runs/x" in shown


def test_no_argument_shows_the_help(capsys):
    assert main([]) == 0
    assert "Usage: seqloom COMMAND" in capsys.readouterr().out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_its_own_help_with_examples(verb, capsys):
    assert main([verb, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"Usage: seqloom {verb}" in shown
    examples = shown[shown.index("Examples:") :]
    assert f"seqloom {verb}" in examples


@pytest.mark.parametrize("verb", VERBS)
def test_the_line_in_the_list_is_the_first_line_of_the_help(verb):
    help = build_app(in_full=[verb])[verb].help
    assert VERBS[verb] == help.splitlines()[0]


@pytest.mark.parametrize("verb", VERBS)
def test_every_parameter_is_explained(verb):
    command = build_app(in_full=[verb])[verb]
    parts = [command] if command.default_command else [command[name] for name in command if name[0] != "-"]
    for part in parts:  # of a verb with verbs of its own, each
        for argument in part.assemble_argument_collection(parse_docstring=True):
            assert argument.parameter.help, f"{verb} {argument.name}"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("trian x", "trian: no such command. Did you mean 'train'?"),
        ("xyzzy", "xyzzy: no such command. Commands: train"),
        ("info --jsn .", "--jsn"),
        ("info", "info: FOLDER is missing."),
        ("train pairs.tsv", "train: --out is missing."),
        ("train pairs.tsv --otu x", "Unknown option: --otu. Did you mean '--out'?"),
        ("train pairs.tsv --otu=runs/x", "Unknown option: --otu. Did you mean '--out'?"),
        ("info --jsn=1 .", "Unknown option: --jsn. Did you mean '--json'?"),
        ("train pairs.tsv --out", "--out: no value."),
        ("translate x --prefix -hello", "Write a value that begins with a dash with an equals sign: --prefix=-x."),
        ("vectors train x.txt", "vectors train: --out is missing."),
        ("translate x --beam five", "five"),
        ("translate x --beam 2.5", "--beam 2.5: want a whole number."),
        ("translate x --n-best=.5", "--n-best .5: want a whole number."),
        ("train x --out y --seed 1.", "--seed 1.: want a whole number."),
        ("vectors train x --out y --size 9.5", "--size 9.5: want a whole number."),
        ("--nonsense", "--nonsense"),
    ],
)
def test_a_wrong_call_is_one_sentence_and_code_2(line, said, capsys):
    assert main(line.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("seqloom: ")
    assert said in err


def test_square_brackets_in_a_message_stay(capsys):
    assert main(["info", "[bold]x[/bold]"]) == 4
    assert "[bold]x[/bold]" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error",
    [
        errors.UsageError("u"),
        errors.DataError("d"),
        errors.ModelError("m"),
        errors.TrainingError("t"),
        errors.Interrupted("saved", 143),
    ],
)
def test_an_error_of_ours_is_its_message_and_its_code(error, failing, capsys):
    failing(error)
    assert main(["recipes"]) == error.exit_code
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"seqloom: {error}\n")


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "a/b"), 2, "seqloom: a/b: Permission denied\n"),
        (
            OSError(errno.ENOSPC, "No space left on device", "a/b"),
            5,
            "seqloom: a/b: the disk is full, or a quota or file-size limit is reached.",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            5,
            "seqloom: the output: the disk is full, or a quota or file-size limit is reached.",
        ),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_what_the_system_refuses_is_a_sentence_too(error, code, said, failing, capsys):
    failing(error)
    assert main(["recipes"]) == code
    err = capsys.readouterr().err
    assert err.startswith(said)
    assert "Traceback" not in err


def test_a_fault_of_ours_shows_where_it_is(failing, capsys):
    failing(RuntimeError("boom"))
    assert main(["recipes"]) == 1
    err = capsys.readouterr().err
    assert "RuntimeError: boom" in err
    assert "bug in Seqloom" in err


@pytest.mark.parametrize(
    ("script", "codes"),
    [
        ("main(['--help'])", {1, 141}),  # rich, which prints the help, has a code of its own
        ("recipes.recipes = lambda: print('line\\n' * 100_000); code = main(['recipes'])", {141}),
        ("recipes.recipes = lambda: print('short'); code = main(['recipes'])", {141}),
    ],
)
def test_a_reader_that_leaves_is_no_error(script, codes, environment):
    """As in `seqloom --help | head -1`."""
    program = f"import sys; from seqloom.cli import recipes; from seqloom.cli.app import main; {script}; sys.exit(code)"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program], stdout=pipe, stderr=pipe, env=environment) as child:
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait() in codes


def test_a_command_may_return_its_exit_code(monkeypatch):
    monkeypatch.setattr("seqloom.cli.recipes.recipes", lambda: 3)
    assert main(["recipes"]) == 3


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ("translate runs/x -", "translate runs/x -- -"),
        ("translate runs/x --scores -", "translate runs/x --scores -- -"),
        ("translate runs/x --beam=2 -", "translate runs/x --beam=2 -- -"),
        ("train --out=runs/x - --valid v.tsv", "train --out=runs/x --valid v.tsv -- -"),
        ("train - --out runs/x", "train --out runs/x -- -"),
        ("train pairs.tsv --valid - --out x", "train pairs.tsv --valid=- --out x"),
        ("generate runs/x --prompt-file -", "generate runs/x --prompt-file=-"),
        ("train pairs.tsv --out x", "train pairs.tsv --out x"),
        ("translate runs/x -- -", "translate runs/x -- -"),
        ("--help -", "--help -"),
    ],
)
def test_a_lone_hyphen_is_a_file_and_no_option(line, want):
    words = line.split()
    assert hyphen_as_file(words, build_app(in_full=words[:1])) == want.split()


def test_text_is_utf8_whatever_the_locale(seqloom, environment):
    words = [sys.executable, "-m", "seqloom", "info", "été"]
    done = subprocess.run(words, capture_output=True, env={**environment, "PYTHONIOENCODING": "ascii"})
    assert "été: no such folder".encode() in done.stderr


def test_completion_can_be_installed(tmp_path, seqloom, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))  # it also tells the shell, in a file of the user's
    script = tmp_path / "completion"
    done = seqloom("--install-completion", "--shell", "bash", "--output", script)
    assert done.returncode == 0, done.stderr
    text = script.read_text("utf-8")
    for verb in VERBS:
        assert verb in text


def test_exit_codes_of_the_table_are_those_of_the_errors():
    kinds = {"wrong usage": "UsageError", "bad data": "DataError", "bad model folder": "ModelError"}
    kinds["training failed"] = "TrainingError"
    table = ", ".join(f"{getattr(errors, name).exit_code} {said}" for said, name in kinds.items())
    assert f"0 success, {table}" in command_line.__doc__


def test_an_empty_word_is_no_file(capsys):
    """An unset "$MODEL"."""
    assert main(["translate", "", "-"]) != 0
    assert "Traceback" not in capsys.readouterr().err


def test_a_name_that_is_no_utf8_is_told_all_the_same(capsys):
    assert main(["info", "caf\udce9"]) == 4
    assert "caf\\udce9" in capsys.readouterr().err


def test_closed_streams(monkeypatch):
    """`seqloom recipes >&-`: Python has None in their place."""
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["recipes"]) == 0
    assert main(["recipes", "nowhere"]) == 2
    sys.stdout.close()
    sys.stderr.close()


def test_recipes_lists_and_prints(capsys):
    assert main(["recipes"]) == 0
    listed = capsys.readouterr().out
    name = listed.split()[0]
    assert main(["recipes", name]) == 0
    assert capsys.readouterr().out.startswith("#")
    assert main(["recipes", name + "x"]) == 2
    assert f"Did you mean '{name}'?" in capsys.readouterr().err


def test_a_recipe_of_ones_own(tmp_path, capsys):
    """One that an editor on Windows wrote, and a file that is none."""
    own = tmp_path / "own.toml"
    own.write_bytes(b"\xef\xbb\xbf# mine\n[model]\nwidth = 8\n")
    assert main(["recipes", str(own)]) == 0
    assert capsys.readouterr().out.startswith("# mine")
    assert load_config(own).model.width == 8
    own.write_bytes(b"\x7fELF\xff")
    assert main(["recipes", str(own)]) == 2
    assert f"{own}: not a recipe: not UTF-8 text" in capsys.readouterr().err


def test_info_tells_what_the_folder_holds(tiny_model, capsys):
    assert main(["info", str(tiny_model), "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert about["params"] > 0
    assert about["step"] == 6
    assert about["data_hash"]
    assert about["config"]["model"]["cell"] == "gru"
    assert main(["info", str(tiny_model), "--check"]) == 0
    out, err = capsys.readouterr()
    assert "rnn, cell gru, attention additive" in out
    assert "golden" in err


def test_ctrl_c_while_the_program_is_still_imported_ends_it_quietly(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "seqloom.cli.app")
    monkeypatch.setattr("builtins.__import__", interrupted)
    assert start() == 130


def test_a_group_of_options_is_read_beside_pydantic_too(python):
    """cyclopts builds dataclasses through pydantic where something else has imported it."""
    code = "import pydantic; from seqloom.cli.app import main; raise SystemExit(main(['serve', 'no', '--beam', '3']))"
    done = python("-c", code)
    assert done.returncode == 4 and "no: no such folder" in done.stderr, done.stderr
