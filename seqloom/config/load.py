"""Build a checked Config from a TOML recipe and `a.b=value` overrides, with all errors at once; write it as TOML."""

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from seqloom.config.families import FAMILIES
from seqloom.config.rules import check_together
from seqloom.config.sections import SECTIONS, Config, Only
from seqloom.errors import UsageError, did_you_mean, has_controls
from seqloom.files.reading import SETTINGS, Refused, parse_toml, read_file

SYNONYMS = {"gpu": "cuda", "nvidia": "cuda", "processor": "cpu"}  # other words for allowed values
MOST_SHOWN, LONGEST_SHOWN = 50, 200  # faults of a message, and characters of a name or value in it
GONE = (("task", "respell", 0.0),)  # removed settings, each with the value that meant off


def load_config(recipe: Path | None = None, overrides: Iterable[str] = ()) -> Config:
    """The settings of the recipe file, changed by each `section.name=value`."""
    table, overrides = read_toml(recipe) if recipe else {}, [*overrides]
    faults: list[str] = []
    for override in overrides:
        apply_override(table, override, faults)
    where = f"{recipe}{' with overrides' if overrides else ''}" if recipe else "the settings"
    return build_config(table, where, faults)


def idle_overrides(config: Config, overrides: Iterable[str]) -> dict[str, str]:
    """The overrides that this config's model or task does not read, each with the reason."""
    reasons = {}
    for override in overrides:
        section, _, name = override.partition("=")[0].strip().partition(".")
        setting = {f.name: f for f in dataclasses.fields(SECTIONS[section])}[name]
        if reason := idle_reason(config, setting.metadata["only"]):
            reasons[override] = reason
    return reasons


def idle_reason(config: Config, only: Only) -> str:
    """The reason why this config's model or task does not read a setting; empty if it does."""
    kind, task = config.model.kind, config.task.name
    if only.family and only.family != FAMILIES[kind].settings:
        return f"only for model.kind = {only.family}, but here it is {kind}"
    if only.attention and config.model.attention == "none":
        return "only for networks with attention, but here model.attention = none"
    if only.tasks and task not in only.tasks:
        return f"only for task.name = {' or '.join(only.tasks)}, but here it is {task}"
    return ""


def read_toml(path: Path, links: bool = True) -> dict[str, Any]:
    try:
        # a person's own recipe may be a link to any place; editors on Windows write a byte order mark
        return without_gone(parse_toml(read_file(path, SETTINGS, links).decode("utf-8-sig")))
    except FileNotFoundError:
        raise UsageError(f"{path}: no such recipe. `seqloom recipes` lists the built-in ones.") from None
    except Refused as error:
        raise UsageError(f"{path}: {error}") from None
    except ValueError as error:
        raise UsageError(f"{path}: not a TOML file: {error}") from None


def without_gone(table: dict[str, Any]) -> dict[str, Any]:
    """Drop removed settings that were off: run folders of older versions still contain them."""
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
        parsed = parse_toml(f"x = {text}")["x"]
    except ValueError:
        parsed = text  # a bare word is a string: --set model.kind=rnn
    settings = table.setdefault(section, {})
    if isinstance(settings, dict):  # else build_config reports the section
        settings[key] = parsed


def build_config(table: Mapping[str, Any], where: str, faults: list[str] | None = None) -> Config:
    """A checked Config, or one UsageError that lists all faults."""
    faults = list(faults or ())
    sections = {}
    for name, settings in table.items():
        if name not in SECTIONS or not isinstance(settings, dict):
            faults.append(
                f"{brief(name)}: no such section.{did_you_mean(name, SECTIONS)} Sections: {', '.join(SECTIONS)}"
            )
        else:
            sections[name] = build_section(name, settings, faults)
    if not faults:
        config = Config(**sections)
        faults += [*check_together(config)]
    if faults:
        shown = [f"  {fault}" for fault in faults[:MOST_SHOWN]]
        shown += [f"  and {len(faults) - MOST_SHOWN:,} more"] if len(faults) > MOST_SHOWN else []
        raise UsageError(f"{where}: {len(faults)} wrong setting(s)\n" + "\n".join(shown))
    return config


def brief(word: str) -> str:
    """A name or a value of a file, short enough for a message: a stranger's may have megabytes."""
    return word if len(word) <= LONGEST_SHOWN else f"{word[: LONGEST_SHOWN - 3]}..."


def build_section(section: str, settings: Mapping[str, Any], faults: list[str]) -> Any:
    kind = SECTIONS[section]
    fields = {f.name: f for f in dataclasses.fields(kind)}
    good = {}
    for name, got in settings.items():
        if name not in fields:
            faults.append(f"{section}.{brief(name)}: no such setting.{did_you_mean(name, fields)}")
        elif fault := fault_of(fields[name], got):
            faults.append(f"{section}.{name} = {brief(repr(got))}: {fault}")
        else:
            good[name] = msgspec.convert(got, fields[name].type, strict=True)
    return kind(**good)


def fault_of(setting: dataclasses.Field[Any], got: Any) -> str:
    """What is wrong with one value; empty if it is right."""
    try:
        msgspec.convert(got, setting.type, strict=True)
    except msgspec.ValidationError:
        return f"want {getattr(setting.type, '__name__', setting.type)}, got {type(got).__name__}"
    if isinstance(got, str) and has_controls(got):
        return "want a text without control characters"
    rule = setting.metadata
    if "allowed" in rule and got not in rule["allowed"]:
        return f"allowed: {', '.join(rule['allowed'])}.{suggest_allowed(str(got), rule['allowed'])}"
    if "least" in rule and not rule["least"] <= got <= rule["most"]:
        return f"want {rule['least']} <= value <= {rule['most']}"
    return ""


def suggest_allowed(got: str, allowed: Mapping[str, str]) -> str:
    """Suggest the value that was probably meant: a synonym before a similar spelling (`gpu` is near `cpu`)."""
    meant = SYNONYMS.get(got.lower(), "")
    return f" Did you mean {meant!r} ({allowed[meant]})?" if meant in allowed else did_you_mean(got, allowed)


def dump_config(config: Config) -> str:
    """The TOML text that `load_config` reads back to an equal Config."""
    import tomli_w

    return tomli_w.dumps(dataclasses.asdict(config))
