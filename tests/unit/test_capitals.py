"""A text in capitals is read in lower case and answered in capitals, by models whose settings say so."""

import shutil
from dataclasses import replace

import pytest

from seqloom.config import DataConfig, dump_config
from seqloom.runtime.capitals import lowered, read_capitals, write_capitals
from seqloom.runtime.folder import read_config
from seqloom.runtime.parts import Translation
from seqloom.runtime.translator import Translator


@pytest.mark.parametrize(
    ("text", "english", "expected"),
    [
        ("WE ARE HERE. COME!", True, "We are here. Come!"),
        ("I THINK I'M LATE", True, "I think I'm late"),
        ("I GATTI E I CANI", False, "I gatti e i cani"),
        ("« ÉTÉ » EST FINI… OUI", False, "« Été » est fini… Oui"),
        ("3.5 KILOS OF MILK", True, "3.5 kilos of milk"),
    ],
)
def test_lower_case_with_a_capital_where_a_sentence_begins(text, english, expected):
    assert lowered(text, english) == expected


def test_only_texts_in_capitals_and_only_where_the_settings_say_so():
    texts = ["WHERE IS THE CAT?", "Where is the cat?", "NATO", "貓在哪裡"]
    asked = DataConfig(lower_capitals=True, source_lang="en")
    assert read_capitals(texts, asked) == (["Where is the cat?", *texts[1:]], [True, False, False, False])
    assert read_capitals(texts, DataConfig()) == (texts, [False] * 4)


def test_outputs_of_a_text_in_capitals_are_in_capitals():
    ranked = [[Translation("où est-il ?", -0.5, -2.0)], [Translation("là", -0.1, -0.2)]]
    assert [[each.text for each in found] for found in write_capitals(ranked, [True, False])] == [
        ["OÙ EST-IL ?"],
        ["là"],
    ]


def test_a_translator_answers_capitals_as_it_answers_lower_case(tiny_model, tmp_path):
    folder = shutil.copytree(tiny_model, tmp_path / "model")
    config = read_config(folder)
    changed = replace(config, data=replace(config.data, lower_capitals=True))
    (folder / "config.toml").write_text(dump_config(changed), "utf-8")
    loud, quiet = Translator.load(folder).translate(["ABCDEFGH", "Abcdefgh"])
    assert loud == quiet.upper()
