"""The command line: finds the verb, imports its file, and turns errors into messages and exit codes.

Exit codes: 0 success, 2 wrong usage, 3 bad data, 4 bad model folder, 5 training failed, 130 / 143 stopped and saved.
Data goes to standard output, everything else to standard error.
"""

import errno
import inspect
import io
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from importlib import import_module
from itertools import pairwise
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from cyclopts import App, CycloptsError, Parameter

from seqloom import __version__
from seqloom.cli.wrong_call import tell_wrong_call
from seqloom.errors import SeqloomError, TrainingError, UsageError, did_you_mean, visible

VERBS = {
    "train": "Train a model on pairs; the same command again continues where it stopped.",
    "plan": "Predict what a training run will need: hours, memory, disk and traffic.",
    "finish": "Make a model from the last checkpoint of a training run that was stopped.",
    "translate": "Translate text: one output line per input line.",
    "serve": "Serve models over HTTP, for LibreTranslate, DeepL and OpenAI clients.",
    "generate": "Generate text from a prompt.",
    "chat": "Talk with a dialogue model, turn by turn.",
    "evaluate": "Measure a model on pairs that it has not seen.",
    "score": "Print the log-probability of given targets.",
    "rescore": "Re-rank the n-best list of any system with a model.",
    "align": "Align the words of sentence pairs, using the attention of a model.",
    "explain": "Show what a model does inside with a text: attention, gates, states and more.",
    "data": "List and fetch public corpora, or generate one.",
    "doctor": "Check a data file and report what is wrong with it.",
    "models": "List the bundled models: languages, size, scores, licence.",
    "compare": "Show what models of several generations make of one sentence, side by side.",
    "info": "Show what is in a model folder.",
    "vectors": "Train, query, measure and plot word vectors.",
    "export": "Write a model in another format: compact, CTranslate2, Hugging Face or ONNX.",
    "import": "Turn a folder of public weights (Hugging Face layout) into a model folder.",
    "ladder": "Train a series of models on one corpus, from the plain RNN to the Transformer, and compare them.",
    "recipes": "List the built-in recipes and their measured results, or print one recipe.",
    "demo": "Train, evaluate and try a model in a few minutes, without data of your own.",
}

FRACTION = re.compile(r"[+-]?\d*\.\d*(e[+-]?\d+)?", re.IGNORECASE)
ABOUT = "Seqloom turns a two-column file into a trained and evaluated translation model."

EXAMPLES = """\
Examples:
    echo "They are watching." | seqloom translate
    seqloom compare "They are watching."
    seqloom demo
    seqloom doctor pairs.tsv
    seqloom train pairs.tsv --out runs/x --budget 20m
    echo "a sentence" | seqloom translate runs/x
    seqloom evaluate runs/x test.tsv

`seqloom COMMAND --help` shows its options. `seqloom --install-completion` sets up completion in your shell.
"""


def build_app(in_full: Collection[str] = ()) -> App:
    """Build the app. It imports only the verbs in `in_full`; of the others it knows the line in VERBS."""
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
    """The name of a verb's file and function: the verb itself, or `import_` where Python reserves the word."""
    return f"{verb}_" if iskeyword(verb) else verb


def description(command: Callable[..., object]) -> str:
    """The text before the sections of a command's docstring, with unwrapped paragraphs to fit any terminal."""
    text = re.split(r"\n(?:Parameters|Examples)\b", inspect.cleandoc(command.__doc__ or ""))[0]
    return "\n\n".join(paragraph.replace("\n", " ") for paragraph in text.strip().split("\n\n"))


def examples(command: Callable[..., object]) -> str:
    """The examples in a command's docstring, which cyclopts does not show."""
    section = r"\nExamples:?\n[-\n]*(.*?)(?:\nParameters\n|$)"
    found = re.search(section, inspect.cleandoc(command.__doc__ or ""), re.DOTALL)
    return "\n".join(["Examples:", *(line for line in found[1].splitlines() if line), ""]) if found else ""


def shown_default(default: Any) -> Any:
    """Hide the default of flags and empty lists: `[default: False]` does not help anyone."""
    return None if default is False or default == () else default


def main(tokens: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    open_closed_streams()
    speak_utf8()
    tokens = sys.argv[1:] if tokens is None else list(tokens)
    with notices_as_lines():
        return run_tokens(tokens)


@contextmanager
def notices_as_lines() -> Iterator[None]:
    """Print the notices of a model, which Python shows as warnings with file and line, as plain lines."""
    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UserWarning, module=r"seqloom\.")
        warnings.showwarning = lambda message, *_, **__: print(visible(str(message)), file=sys.stderr)
        yield


def run_tokens(tokens: list[str]) -> int:
    """Run one command line; an error becomes a message and an exit code."""
    try:
        refuse_unknown_verb(tokens[:1])
        refuse_several_processes(tokens[:1], os.environ)
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
    """Refuse an unknown verb here: cyclopts would import every command to print the same message."""
    for word in first:
        if word not in VERBS and not word.startswith("-"):
            raise UsageError(f"{word}: no such command.{did_you_mean(word, VERBS)} Commands: {', '.join(VERBS)}.")


def refuse_several_processes(first: Sequence[str], environment: Mapping[str, str]) -> None:
    """Refuse a command that torchrun has started several times: all of them would do the same and write the same files.

    Only `train` shares its work among such processes.
    """
    size = environment.get("WORLD_SIZE", "")
    if "RANK" in environment and size.isdecimal() and int(size) > 1 and first and first[0] in set(VERBS) - {"train"}:
        also = {"translate": " Its own option: --workers.", "score": " Its own option: --workers."}
        raise UsageError(
            f"{first[0]}: torchrun has started {size} processes (WORLD_SIZE={size}), and each would do all of this. "
            f"Only `seqloom train` shares its work among them. Run `seqloom {first[0]}` without torchrun, or unset "
            f"RANK and WORLD_SIZE.{also.get(first[0], '')}"
        )


def parameters_of(tokens: Sequence[str], app: App) -> list[inspect.Parameter]:
    """The parameters of the command that these words call; an empty list if there is no such command."""
    verb = app[tokens[0]] if tokens and tokens[0] in VERBS else None
    if verb is not None and len(tokens) > 1 and not tokens[1].startswith("-") and tokens[1] in verb:
        verb = verb[tokens[1]]  # `vectors train`
    if verb is None or verb.default_command is None:
        return []
    return [*one_by_one(inspect.signature(verb.default_command).parameters.values())]


def one_by_one(parameters: Iterable[inspect.Parameter]) -> Iterator[inspect.Parameter]:
    """Yield each option; a group of options (a dataclass) is replaced by its fields."""
    for parameter in parameters:
        group = get_args(parameter.annotation)[0] if get_origin(parameter.annotation) is Annotated else None
        if not is_dataclass(group):
            yield parameter
            continue
        hints, rename = get_type_hints(group), get_args(parameter.annotation)[1].name_transform
        for option in fields(group):
            name = rename(option.name).replace("-", "_") + "_"  # `with` is reserved; `option_of` strips it
            yield parameter.replace(name=name, annotation=hints[option.name], default=option.default)


def option_of(parameter: inspect.Parameter) -> str:
    return "--" + parameter.name.strip("_").replace("_", "-")


def refuse_fractions(tokens: Sequence[str], app: App) -> None:
    """Refuse `--beam 2.5`: cyclopts would round it."""
    whole = {option_of(p) for p in parameters_of(tokens, app) if p.annotation in (int, int | None)}
    for word, after in pairwise([*tokens, ""]):
        name, equals, value = word.partition("=")
        number = value if equals else after
        if name in whole and FRACTION.fullmatch(number):
            raise UsageError(f"{name} {number}: want a whole number.")


def hyphen_as_file(tokens: Sequence[str], app: App) -> list[str]:
    """Treat a lone `-` as a file, as other tools do: cyclopts takes it for an option unless it follows `--` or `=`."""
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
    """Print an error for a person and return the exit code. Only a bug in Seqloom shows a traceback."""
    match error:
        case SeqloomError():
            say(str(error))
            return error.exit_code
        case CycloptsError():
            verb = f" {tokens[0]}" if tokens and tokens[0] in VERBS else ""
            say(f"{tell_wrong_call(error)}\nSee `seqloom{verb} --help`.")
            return UsageError.exit_code
        case OSError(errno=errno.ENOSPC | errno.EDQUOT | errno.EFBIG):
            why = "the disk is full, or a quota or file-size limit is reached"
            say(f"{error.filename or 'the output'}: {why}. Make room and run the same command again.")
            return TrainingError.exit_code
        case OSError(filename=str() as name):
            say(f"{name}: {error.strerror}")
            return UsageError.exit_code
    traceback.print_exception(error)
    say("this is a bug in Seqloom. Please report it, with the lines above.")
    return 1


def say(message: str) -> None:
    print(f"seqloom: {visible(message)}", file=sys.stderr)


def speak_utf8() -> None:
    """Read and write UTF-8 in every locale. Writing never fails, even if a file name is not UTF-8 (`\\udcff`)."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def open_closed_streams() -> None:
    """Replace closed streams (`>&-`): Python sets them to None, and writing to None would fail."""
    nowhere = Path(os.devnull)
    sys.stdout = sys.stdout or nowhere.open("w", encoding="utf-8")
    sys.stderr = sys.stderr or nowhere.open("w", encoding="utf-8")


def leave_broken_pipe() -> int:
    """End quietly when the reader (`| head`) has closed the pipe, as other tools do."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141
