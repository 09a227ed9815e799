"""Files with a structure: only their texts change, byte for byte."""

import json

import pytest

from seqloom.errors import DataError
from seqloom.runtime.parts import Translation
from seqloom.serve.documents import translate_document
from seqloom.serve.finding import Found, Wanted

SRT = (
    "1\r\n00:00:01,000 --> 00:00:02,500\r\nHello <i>there</i>.\r\n- R&B, 3 < 4\r\n\r\n"
    "2\r\n00:00:03,000 --> 00:00:04,000\r\n42\r\n"
)
PO = """# translators
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"

#: a.c:1
msgid "open \\"it\\" %s\\n"
msgstr ""

msgid "kept"
msgstr "gardé"

msgid ""
"two "
"lines"
msgstr ""

msgid "one file"
msgid_plural "{n} files"
msgstr[0] ""
msgstr[1] ""
"""


def shout(text, ending):
    def find(texts, wanted):
        return [Found([Translation(text.upper(), 0.0, 0.0)]) for text in texts]

    return translate_document(text, ending, find, Wanted())


@pytest.mark.parametrize(
    ("ending", "text", "wanted"),
    [
        (".html", "<p>a <b>b</b> &amp; c</p>\r\n<!-- x -->", "<p>A <b>B</b> &amp; C</p>\r\n<!-- x -->"),
        (".srt", SRT, SRT.replace("Hello <i>there", "HELLO <i>THERE")),
        (".srt", "\ufeff1\n00:00 --> 00:01\nhi", "\ufeff1\n00:00 --> 00:01\nHI"),
        (".json", '{"key": "some text", "n": [1, "a\\nb", true]}', '{"key": "SOME TEXT", "n": [1, "A\\nB", true]}'),
        (".json", '"hello {name}, %(n)d at http://x.y/z"', '"HELLO {name}, %(n)d AT http://x.y/z"'),
        (
            ".json",
            '["{name}", "", "\\u00e9t\\u00e9", "été \\"x\\""]',
            '["{name}", "", "\\u00c9T\\u00c9", "ÉTÉ \\"X\\""]',
        ),
    ],
)
def test_only_texts_change(ending, text, wanted):
    assert shout(text, ending) == wanted


def test_messages_without_a_translation_get_one():
    found = shout(PO, ".po")
    wanted = PO.replace('%s\\n"\nmsgstr ""', '%s\\n"\nmsgstr "OPEN \\"IT\\" %s\\n"').replace(
        '"lines"\nmsgstr ""', '"lines"\nmsgstr "TWO LINES"'
    )
    assert found == wanted.replace('[0] ""', '[0] "ONE FILE"').replace('[1] ""', '[1] "{n} FILES"')


@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"a": "\\ud800"}', "nothing"])
def test_broken_json_is_refused(text):
    with pytest.raises(DataError):
        shout(text, ".json")


def test_json_stays_json():
    text = json.dumps({"a": ["x" * 50, {"b": "1 & <b>c</b> \\ \" '"}], "": None}, indent=2)
    assert json.loads(shout(text, ".json")).keys() == {"a", ""}


def test_the_command_writes_a_new_file(folders, tmp_path, capsys):
    from seqloom.cli.app import main

    file, out = tmp_path / "film.srt", tmp_path / "other.srt"
    file.write_bytes(SRT.encode())
    assert main(["translate", str(folders[0]), str(file), "-o", str(out)]) == 0
    lines = out.read_bytes().decode().split("\r\n")
    assert lines[:2] == SRT.split("\r\n")[:2] and lines[2] != "Hello <i>there</i>." and "<i>" in lines[2]
    assert main(["translate", str(folders[0]), str(file), "-o", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err
    file.write_bytes(b"\xff")
    assert main(["translate", str(folders[0]), str(file), "-o", str(tmp_path / "new.srt")]) == 3
