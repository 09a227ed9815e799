"""Glossaries: which terms are found in a text, and what a translation becomes with them."""

import time

import pytest

from seqloom.runtime.parts import Alignment
from seqloom.serve.glossary import MOST_TERMS, Glossary
from seqloom.serve.refusal import Refusal
from seqloom.serve.segments import join, split


def translated(text, terms, output, links, format="text"):
    segments = Glossary(terms).apply(split(text, format))
    [source] = [one.text for one in segments if one.translate]
    alignment = None if links is None else [[*map(int, link.split("-"))] for link in links.split()]
    aligned = None if alignment is None else Alignment(source.split(), output.split(), alignment)
    return join(segments, iter([output]), format, [aligned])


@pytest.mark.parametrize(
    ("text", "terms", "output", "links", "wanted"),
    [
        ("the red car", {"car": "bagnole"}, "la voiture rouge", "0-0 2-1 1-2", "la bagnole rouge"),
        ("the red car.", {"red car": "bolide"}, "la voiture rouge.", "0-0 2-1 1-2", "la bolide."),
        ("the Car", {"car": "voiture"}, "la voiture", "0-0 1-1", "la Voiture"),
        ("a cart", {"car": "voiture"}, "un chariot", "0-0 1-1", "un chariot"),
        ("a car", {"CAR": "VW"}, "une auto", "0-0 1-1", "une VW"),
        ("a car, a car", {"car": "VW"}, "une auto, une auto", "0-0 1-1 2-2 3-3", "une VW, une VW"),
        ("see a car", {"car": "VW"}, "voir", "0-0", "voir VW"),  # the model left it out
        ("see a car", {"car": "VW"}, "voir une auto", None, "voir une auto"),  # no alignment: not forced
        ("see a car", {"car": "auto"}, "voir une auto", None, "voir une auto"),
    ],
)
def test_terms_come_out(text, terms, output, links, wanted):
    assert translated(text, terms, output, links) == wanted


def test_terms_go_with_markup():
    terms = {"car": "<bagnole>", "b c": "x"}
    assert translated("the <b>red car</b>", terms, "la auto rouge", "0-0 2-1 1-2", "html") == (
        "la <b>&lt;bagnole&gt; rouge</b>"
    )
    assert translated("a <b>b</b> c", terms, "A B C", "0-0 1-1 2-2", "html") == "A <b>B</b> C", "it crosses an element"


@pytest.mark.parametrize("terms", [{}, {" ": "a"}, {"a": ""}, {"a\n": "b"}, {"a": "b" * 201}])
def test_odd_glossaries_are_refused(terms):
    with pytest.raises(Refusal):
        Glossary(terms)


def test_a_large_glossary_takes_no_time():
    glossary = Glossary({f"term {number}": "x" for number in range(MOST_TERMS)})
    started = time.process_time()
    for _ in range(10):
        glossary.apply(split("term " * 1000, "text"))
    assert time.process_time() - started < 10


def test_a_request_has_its_own_words(server):
    answer = server.post("/v1/translate", q="a small dog", target="de", source="en", glossary={"dog": "Köter"})
    assert "Köter" in answer.json["translations"][0]["text"]
    assert "1 to 200 characters" in server.post("/v1/translate", q="a", target="de", glossary={"": "x"}).error
    assert "glossary must be an object" in server.post("/v1/translate", q="a", target="de", glossary=["x"]).error
