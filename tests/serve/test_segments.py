"""What is translated and what stays; which language a text is in; what a code means."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.serve.detect import detect
from seqloom.serve.languages import name_of, resolve
from seqloom.serve.segments import join, split


def shout(text, format="html"):
    segments = split(text, format)
    return join(segments, iter([one.text.upper() for one in segments if one.translate]), format)


@pytest.mark.parametrize(
    ("given_", "wanted"),
    [
        ('<p class="a">one <b>two</b> three</p>', '<p class="a">ONE <b>TWO</b> THREE</p>'),
        ("a &amp; b &lt;i&gt;", "A &amp; B &lt;I&gt;"),
        ("&lt;script&gt;alert(1)&lt;/script&gt;", "&lt;SCRIPT&gt;ALERT(1)&lt;/SCRIPT&gt;"),
        ("a<script>if (a<b) {}</script>b", "A<script>if (a<b) {}</script>B"),
        ("<style>p{}</style><STYLE>q{}</STYLE>x", "<style>p{}</style><STYLE>q{}</STYLE>X"),
        ("<script>never closed", "<script>never closed"),
        ("<!-- a comment --><!DOCTYPE html>x", "<!-- a comment --><!DOCTYPE html>X"),
        ("<![CDATA[ a ]]>b", "<![CDATA[ a ]]>B"),
        ("<a title=\"x > y\" href='z'>q</a>", "<a title=\"x > y\" href='z'>Q</a>"),
        ('<p translate="no">one <i>two</i></p>three', '<p translate="no">one <i>two</i></p>THREE'),
        ('<b class="x notranslate">Name<br>x</b> one', '<b class="x notranslate">Name<br>x</b> ONE'),
        ("<p translate=no>a<p translate=no>b</p>c</p>d", "<p translate=no>a<p translate=no>b</p>c</p>D"),
        ("one\n  two", "ONE TWO"),
        ("<br/>x<hr>", "<br/>X<hr>"),
        ("a < b", "A &lt; B"),
        ("<b", "&lt;B"),
        ("<3 you", "&lt;3 YOU"),
        ("</ a>", "&lt;/ A&gt;"),
        (" \n ", " \n "),
        ("&nbsp;x&nbsp;", "\xa0X\xa0"),
        ("&#0000000000000097;&#x62;&#99", "ABC"),
        ("&#99999999999;&#0;", "\ufffd\ufffd"),
        ("<pre>one  &lt;\n\n  two\n</pre>a\n b", "<pre>ONE  &lt;\n\n  TWO\n</pre>A B"),
        ("<textarea>one\ntwo</textarea>", "<textarea>ONE\nTWO</textarea>"),
        ("<pre translate=no>a\n b</pre>", "<pre translate=no>a\n b</pre>"),
    ],
)
def test_html_keeps_markup_and_escapes_text(given_, wanted):
    assert shout(given_) == wanted


@given(st.text(alphabet="ab <>/!-&;\"'=[]?\n", max_size=60))
def test_text_of_html_never_becomes_markup(text):
    """A model that answers with tags cannot add one."""
    segments = split(text, "html")
    num = sum(one.translate for one in segments)
    joined = join(segments, iter(["<script>"] * num), "html")
    assert joined.count("&lt;script&gt;") >= num
    assert joined.count("<script>") == sum(one.text.count("<script>") for one in segments if not one.translate)


@given(st.text(max_size=60))
def test_a_plain_text_is_put_together_as_it_was(text):
    segments = split(text, "text")
    assert join(segments, iter([one.text for one in segments if one.translate]), "text") == text
    assert all(one.text == one.text.strip() and "\n" not in one.text for one in segments if one.translate)


@pytest.mark.parametrize(
    "piece", ["<", "<a ", "&", "<!--", "</", '<a "', "<a b='", "<script>", "<![CDATA[", "&#", "<p translate=no>"]
)
def test_no_html_takes_long(piece):
    started = time.process_time()
    split(piece * (5000 // len(piece)), "html")
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize("format", ["text", "html"])
def test_blanks_between_words_take_no_time(format):
    started = time.process_time()
    for _ in range(64):
        split("a" + " " * 4998 + "b", format)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Two men are standing on the street.", "en"),
        ("Zwei Männer stehen auf der Straße.", "de"),
        ("Deux hommes sont dans la rue.", "fr"),
        ("Dos hombres están en la calle.", "es"),
        ("Dwóch mężczyzn jest na ulicy.", "pl"),
        ("Двое мужчин стоят на улице, это было вчера.", "ru"),
        ("Двоє чоловіків стоять на вулиці.", "uk"),
        ("二人の男が道に立っている。", "ja"),
        ("两个人站在街上。", "zh"),
        ("رجلان يقفان في الشارع", "ar"),
        ("I love you", "en"),
        ("Je t'aime", "fr"),
    ],
)
def test_a_sentence_is_known_among_ten(text, language):
    found = detect(text, ["en", "de", "fr", "es", "pl", "ru", "uk", "ja", "zh", "ar"])
    assert found[0].language == language and found[0].confidence > 60
    assert [one.confidence for one in found] == sorted((one.confidence for one in found), reverse=True)


def test_confidence_is_honest():
    assert {one.confidence for one in detect("4 ?!", ["en", "de"])} == {50.0}, "nothing speaks for either"
    assert detect("xyzzy", ["en", "de"])[0].confidence < 70, "little speaks for either"
    assert {one.confidence for one in detect("any", ["src", "tgt"])} == {50.0}, "nothing is known of these languages"
    short, long = detect("der", ["en", "de"])[0], detect("der Hund und die Katze", ["en", "de"])[0]
    assert short.language == long.language == "de" and short.confidence < long.confidence
    assert sum(one.confidence for one in detect("the der le", ["en", "de", "fr"])) == pytest.approx(100, abs=0.2)
    assert {one.confidence for one in detect("o seu nome", ["pt-BR", "pt-PT"])} == {50.0}, "the same language"
    assert detect("x", ["en"])[0].confidence == 100.0


@pytest.mark.data
def test_captions_are_known_among_three(data_dir):
    import gzip

    for language in ("en", "de", "fr"):
        with gzip.open(data_dir / "multi30k" / f"val.{language}.gz", "rt", encoding="utf-8") as file:
            lines = file.read().splitlines()[:300]
        right = sum(detect(line, ["en", "de", "fr"])[0].language == language for line in lines)
        assert right >= 0.98 * len(lines)


@pytest.mark.parametrize(
    ("code", "served", "found"),
    [
        ("en", ["en", "de"], "en"),
        ("EN-us", ["en", "de"], "en"),
        ("deu", ["en", "de"], "de"),
        ("pt", ["pt-BR"], "pt-BR"),
        ("PT_br", ["pt-BR", "pt-PT"], "pt-BR"),
        ("pt", ["pt-BR", "pt-PT"], None),
        ("fr", ["en", "de"], None),
        ("", ["en"], None),
        ("src", ["src", "tgt"], "src"),
    ],
)
def test_a_code_means_a_served_language(code, served, found):
    assert resolve(code, served) == found


def test_languages_have_names():
    assert [name_of(code) for code in ("en", "deu", "pt-BR", "xx")] == ["English", "German", "Portuguese (BR)", "xx"]
