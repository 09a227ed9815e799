"""The LibreTranslate protocol: endpoints, encodings, shapes of answers."""

import json
from urllib.parse import urlencode

import pytest


@pytest.fixture(scope="module")
def translated(pairs):
    """What the model itself says, apart from any server."""
    return lambda text: pairs[0].translator.translate(text)


def test_a_text_is_answered_with_a_text(server, translated):
    answer = server.translate("a small dog")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json == {"translatedText": translated("a small dog")}


def test_a_batch_is_answered_with_a_list_in_its_order(server, translated):
    texts = ["the mat", "a", "a small dog ran on the mat", "the mat"]
    assert server.translate(texts).json == {"translatedText": [translated(text) for text in texts]}
    assert server.translate([]).status == 400, "a form cannot say it, so nobody may"


def test_the_four_encodings_say_the_same(server):
    fields = {"q": "the cat", "source": "en", "target": "de", "alternatives": "2"}
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    boundary = "frontier"
    multipart = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    answers = [
        server.translate("the cat", alternatives=2),
        server.ask("POST", "/translate", urlencode(fields), form),
        server.ask("POST", "/translate?" + urlencode(fields)),
        server.ask(
            "POST",
            "/translate",
            f"{multipart}--{boundary}--\r\n",
            {"Content-Type": f"multipart/form-data; boundary={boundary}"},
        ),
    ]
    assert [answer.status for answer in answers] == [200] * 4
    assert all(answer.json == answers[0].json for answer in answers)
    assert 1 <= len(answers[0].json["alternatives"]) <= 2  # one far below the best is not shown


def test_a_form_with_several_texts_is_a_batch(server):
    body = urlencode([("q", "the cat"), ("q", "the dog"), ("source", "en"), ("target", "de")])
    answer = server.ask("POST", "/translate", body, {"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.json == server.translate(["the cat", "the dog"]).json


def test_a_key_in_the_query_goes_with_a_body_of_json(locked):
    body = json.dumps({"q": "the cat", "source": "en", "target": "de"})
    assert (
        locked.ask("POST", "/translate?api_key=open+sesame", body, {"Content-Type": "application/json"}).status == 200
    )


def test_alternatives_differ_from_the_translation_and_from_each_other(server):
    answer = server.translate("a small dog", alternatives=3).json
    found = [answer["translatedText"], *answer["alternatives"]]
    assert len(answer["alternatives"]) == 3 and len(set(found)) == 4
    assert answer["translatedText"] == server.translate("a small dog").json["translatedText"]
    batch = server.translate(["a small dog", "the mat"], alternatives=3).json
    assert batch["alternatives"][0] == answer["alternatives"] and len(batch["alternatives"]) == 2


def test_auto_tells_what_it_detected(server):
    one = server.translate("die Katze und der Hund sind nicht dort", source="auto", target="en").json
    assert one["detectedLanguage"]["language"] == "de" and 50 < one["detectedLanguage"]["confidence"] <= 100
    two = server.translate(["die Katze ist nicht dort", "the cat is not there"], source="auto", target="en").json
    assert [guess["language"] for guess in two["detectedLanguage"]] == ["de", "en"]
    assert two["translatedText"][1] == "the cat is not there", "it is English already"
    assert two["translatedText"][0] == server.translate("die Katze ist nicht dort", "de", "en").json["translatedText"]


def test_tags_are_no_words_of_a_language(server):
    link = (
        '<a href="https://on.example/the/of/and/to/in/that" class="mention u-url" rel="nofollow noopener the of">x</a>'
    )
    post = f"<p>{link} die Katze und der Hund {link} sind nicht dort {link}</p>"
    found = server.translate(post, source="auto", target="en", format="html").json
    assert found["detectedLanguage"]["language"] == "de" and found["detectedLanguage"]["confidence"] > 90


def test_a_text_in_the_language_that_is_asked_for_comes_back(server):
    assert server.translate("der Hund", source="de", target="de").json == {"translatedText": "der Hund"}


def test_each_pair_has_its_own_model(server, pairs):
    assert server.translate("der Hund", "de", "en").json["translatedText"] == pairs[1].translator.translate("der Hund")


@pytest.mark.parametrize("text", ["", "   ", "👩‍👩‍👧 👍🏽", "?!", "\n\n", "\u0301" * 5])
def test_what_has_no_letters_comes_back_unchanged(server, text):
    for format in ("text", "html"):
        assert server.translate(text, format=format).json == {"translatedText": text}


def test_lines_and_the_blanks_around_them_stay(server, translated):
    answer = server.translate("  the cat\n\n a dog \r\n").json["translatedText"]
    assert answer == f"  {translated('the cat')}\n\n {translated('a dog')} \r\n"


def test_html_keeps_its_tags(server, translated):
    answer = server.translate('<p class="a">the cat</p> <p><b>a</b></p>', format="html").json["translatedText"]
    assert answer == f'<p class="a">{translated("the cat")}</p> <p><b>{translated("a")}</b></p>'


def test_languages_name_their_targets(server):
    assert server.get("/languages").json == [
        {"code": "en", "name": "English", "targets": ["de"]},
        {"code": "de", "name": "German", "targets": ["en"]},
    ]


def test_detect_tells_the_likeliest_first(server):
    found = server.post("/detect", q="der Hund und die Katze").json
    assert found[0]["language"] == "de" and found[0]["confidence"] > 90
    assert server.post("/detect", q="").json[0]["confidence"] == 50.0, "nothing is known of an empty text"


def test_health_and_the_settings_of_a_page(server, locked):
    assert server.get("/health").json == {"status": "ok"}
    assert server.get("/frontend/settings").json == {
        "charLimit": 5000,
        "frontendTimeout": 500,
        "apiKeys": False,
        "keyRequired": False,
        "suggestions": False,
        "filesTranslation": True,
        "supportedFilesFormat": [".txt", ".html", ".htm", ".srt", ".po", ".json"],
        "textsLimit": 64,
        "bodyLimit": 1 << 20,
        "fileTextsLimit": 20_000,
        "fileSecondsKept": 600,
        "language": {"source": {"code": "en", "name": "English"}, "target": {"code": "de", "name": "German"}},
    }
    assert locked.get("/frontend/settings").json["keyRequired"] is True


def test_what_is_switched_off_says_so(server):
    answer = server.post("/suggest", q="x")
    assert answer.status == 403 and "switched off" in answer.error


@pytest.mark.parametrize(("code", "means"), [("EN", "en"), ("en-US", "en"), ("eng", "en"), ("en_gb", "en")])
def test_codes_are_taken_as_clients_write_them(server, code, means):
    assert server.translate("the cat", source=code).json == server.translate("the cat", source=means).json


def test_a_language_that_is_not_served_is_named_with_those_that_are(server):
    for fields in ({"source": "fr"}, {"target": "xx"}):
        answer = server.translate("the cat", **fields)
        assert answer.status == 400 and "en, de" in answer.error and next(iter(fields)) in answer.error


def test_what_is_missing_or_wrong_is_named(server):
    assert "target is missing" in server.post("/translate", q="x", source="en").error
    assert "format must be text or html" in server.translate("x", format="pdf").error
    assert "alternatives must be" in server.translate("x", alternatives=11).error
    assert "alternatives must be" in server.translate("x", alternatives="2").error, "in JSON a number is a number"
    assert (
        "Content-Type: application/json"
        in server.ask("POST", "/translate", '{"q": "x"}', {"Content-Type": "application/x-www-form-urlencoded"}).error
    )


def test_nothing_else_is_there(server):
    assert server.get("/nothing").status == 404 and server.get("/nothing").error
    answer = server.get("/translate")
    assert answer.status == 405 and answer.error and answer.headers["allow"] == "POST"
