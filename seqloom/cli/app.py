"""The command line: one verb a file, imported when it is used; every error is a sentence and an exit code.

Exit codes: 0 fine, 2 usage, 3 bad data, 4 bad model folder, 5 training gave up, 130 / 143 interrupted and saved.
Data goes to standard output, everything else to standard error.
"""

import errno
import inspect
import io
import os
import re
import sys
import traceback
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from itertools import pairwise
from keyword import iskeyword
from pathlib import Path
from typing import Any

from cyclopts import App, CycloptsError, MissingArgumentError, Parameter

from seqloom import __version__
from seqloom.errors import SeqloomError, TrainingError, UsageError, did_you_mean

VERBS = {
    "train": "Train a model on pairs; the same command again goes on where it stopped.",
    "translate": "Translate text, one line in, one line out.",
    "serve": "Serve models over HTTP, to the clients people already have.",
    "generate": "Go on with a text, word by word: what a language model is for.",
    "chat": "Talk with a model of dialogue, turn by turn.",
    "evaluate": "Measure a model on pairs it has not seen.",
    "score": "Tell how probable a model finds given targets.",
    "rescore": "Re-rank the n-best list of any system with a model.",
    "align": "Align the words of pairs with the attention of a model.",
    "doctor": "Look for what is wrong with a file of pairs.",
    "info": "Tell what a model folder holds.",
    "vectors": "Learn, look at and measure word vectors.",
    "export": "Give a model another form: CTranslate2, Hugging Face or ONNX.",
    "import": "Turn a folder of public weights (Hugging Face layout) into a model folder.",
    "ladder": "Train the lineage on one corpus, from the plain RNN to the Transformer, and report each step.",
    "recipes": "List the built-in recipes with the result each made, where one was measured, or print one.",
    "demo": "Train, measure and try a model in a few minutes, without any data of your own.",
}

FRACTION = re.compile(r"[+-]?\d*\.\d*(e[+-]?\d+)?", re.IGNORECASE)
ABOUT = "Seqloom: a two-column file becomes a trained, measured, translating model."

EXAMPLES = """\
Examples:
    seqloom demo
    seqloom doctor pairs.tsv
    seqloom train pairs.tsv --out runs/x --budget 20m
    echo "a sentence" | seqloom translate runs/x
    seqloom evaluate runs/x test.tsv

`seqloom VERB --help` tells more. `seqloom --install-completion` teaches your shell the commands.
"""


def build_app(in_full: Collection[str] = ()) -> App:
    """The commands. Those in `in_full` are imported and show their own help; the others are a line in the list."""
    app = App(
        name="seqloom",
        help=ABOUT,
        help_epilogue=EXAMPLES,
        help_format="plaintext",
        version=__version__,
        default_parameter=Parameter(negative=(), show_default=shown_default),
        suppress_keyboard_interrupt=False,
    )
    for order, (verb, line) in enumerate(VERBS.items()):
        if verb in in_full:
            function = getattr(import_module(f"seqloom.cli.{word_of(verb)}"), word_of(verb))
            if isinstance(function, App):  # a verb with verbs of its own
                app.command(function)
                continue
            help, end = description(function), examples(function)
            app.command(function, name=verb, help=help, help_epilogue=end, sort_key=order)
        else:
            app.command(f"seqloom.cli.{word_of(verb)}:{word_of(verb)}", name=verb, help=line, sort_key=order)
    app.register_install_completion_command(help="Install completion for your shell.", help_epilogue="")
    return app


def word_of(verb: str) -> str:
    """The name of a verb's file and function: `import` is a word of Python's own."""
    return f"{verb}_" if iskeyword(verb) else verb


def description(command: Callable[..., object]) -> str:
    """What stands before the sections of a command's docstring, its paragraphs unwrapped to fit any terminal."""
    text = re.split(r"\n(?:Parameters|Examples)\b", inspect.cleandoc(command.__doc__ or ""))[0]
    return "\n\n".join(paragraph.replace("\n", " ") for paragraph in text.strip().split("\n\n"))


def examples(command: Callable[..., object]) -> str:
    """The section of examples, which cyclopts leaves out."""
    section = r"\nExamples:?\n[-\n]*(.*?)(?:\nParameters\n|$)"
    found = re.search(section, inspect.cleandoc(command.__doc__ or ""), re.DOTALL)
    return "\n".join(["Examples:", *(line for line in found[1].splitlines() if line), ""]) if found else ""


def shown_default(default: Any) -> Any:
    """Nothing for a flag that is off and a list that is empty: `[default: False]` tells nobody anything."""
    return None if default is False or default == () else default


def main(tokens: Sequence[str] | None = None) -> int:
    """Run one command line; the exit code."""
    open_closed_streams()
    speak_utf8()
    tokens = sys.argv[1:] if tokens is None else list(tokens)
    try:
        refuse_unknown_verb(tokens[:1])
        app = build_app(in_full=tokens[:1])
        refuse_fractions(tokens, app)
        code = app(hyphen_as_file(tokens, app), result_action="return_value", exit_on_error=False, print_error=False)
        sys.stdout.flush()
        return code or 0
    except BrokenPipeError:
        return leave_broken_pipe()
    except Exception as error:
        return explain(error, tokens)
    except KeyboardInterrupt:
        return 130


def refuse_unknown_verb(first: Sequence[str]) -> None:
    """cyclopts would import every command to say the same."""
    for word in first:
        if word not in VERBS and not word.startswith("-"):
            raise UsageError(f"{word}: no such command.{did_you_mean(word, VERBS)} Commands: {', '.join(VERBS)}.")


def parameters_of(tokens: Sequence[str], app: App) -> list[inspect.Parameter]:
    """Of the command that these words call; none where there is no such command."""
    verb = app[tokens[0]] if tokens and tokens[0] in VERBS else None
    if verb is not None and len(tokens) > 1 and not tokens[1].startswith("-") and tokens[1] in verb:
        verb = verb[tokens[1]]  # `vectors train`
    if verb is None or verb.default_command is None:
        return []
    return [*inspect.signature(verb.default_command).parameters.values()]


def option_of(parameter: inspect.Parameter) -> str:
    return "--" + parameter.name.strip("_").replace("_", "-")


def refuse_fractions(tokens: Sequence[str], app: App) -> None:
    """`--beam 2.5`: cyclopts would round it."""
    whole = {option_of(p) for p in parameters_of(tokens, app) if p.annotation in (int, int | None)}
    for word, after in pairwise([*tokens, ""]):
        name, equals, value = word.partition("=")
        number = value if equals else after
        if name in whole and FRACTION.fullmatch(number):
            raise UsageError(f"{name} {number}: want a whole number.")


def hyphen_as_file(tokens: Sequence[str], app: App) -> list[str]:
    """A lone `-` is a file, as in other tools: cyclopts takes it for an option unless it stands behind `--` or `=`."""
    parameters = parameters_of(tokens, app)
    if "-" not in tokens or "--" in tokens or not parameters:
        return list(tokens)
    flags = {option_of(p) for p in parameters if p.default is False}
    words: list[str] = []
    files: list[str] = []
    for token in tokens:
        if token != "-":
            words.append(token)
        elif words[-1].startswith("--") and "=" not in words[-1] and words[-1] not in flags:
            words[-1] += "=-"  # the value of an option
        else:
            files.append("-")
    return [*words, "--", *files] if files else words


def explain(error: Exception, tokens: Sequence[str]) -> int:
    """Print what went wrong, for a person; the exit code. Only a fault of ours shows a traceback."""
    match error:
        case SeqloomError():
            say(str(error))
            return error.exit_code
        case CycloptsError():
            verb = f" {tokens[0]}" if tokens and tokens[0] in VERBS else ""
            what = tell_missing(error) if isinstance(error, MissingArgumentError) else error
            say(f"{what}\nSee `seqloom{verb} --help`.")
            return UsageError.exit_code
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            say(f"{error.filename or 'the output'}: the disk is full. Make room and run the same command again.")
            return TrainingError.exit_code
        case OSError(filename=str() as name):
            say(f"{name}: {error.strerror}")
            return UsageError.exit_code
    traceback.print_exception(error)
    say("this is a fault of Seqloom, not yours. Please report it, with the lines above.")
    return 1


def tell_missing(error: MissingArgumentError) -> str:
    """Of an option that nobody gave cyclopts would say that it `requires an argument`."""
    assert error.argument is not None
    if given := error.keyword:
        return f"{given}: no value. One that begins with a dash is written with an equals sign: {given}=-x."
    name = error.argument.name
    typed = [word.partition("=")[0] for word in error.unused_tokens or () if word.startswith("-")]
    near = [word for word in typed if did_you_mean(word, [name])]
    return f"{' '.join(error.command_chain or ())}: {name} is missing." + "".join(
        f" Did you mean {name} instead of {word}?" for word in near[:1]
    )


def say(message: str) -> None:
    print(f"seqloom: {message}", file=sys.stderr)


def speak_utf8() -> None:
    """Text in and out is UTF-8 whatever the locale says; what we say never fails, not even on the name of a file."""
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")


def open_closed_streams() -> None:
    """Whoever closed one (`>&-`) wants nothing of it; Python has None there, and whoever writes to that fails."""
    nowhere = Path(os.devnull)
    sys.stdout = sys.stdout or nowhere.open("w", encoding="utf-8")
    sys.stderr = sys.stderr or nowhere.open("w", encoding="utf-8")


def leave_broken_pipe() -> int:
    """The reader (`| head`) has gone: end quietly, as other tools do."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141
