"""Unmodified clients that people already have, in Python: LibreTranslate's two, DeepL's own, OpenAI's own."""

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

    def test_it_lists_languages_and_usage(self, client):
        assert [(one.code, one.name) for one in client.get_source_languages()] == [("EN", "English"), ("DE", "German")]
        assert [one.code for one in client.get_target_languages()] == ["DE", "EN"]
        usage = client.get_usage()
        assert usage.character.count > 0 and not usage.any_limit_reached

    def test_what_is_not_there_is_said(self, module, client, locked):
        with pytest.raises(module.DeepLException, match="no glossaries"):
            client.translate_text("a", source_lang="EN", target_lang="DE", glossary="x")
        with pytest.raises(module.DeepLException, match="formality"):
            client.translate_text("a", target_lang="DE", formality="more")
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
