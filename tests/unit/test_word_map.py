"""A map of words: labels that do not hide each other, a PNG, and a page that loads nothing and trusts no word."""

import json
import re
from html.parser import HTMLParser

import pytest

from seqloom.vectors.word_map import WordMap, draw_html, draw_png, labelled

EVIL = '</script><script>alert("x")</script>'


def a_map(words=("cat", "dog", EVIL, "_car", "$5$"), places=((0, 0), (1, 0), (0, 1), (1, 1), (0.5, 0.5))) -> WordMap:
    groups = [0, 0, 1, 1, 1]
    return WordMap(
        f"words & <{words[0]}>", words, places, groups, ["cat", EVIL], [f"{w}: near" for w in words], ("x", "y")
    )


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


def test_the_page_holds_every_word_as_text_and_loads_nothing():
    page = draw_html(a_map())
    tags = Tags()
    tags.feed(page)
    assert tags.tags.count("script") == 2  # the data and ours: that of the word is text
    assert EVIL in tags.texts
    assert tags.tags.count("circle") == 5
    assert not {"src", "href", "link", "img", "onclick"} & {*tags.tags, *(name for name, _ in tags.attributes)}
    assert not re.search(r"https?:|url\(|@import|innerHTML", page)
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'") in tags.attributes
    data = next(text for text in tags.texts if text.startswith("["))
    assert json.loads(data)[2] == f"{EVIL}: near"
    assert tags.texts[tags.texts.index("words & <cat>")]  # the title, unescaped by the parser only


def test_places_keep_their_order_on_paper():
    circles = [(float(x), float(y)) for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', draw_html(a_map()))]
    assert circles[0][0] < circles[4][0] < circles[1][0]
    assert circles[0][1] > circles[4][1] > circles[2][1]  # what is higher has the smaller y
    alone = draw_html(a_map(places=((2, 2),) * 5))  # all at one place: nothing to divide by
    assert "nan" not in alone


def test_labels_that_would_hide_each_other_are_hidden_but_names_are_not():
    words = ("cat", "dog", EVIL, "_car", "$5$")
    crowded = a_map(words, ((0, 0), (0, 0.001), (0, 5), (0, 5.001), (5, 5)))
    assert labelled(crowded) == [True, False, True, False, True]
    assert draw_html(crowded).count('class="hidden"') == 2


def test_a_long_label_at_the_right_edge_stands_to_the_left_of_its_point():
    sentences = ("cat", "a long sentence at the right edge", "a long sentence at the left edge", "_car", "$5$")
    drawing = a_map(sentences, ((0, 0), (9, 1), (0, 2), (9, 3), (5, 4)))
    anchors = dict(re.findall(r'text-anchor="(\w+)" class="\w*">([^<]+)<', draw_html(drawing)))
    assert anchors == {"end": sentences[1], "start": "$5$"}  # the last of each
    ends = [
        (float(x), word)
        for x, word in re.findall(r'x="([\d.]+)" y="[\d.]+" text-anchor="start"[^>]*>([^<]+)<', draw_html(drawing))
    ]
    assert all(x + 7.2 * len(word) <= 1000 for x, word in ends)


def test_a_png_of_any_words():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'seqloom[plots]'")
    drawn = draw_png(a_map())
    assert drawn.startswith(b"\x89PNG")
    assert drawn == draw_png(a_map())
