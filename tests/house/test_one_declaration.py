"""An option of search is declared once: command lines, help, HTTP, settings and Python follow the declaration."""

import io
from dataclasses import fields

import msgspec
import pytest
from rich.console import Console

from seqloom.cli.app import build_app
from seqloom.config.sections import DecodeConfig
from seqloom.decode.options import SearchRequest, offered_by, offered_over_http, spelled
from seqloom.serve.messages import OwnRequest, OwnTexts

HELP = {option.name: option.metadata["help"] for option in fields(SearchRequest)}
OPTIONS = {option.name: option.metadata["rule"] for option in fields(SearchRequest)}
VERBS = ("translate", "evaluate", "chat", "generate", "serve")
ONLY_PYTHON = {"max_length"}
OTHER_OPTIONS = {
    "--out,",
    "--out",
    "--workers",
    "--ray",
    "--prefix",
    "--prefix-file",
    "--scores",
    "--with",
    "--threads",
    "--engine",
}


def test_every_option_is_offered_somewhere():
    for name, rule in OPTIONS.items():
        assert set(rule.verbs) <= {*VERBS}, name
        assert rule.verbs or name in ONLY_PYTHON, f"{name}: no command offers it"
    assert set(offered_by("evaluate")) <= set(offered_by("translate")) == OPTIONS.keys() - ONLY_PYTHON


@pytest.mark.parametrize("verb", VERBS)
def test_a_command_has_the_options_that_the_declaration_gives_it(verb):
    page = io.StringIO()
    build_app(in_full=[verb]).help_print([verb], console=Console(file=page, width=1000, color_system=None))
    rows = {words[1]: line for line in page.getvalue().splitlines() if len(words := line.split()) > 1}
    for name, rule in OPTIONS.items():
        if verb in rule.verbs:
            assert HELP[name] in rows[spelled(name)], f"{verb} --help: {name}"
        else:
            assert spelled(name) not in rows, f"{verb} --help: {name}"
    if verb == "translate":
        assert {word for word in rows if word.startswith("--")} == OTHER_OPTIONS | {*map(spelled, offered_by(verb))}


def test_the_body_of_http_requests_has_the_options_that_the_declaration_gives_it():
    properties = msgspec.json.schema_components([OwnRequest])[1]["OwnRequest"]["properties"]
    assert offered_over_http().keys() == properties.keys() - {*OwnTexts.__struct_fields__}
    for name, http in offered_over_http().items():
        schema = properties[name]
        number = next(kind for kind in schema.get("anyOf", [schema]) if kind["type"] == "integer")
        assert (number["minimum"], number["maximum"], schema["default"]) == (http.least, http.most, http.default)
        assert http.most <= OPTIONS[name].most


def test_settings_of_a_model_are_options_with_the_same_default():
    for setting in fields(DecodeConfig):
        if setting.name != "batch_size":  # how many sentences at once: it changes no output
            assert OPTIONS[setting.name].default == setting.default


def test_python_takes_every_option():
    for name, rule in OPTIONS.items():
        value = rule.default if rule.default is not None else max(1, rule.least)
        needed = {"sample": 1} if rule.only == "sample" else {}
        SearchRequest.of(**needed | {name: value}).check()
        assert SearchRequest.of(**needed | {name: value}).filled().given[name] == value
