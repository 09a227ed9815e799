"""Inline markup: a sentence is translated as one, and its tags come back where the alignment shows their words."""

import re
import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.runtime.parts import Alignment
from seqloom.serve.markup import MARKUP, escape
from seqloom.serve.segments import join, split

TAGS = ["<b>", "</b>", "<i>", "</i>", '<a href="u?a=1&amp;b=2">', "</a>", "<img src=x>", "<wbr/>", "<!-- c -->", "<p>"]
TAGS += ["</p>", "<br>", "<code>", "</code>", "<sup>", "</sup>", "<span translate=no>", "</span>", "<x-y>", "<pre>"]
TEXTS = ["one", "two ", " three", "four, ", "five.", " ", "\n", "&amp;", "&lt;b&gt;", "3", "Six. Seven", "<", "l'eau"]


def parts_of(html):
    return [segment.text for segment in split(html, "html") if segment.translate]


def translated(html, *outputs):
    """Outputs as (text, links "0-1 1-0"), one per sentence."""
    segments = split(html, "html")
    sources = [segment.text for segment in segments if segment.translate]
    alignments = [
        Alignment(source.split(), text.split(), [[*map(int, link.split("-"))] for link in links.split()])
        for source, (text, links) in zip(sources, outputs, strict=True)
    ]
    return join(segments, iter([text for text, _ in outputs]), "html", alignments)


@pytest.mark.parametrize(
    ("html", "sentences"),
    [
        ("<b>Hello</b> world", ["Hello world"]),
        ("<p>one <b>two</b></p><p>three</p>", ["one two", "three"]),
        ("one<br>two", ["one", "two"]),
        ("<b> one</b> <i>two </i>", ["one two"]),
        ("f<b>oo</b>bar", ["foobar"]),
        ("One <b>two</b>. Three <i>four</i>. Five", ["One two.", "Three four.", "Five"]),
        ("One <b>two. Three</b> four", ["One two. Three four"]),
        ("<b>one <i>two</b> three</i>", ["one", "two", "three"]),
        ("one <b>two", ["one", "two"]),
        ("a <code>x = 1</code> b", ["a x = 1 b"]),
        ("a <code>for x in y: print x</code> b", ["a", "b"]),
        ("word<sup>[1]</sup> next", ["word next"]),
        ("x<sup>nd</sup> y", ["xnd y"]),
        ("<a><img></a> &amp; one", ["& one"]),
        ("<code>x</code>, <code>y</code>", []),
    ],
)
def test_what_is_one_sentence(html, sentences):
    assert parts_of(html) == sentences


@pytest.mark.parametrize(
    ("html", "outputs", "wanted"),
    [
        ("<b>Hello</b> world", [("Welt hallo", "0-1 1-0")], "Welt <b>hallo</b>"),
        ("the <a href=x>red car</a> here", [("ici la voiture rouge", "0-1 1-3 2-2 3-0")],
         "ici la <a href=x>voiture rouge</a>"),
        ("not <b>want</b> it", [("le veut pas", "0-2 1-1 2-0")], "le <b>veut</b> pas"),
        ("I do <b>not</b> go", [("je ne vais pas", "0-0 2-1 3-2 2-3")], "je <b>ne</b> vais pas"),
        ("“<b>love you</b>”, yes", [("oui, “t'aime”", "0-1 1-1 2-0")], "oui, “<b>t'aime</b>”"),
        ("<b>one, </b>two", [("un , deux", "0-0 0-1 1-2")], "<b>un ,</b> deux"),
        ("<b>one</b>, two", [("un , deux", "0-0 0-1 1-2")], "<b>un</b> , deux"),
        ("a <b>b <i>c</i></b> d", [("D C B A", "0-3 1-2 2-1 3-0")], "D <b><i>C</i> B</b> A"),
        ("a <img> b", [("B A", "0-1 1-0")], "<img> B A"),
        ("a<img> b", [("B A", "0-1 1-0")], "B A<img>"),
        ("water H<sub>2</sub>O &lt; 3", [("3 < H2O eau", "0-3 1-2 2-1 3-0")], "3 &lt; H<sub>2</sub>O eau"),
        ("run <code>make  x</code>, please", [("bitte mach das", "1-1 2-1 3-0")], "bitte <code>make  x</code> das"),
        ("run <code>make</code> now", [("jetzt Make laufen", "")], "jetzt <code>make</code> laufen"),
        ("run <code>make</code> now", [("jetzt laufen", "0-1 2-0")], "<code>make</code> jetzt laufen"),
        ("a <b>b</b> c", [("A", "0-0")], "<b>A</b>"),  # an element with words never becomes empty while there is one
        ("<b>a</b> <i>b</i>", [("X", "0-0")], "<b>X</b><i></i>"),
        ("<b>a</b> b", [("", "")], "<b></b>"),
    ],
)  # fmt: skip
def test_tags_follow_their_words(html, outputs, wanted):
    assert translated(html, *outputs) == wanted


def test_without_an_alignment_words_at_the_same_place_count_as_aligned():
    segments = split("one <b>two</b> <i>three four</i>", "html")
    assert join(segments, iter(["A B C D"]), "html") == "A <b>B</b> <i>C D</i>"
    assert join(segments, iter(["A B"]), "html") == "<b>A</b> <i>B</i>"


html = st.lists(st.sampled_from(TAGS + TEXTS + TEXTS), max_size=25).map("".join)


@given(html, st.data())
def test_tags_are_never_lost_or_doubled_and_stay_nested(html, data):
    """Whatever the model answers and however its words are aligned."""
    segments = split(html, "html")
    outputs, alignments = [], []
    for segment in segments:
        if segment.translate:
            words = data.draw(st.lists(st.sampled_from(["un", "deux,", "<b>", "«", "!", "3"]), max_size=8))
            num = len(segment.text.split(" "))
            link = st.tuples(st.integers(0, num - 1), st.integers(0, max(0, len(words) - 1))).map(list)
            links = data.draw(st.lists(link, max_size=10)) if words else []
            outputs.append(" ".join(words))
            alignments.append(data.draw(st.sampled_from([None, Alignment(segment.text.split(" "), words, links)])))
    answer = join(segments, iter(outputs), "html", alignments)
    before, after = ([match[0] for match in MARKUP.finditer(text)] for text in (html, answer))
    assert Counter(before) == Counter(after)
    assert mistakes(after) <= mistakes(before)
    if not {"<code>", "<sup>"} & {*before} and "translate=no" not in html:  # these hold text that stays
        said = iter(outputs)
        whole = "".join(escape(next(said)) if one.translate else one.text for one in segments)
        assert without_blanks(answer) == without_blanks(whole)


def without_blanks(html):
    return re.sub(r"\s", "", MARKUP.sub("", html))


def mistakes(tags):
    """How many tags have no partner."""
    opened, wrong = [], 0
    for tag in tags:
        match = MARKUP.fullmatch(tag)
        name = match["tag"]
        if not name or name in ("img", "wbr", "br"):
            continue
        if not match["close"]:
            opened.append(name)
        elif name in opened:
            while opened.pop() != name:
                wrong += 1
        else:
            wrong += 1
    return wrong + len(opened)


@given(st.text(alphabet="ab <>/!-&;\"'=[]?\nip", max_size=80))
def test_markup_of_any_kind_is_kept(html):
    segments = split(html, "html")
    answer = join(segments, iter(["<script>"] * len(segments)), "html")
    raw = [match[0] for match in MARKUP.finditer(html)]
    assert Counter(match[0] for match in MARKUP.finditer(answer)) == Counter(raw)


@pytest.mark.parametrize(
    "html",
    ["<b>" * 700 + "a" + "</b>" * 700, "<b>a</b> " * 600, "a<wbr>" * 800, "<b><i>a</b></i>" * 300, "a <b> " * 900],
)
def test_much_markup_takes_no_time(html):
    started = time.process_time()
    segments = split(html, "html")
    texts = [segment.text for segment in segments if segment.translate]
    assert Counter(MARKUP.findall(join(segments, iter(texts), "html"))) == Counter(MARKUP.findall(html))
    assert time.process_time() - started < 2


def test_a_server_translates_a_sentence_with_tags_as_one(server, pairs):
    answer = server.translate("<p>the <b>cat</b> &amp; dog</p>", format="html", alternatives=2).json
    expected = pairs[0].translator.translate("the cat & dog")
    for text in (answer["translatedText"], *answer["alternatives"]):
        assert Counter(re.findall("<[^>]*>", text)) == Counter(["<p>", "<b>", "</b>", "</p>"])
    assert MARKUP.sub("", answer["translatedText"]) == escape(expected)
