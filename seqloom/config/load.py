"""From a TOML recipe and `a.b=value` overrides to a checked Config; all errors at once. And back to TOML."""

import dataclasses
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from seqloom.config.rules import check_together
from seqloom.config.sections import SECTIONS, Config
from seqloom.config.tables import TASKS
from seqloom.errors import UsageError, did_you_mean

GONE = (("task", "respell", 0.0),)  # removed settings, and what they were when off
FAMILIES = ("rnn", "transformer")  # a setting whose help begins so is for that family alone; of tasks the same


def load_config(recipe: Path | None = None, overrides: Iterable[str] = ()) -> Config:
    """The recipe file with each `section.name=value` laid over it."""
    table, overrides = read_toml(recipe) if recipe else {}, [*overrides]
    faults: list[str] = []
    for override in overrides:
        apply_override(table, override, faults)
    where = f"{recipe}{' and the settings laid over it' if overrides else ''}" if recipe else "the settings"
    return build_config(table, where, faults)


def idle_overrides(config: Config, overrides: Iterable[str]) -> dict[str, str]:
    """Those that are for another family of models or another task than this config's, and so do nothing: -> why."""
    reasons = {}
    for override in overrides:
        section, _, name = override.partition("=")[0].strip().partition(".")
        setting = {f.name: f for f in dataclasses.fields(SECTIONS[section])}[name]
        if reason := idle_reason(config, setting.metadata["help"]):
            reasons[override] = reason
    return reasons


def idle_reason(config: Config, help: str) -> str:
    """Who reads a setting instead, by the begin of its help text; empty when this config's model and task do."""
    kind, task = config.model.kind, config.task.name
    family = next((family for family in FAMILIES if help.startswith(family)), "")
    if family and family != ("transformer" if kind == "gpt" else kind):
        return f"for model.kind = {family}, and here it is {kind}"
    if help.startswith("rnn with attention") and config.model.attention == "none":
        return "for networks with attention, and here model.attention = none"
    tasks = help.partition(":")[0].split(", ")
    if task not in tasks and all(name in TASKS for name in tasks):
        return f"for task.name = {' or '.join(tasks)}, and here it is {task}"
    return ""


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return without_gone(tomllib.loads(path.read_text("utf-8-sig")))  # editors on Windows begin with a mark
    except FileNotFoundError:
        raise UsageError(f"{path}: no such recipe. `seqloom recipes` lists the built-in ones.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not a TOML file: {error}") from None


def without_gone(table: dict[str, Any]) -> dict[str, Any]:
    """A run folder holds every setting of its day; one that was removed since and was off says nothing."""
    for section, name, off in GONE:
        settings = table.get(section)
        if isinstance(settings, dict) and settings.get(name) == off:
            del settings[name]
    return table


def apply_override(table: dict[str, Any], override: str, faults: list[str]) -> None:
    name, equals, text = override.partition("=")
    section, dot, key = name.strip().partition(".")
    if not (equals and dot and section and key):
        faults.append(f"--set {override}: want section.name=value, e.g. model.width=256")
        return
    try:
        parsed = tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        parsed = text  # a bare word is a string: --set model.kind=rnn
    settings = table.setdefault(section, {})
    if isinstance(settings, dict):  # else build_config says what is wrong with the section
        settings[key] = parsed


def build_config(table: Mapping[str, Any], where: str, faults: list[str] | None = None) -> Config:
    """A checked Config, or one UsageError that lists everything wrong."""
    faults = list(faults or ())
    sections = {}
    for name, settings in table.items():
        if name not in SECTIONS or not isinstance(settings, dict):
            faults.append(f"{name}: no such section.{did_you_mean(name, SECTIONS)} Sections: {', '.join(SECTIONS)}")
        else:
            sections[name] = build_section(name, settings, faults)
    if not faults:
        config = Config(**sections)
        faults += [*check_together(config)]
    if faults:
        raise UsageError(f"{where}: {len(faults)} wrong setting(s)\n" + "\n".join(f"  {fault}" for fault in faults))
    return config


def build_section(section: str, settings: Mapping[str, Any], faults: list[str]) -> Any:
    kind = SECTIONS[section]
    fields = {f.name: f for f in dataclasses.fields(kind)}
    good = {}
    for name, got in settings.items():
        if name not in fields:
            faults.append(f"{section}.{name}: no such setting.{did_you_mean(name, fields)}")
        elif fault := fault_of(fields[name], got):
            faults.append(f"{section}.{name} = {got!r}: {fault}")
        else:
            good[name] = msgspec.convert(got, fields[name].type, strict=True)
    return kind(**good)


def fault_of(setting: dataclasses.Field[Any], got: Any) -> str:
    """What is wrong with one value; empty when nothing is."""
    try:
        msgspec.convert(got, setting.type, strict=True)
    except msgspec.ValidationError:
        return f"want {getattr(setting.type, '__name__', setting.type)}, got {type(got).__name__}"
    rule = setting.metadata
    if "allowed" in rule and got not in rule["allowed"]:
        return f"allowed: {', '.join(rule['allowed'])}.{did_you_mean(str(got), rule['allowed'])}"
    if "least" in rule and not rule["least"] <= got <= rule["most"]:
        return f"want {rule['least']} <= value <= {rule['most']}"
    return ""


def dump_config(config: Config) -> str:
    """The TOML text that `load_config` reads back to an equal Config."""
    import tomli_w

    return tomli_w.dumps(dataclasses.asdict(config))
