"""Unmodified clients that people already have, in Python: LibreTranslate's two, DeepL's own, OpenAI's own."""

import io
import json
import warnings

import pytest


@pytest.fixture(scope="module")
def translated(pairs):
    return lambda text: pairs[0].translator.translate(text)


class TestLibreTranslatePy:
    @pytest.fixture
    def client(self, server):
        module = pytest.importorskip("libretranslatepy")
        return module.LibreTranslateAPI(server.address)

    def test_it_translates(self, client, translated):
        assert client.translate("a small dog", "en", "de") == translated("a small dog")

    def test_it_detects_and_lists(self, client):
        assert client.detect("der Hund und die Katze")[0]["language"] == "de"
        assert [language["code"] for language in client.languages()] == ["en", "de"]

    def test_it_sends_its_key(self, locked):
        module = pytest.importorskip("libretranslatepy")
        assert module.LibreTranslateAPI(locked.address, "open sesame").translate("a", "en", "de")


class TestDeepTranslator:
    @pytest.fixture
    def module(self):
        return pytest.importorskip("deep_translator")

    def test_it_translates(self, module, server, translated):
        client = module.LibreTranslator("en", "de", api_key="x", custom_url=f"{server.address}/")
        assert client.translate("a small dog & a cat") == translated("a small dog & a cat")
        assert client.translate_batch(["the cat", "the mat"]) == [translated("the cat"), translated("the mat")]

    def test_a_long_text_fits_into_its_query_string(self, module, server):
        client = module.LibreTranslator("en", "de", api_key="x", custom_url=f"{server.address}/")
        assert client.translate("😀" * 4998) == "😀" * 4998

    def test_a_wrong_key_is_its_own_exception(self, module, locked):
        client = module.LibreTranslator("en", "de", api_key="wrong", custom_url=f"{locked.address}/")
        with pytest.raises(module.exceptions.AuthorizationException):
            client.translate("a")


class TestDeepL:
    @pytest.fixture
    def module(self):
        return pytest.importorskip("deepl")

    @pytest.fixture
    def client(self, module, server):
        made = module.DeepLClient("any", server_url=server.address)
        yield made
        made.close()

    def test_it_translates(self, client, translated):
        one = client.translate_text("a small dog", source_lang="EN", target_lang="DE")
        assert (one.text, one.detected_source_lang, one.billed_characters) == (translated("a small dog"), "EN", 11)
        many = client.translate_text(["the cat", "the mat"], target_lang="DE")
        assert [each.text for each in many] == [translated("the cat"), translated("the mat")]

    def test_a_region_is_its_language(self, client, pairs):
        one = client.translate_text("der Hund", source_lang="DE", target_lang="EN-US")
        assert one.text == pairs[1].translator.translate("der Hund")

    def test_it_keeps_tags(self, client, translated):
        one = client.translate_text("<b>the cat</b>", source_lang="EN", target_lang="DE", tag_handling="html")
        assert one.text.startswith("<b>") and one.text.endswith("</b>")

    def test_formality_is_ignored_with_a_notice(self, client, translated, server):
        one = client.translate_text("a small dog", source_lang="EN", target_lang="DE", formality="more")
        assert one.text == translated("a small dog")
        said = server.post("/v2/translate", text=["a"], target_lang="DE", formality="less").json
        assert "formality was ignored" in said["notice"]

    def test_a_glossary_is_made_used_and_deleted(self, module, client):
        terms = {"dog": "Köter", "small dog": "Hündchen"}
        assert ("en", "de") in [
            (pair.source_lang.lower(), pair.target_lang.lower()) for pair in client.get_glossary_languages()
        ]
        made = client.create_glossary("pets", "EN", "DE", terms)
        assert (made.name, made.entry_count, made.ready) == ("pets", 2, True)
        assert client.get_glossary_entries(made) == terms
        assert [one.glossary_id for one in client.list_glossaries()] == [made.glossary_id]
        assert client.get_glossary(made.glossary_id).source_lang == "EN"
        one = client.translate_text("a small dog ran", source_lang="EN", target_lang="DE", glossary=made)
        assert "Hündchen" in one.text
        tagged = client.translate_text(
            "the <b>dog</b>", source_lang="EN", target_lang="DE", glossary=made, tag_handling="html"
        )
        assert "<b>Köter</b>" in tagged.text
        with pytest.raises(module.DeepLException, match="en to de"):
            client.translate_text("a", source_lang="DE", target_lang="EN-US", glossary=made.glossary_id)
        client.delete_glossary(made)
        assert client.list_glossaries() == []
        with pytest.raises(module.DeepLException):
            client.get_glossary(made.glossary_id)
        with pytest.raises(module.DeepLException, match="not a pair"):
            client.create_glossary_from_csv("bad", "EN", "DE", "one\ntwo\n")

    def test_a_document_is_translated(self, module, client, translated, tmp_path):
        source, target = tmp_path / "film.srt", tmp_path / "film.de.srt"
        source.write_bytes(b"1\r\n00:00:01,000 --> 00:00:02,500\r\na small dog\r\n")
        status = client.translate_document_from_filepath(source, target, source_lang="EN", target_lang="DE")
        assert status.done and status.billed_characters == len("a small dog")
        assert target.read_bytes().decode() == f"1\r\n00:00:01,000 --> 00:00:02,500\r\n{translated('a small dog')}\r\n"
        handle = client.translate_document_upload("the cat\n", filename="a.txt", target_lang="DE")
        assert client.translate_document_wait_until_done(handle).ok
        held = io.BytesIO()
        client.translate_document_download(handle, held)
        assert held.getvalue().decode() == translated("the cat") + "\n"
        with pytest.raises(module.DeepLException, match="Not found"):
            client.translate_document_download(handle, held)

    def test_a_document_takes_a_glossary(self, client):
        made = client.create_glossary("pets", "EN", "DE", {"dog": "Köter"})
        held, content = io.BytesIO(), '{"a": "the dog {name}"}'
        handle = client.translate_document_upload(
            content, filename="a.json", source_lang="EN", target_lang="DE", glossary=made
        )
        assert client.translate_document_wait_until_done(handle).done
        client.translate_document_download(handle, held)
        assert "Köter" in json.loads(held.getvalue())["a"] and "{name}" in json.loads(held.getvalue())["a"]
        client.delete_glossary(made)

    def test_a_document_that_cannot_be_translated_is_an_exception(self, module, client, tmp_path):
        for name, content, part in (("a.docx", b"x", "must end with"), ("a.json", b"{", "not valid JSON")):
            (tmp_path / name).write_bytes(content)
            with pytest.raises(module.DeepLException, match=part):
                client.translate_document_from_filepath(tmp_path / name, tmp_path / f"out-{name}", target_lang="DE")

    def test_it_lists_languages_and_usage(self, client):
        assert [(one.code, one.name) for one in client.get_source_languages()] == [("EN", "English"), ("DE", "German")]
        assert [one.code for one in client.get_target_languages()] == ["DE", "EN"]
        usage = client.get_usage()
        assert usage.character.count > 0 and not usage.any_limit_reached

    def test_what_is_not_there_is_said(self, module, client, locked):
        with pytest.raises(module.DeepLException, match="no glossary with this id"):
            client.translate_text("a", source_lang="EN", target_lang="DE", glossary="x")
        with pytest.raises(module.DeepLException, match="en, de"):
            client.translate_text("a", target_lang="FR")
        stranger = module.DeepLClient("wrong", server_url=locked.address)
        with pytest.raises(module.AuthorizationException, match="api_key"):
            stranger.translate_text("a", target_lang="DE")
        stranger.close()


class TestOpenAI:
    @pytest.fixture
    def module(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return pytest.importorskip("openai")

    @pytest.fixture
    def client(self, module, server):
        with module.OpenAI(base_url=f"{server.address}/v1", api_key="any", max_retries=0) as made:
            yield made

    def ask(self, client, **fields):
        messages = [{"role": "system", "content": "Translate."}, {"role": "user", "content": "a small dog"}]
        return client.chat.completions.create(**{"model": "en-de", "messages": messages, **fields})

    def test_it_translates(self, client, translated):
        answer = self.ask(client)
        assert answer.choices[0].message.content == translated("a small dog")
        assert answer.choices[0].finish_reason == "stop" and answer.model == "en-de"
        assert answer.usage.prompt_tokens == len("a small dog"), "one character a token here"
        assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens

    def test_parts_and_several_choices(self, client, pairs):
        parts = [{"role": "user", "content": [{"type": "text", "text": "the cat"}]}]
        answer = self.ask(client, messages=parts, n=2)
        expected = pairs[0].translator.hypotheses(["the cat"], None, 2)[0]
        assert [choice.message.content for choice in answer.choices] == [one.text for one in expected]

    def test_it_streams(self, client, translated):
        chunks = [*self.ask(client, stream=True, stream_options={"include_usage": True})]
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert text == translated("a small dog")
        assert chunks[-2].choices[0].finish_reason == "stop" and chunks[-1].usage.total_tokens > 0

    def test_completions(self, client, translated):
        answer = client.completions.create(model="en-de", prompt=["the cat", "a small dog"])
        assert [choice.text for choice in answer.choices] == [translated("the cat"), translated("a small dog")]
        assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
        chunks = [*client.completions.create(model="en-de", prompt="a small dog", stream=True)]
        assert "".join(chunk.choices[0].text for chunk in chunks) == translated("a small dog")
        assert chunks[-1].choices[0].finish_reason == "stop"

    def test_responses(self, module, client, translated):
        answer = client.responses.create(model="en-de", instructions="Translate.", input="a small dog")
        assert answer.output_text == translated("a small dog") and answer.status == "completed"
        assert answer.usage.input_tokens == len("a small dog")
        messages = [{"role": "user", "content": [{"type": "input_text", "text": "the cat"}]}]
        assert client.responses.create(model="en-de", input=messages).output_text == translated("the cat")
        events = [*client.responses.create(model="en-de", input="a small dog", stream=True)]
        assert "".join(one.delta for one in events if one.type == "response.output_text.delta") == translated(
            "a small dog"
        )
        assert [one.sequence_number for one in events] == [*range(len(events))]
        assert events[-1].type == "response.completed" and events[-1].response.output_text == translated("a small dog")
        with client.responses.stream(model="en-de", input="the cat") as stream:
            assert stream.get_final_response().output_text == translated("the cat")
        with pytest.raises(module.BadRequestError, match="stores no responses"):
            client.responses.create(model="en-de", input="a", previous_response_id="resp_1")

    def test_it_lists_models(self, client):
        assert [model.id for model in client.models.list()] == ["en-de", "de-en"]
        assert client.models.retrieve("de-en").id == "de-en"

    def test_what_is_not_there_is_said(self, module, client, locked):
        with pytest.raises(module.NotFoundError) as refused:
            self.ask(client, model="gpt")
        assert "en-de, de-en" in refused.value.body["message"] and refused.value.code == "model_not_found"
        with pytest.raises(module.NotFoundError, match="No such model"):
            client.models.retrieve("gpt")
        with module.OpenAI(base_url=f"{locked.address}/v1", api_key="open sesame", max_retries=0) as other:
            assert len(other.models.list().data) == 2
            with pytest.raises(module.AuthenticationError):
                self.ask(other.with_options(api_key="wrong"))
            with pytest.raises(module.AuthenticationError):
                other.with_options(api_key="wrong").models.retrieve("en-de")
