"""What the pages say is tried: commands parse, settings exist, links lead somewhere, Make has its words."""

import itertools
import re
import shlex
from pathlib import Path

import pytest

from seqloom.cli.app import VERBS, build_app, hyphen_as_file
from seqloom.config import SECTIONS, TASKS, load_config
from seqloom.config.recipes import built_in_recipes, find_recipe

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(?:bash|sh|console)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]+)[^)]*\)")
names = [page.relative_to(ROOT).as_posix() for page in PAGES]


def command_lines(text: str) -> list[list[str]]:
    """The words after `seqloom` of every command in a block of shell, up to a pipe, a redirection or a comment."""
    found = []
    for block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"\s(?:\||&&|;)\s", line):
                if part.strip().startswith("seqloom "):
                    words = shlex.split(part, comments=True)
                    cut = next((i for i, word in enumerate(words) if word.startswith((">", "<", "2>"))), len(words))
                    found.append(words[1:cut])
    return found


def all_command_lines() -> list[tuple[str, list[str]]]:
    pages = [page for page in PAGES if page.name != "commands.md"]  # usage lines, not commands
    return [(page.name, words) for page in pages for words in command_lines(page.read_text("utf-8"))]


def built_in_names() -> set[str]:
    return {recipe.name for recipe in built_in_recipes()}


def parse(words: list[str]) -> None:
    app = build_app(in_full=VERBS)
    app.parse_args(hyphen_as_file(words, app), exit_on_error=False, print_error=False)


def test_the_readme_shows_every_verb():
    shown = {words[0] for words in command_lines((ROOT / "README.md").read_text("utf-8"))}
    assert shown >= set(VERBS) - {"demo"}


@pytest.mark.parametrize(("page", "words"), all_command_lines(), ids=lambda part: " ".join(part)[:60])
def test_a_command_of_a_page_is_one_that_seqloom_takes(page, words):
    parse(words)
    given = {flag: value for flag, value in itertools.pairwise(words) if flag in ("--recipe", "--task")}
    recipe = given.get("--recipe") or TASKS[given.get("--task", "translate")].recipe
    settings = [value for flag, value in itertools.pairwise(words) if flag == "--set"]
    load_config(find_recipe(recipe) if recipe in built_in_names() else None, settings)


def test_the_examples_of_every_help_are_commands_that_seqloom_takes():
    app = build_app(in_full=VERBS)
    tried = 0
    for verb in VERBS:
        block = "```\n" + "\n".join(line.strip() for line in app[verb].help_epilogue.splitlines()) + "\n```"
        for words in command_lines(block):
            parse(words)
            tried += 1
    assert tried >= len(VERBS)


@pytest.mark.parametrize("name", names)
def test_links_lead_somewhere(name):
    page = ROOT / name
    for target in LINK.findall(page.read_text("utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{name} links to {target}"


@pytest.mark.parametrize("name", names)
def test_settings_and_recipes_that_a_page_names_exist(name):
    text = (ROOT / name).read_text("utf-8")
    known = {f"{section}.{field}" for section, kind in SECTIONS.items() for field in kind.__dataclass_fields__}
    said = set(re.findall(r"`((?:{})\.[a-z_0-9]+)(?:\s*=[^`]*)?`".format("|".join(SECTIONS)), text))
    modules = {
        setting for setting in said if (ROOT / "seqloom" / setting.replace(".", "/")).with_suffix(".py").exists()
    }
    assert said - modules <= known
    assert set(re.findall(r"--recipe ([a-z][\w/-]*)(?![\w./-])", text)) <= built_in_names()


@pytest.mark.parametrize("name", names)
def test_the_words_of_make_that_a_page_names_exist(name):
    words = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", (ROOT / name).read_text("utf-8"))) <= words


@pytest.mark.parametrize("name", names)
def test_files_that_a_page_names_exist(name):
    """`seqloom/nn/cells.py` in a text is a promise that it is there."""
    for span in re.findall(r"`([^`\n]+)`", (ROOT / name).read_text("utf-8")):
        for path in re.findall(r"(?:^|\s)((?:seqloom|tests|docs|benchmarks)/[\w./-]+)", span):
            assert (ROOT / path).exists(), f"{name} names {path}, which is not there: correct the path"


@pytest.mark.parametrize("name", names)
def test_the_benchmarks_that_a_page_names_have_these_options(name):
    text = (ROOT / name).read_text("utf-8").replace("\\\n", " ")
    for script, rest in re.findall(r"python (benchmarks/[\w/]+\.py)([^`\n]*)", text):
        code = (ROOT / script).read_text("utf-8")
        for option in re.findall(r"\s(--[a-z][\w-]*)", rest.partition(" #")[0]):
            assert f'"{option}"' in code, f"{name}: {script} has no {option}"
