"""Every setting of a run at its extremes, as a recipe or a stranger's folder has it: a short message, or a config."""

from dataclasses import fields
from pathlib import Path

import pytest
import tomli_w

from seqloom.config import Config, load_config
from seqloom.errors import SeqloomError
from tests.hostile.bounds import bounded

SECTIONS = {section.name: section.default_factory() for section in fields(Config)}
SETTINGS = [(section, each.name) for section, values in SECTIONS.items() for each in fields(values)]
VALUES = [
    -1, 0, 10**9, 2**63, 10**400, -(10**30), 0.5, 1e308, -0.0, float("nan"), float("inf"), True, "", "x", "x" * 100_000,
    "\x1b[2J", "../../x", "/dev/zero", "a\nb", "\u202e", [], [[]], [-1], {}, {"x": 1},
]  # fmt: skip


@pytest.mark.parametrize(("section", "name"), SETTINGS, ids=lambda word: word)
def test_a_setting_at_its_extremes_is_a_sentence_or_a_config(tmp_path: Path, section: str, name: str) -> None:
    file = tmp_path / "config.toml"
    for value in VALUES:
        file.write_text(tomli_w.dumps({section: {name: value}}), "utf-8")
        with bounded(10):
            try:
                load_config(file)
            except SeqloomError as error:
                said = str(error)
                short = said[:300]
                assert name in said, short
                hidden, length = "\x1b" not in said, len(said)
                assert hidden and length < 2000, short


@pytest.mark.parametrize(
    "content",
    [f'["{"k" * 100_000}"]\nx = 1', f'[model]\n"{"k" * 100_000}" = 1', "\n".join(f"k{n} = 1" for n in range(20_000))],
    ids=["section", "setting", "20,000 sections"],
)
def test_a_message_about_settings_has_an_end(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.toml").write_text(content, "utf-8")
    with pytest.raises(SeqloomError) as refused:
        load_config(tmp_path / "config.toml")
    assert len(str(refused.value)) < 6000


def test_there_are_enough_of_them() -> None:
    assert len(SETTINGS) * len(VALUES) > 1000
