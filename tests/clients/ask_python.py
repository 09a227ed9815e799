"""Asks a server with the unmodified Python clients; one line per client: its name, then ok or what went wrong.

python ask_python.py ADDRESS EXPECTED       EXPECTED: the translation of "a small dog" by the model en-de
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

address, expected = sys.argv[1:]
TEXT, MESSAGES = "a small dog", [{"role": "user", "content": "a small dog"}]


def ask_deepl() -> str:
    import deepl

    client = deepl.DeepLClient("any", server_url=address)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "a.txt"), Path(folder, "b.txt")
        source.write_text(TEXT)
        client.translate_document_from_filepath(source, target, source_lang="EN", target_lang="DE")
        assert target.read_text() == expected, target.read_text()
    return client.translate_text(TEXT, source_lang="EN", target_lang="DE").text


def ask_openai() -> str:
    from openai import OpenAI

    client = OpenAI(base_url=f"{address}/v1", api_key="any")
    assert client.responses.create(model="en-de", input=TEXT).output_text == expected
    assert client.completions.create(model="en-de", prompt=TEXT).choices[0].text == expected
    return client.chat.completions.create(model="en-de", messages=MESSAGES).choices[0].message.content


def ask_litellm() -> str:
    import litellm

    wish = {"model": "openai/en-de", "messages": MESSAGES, "api_base": f"{address}/v1", "api_key": "any"}
    pieces = [chunk.choices[0].delta.content or "" for chunk in litellm.completion(**wish, stream=True)]
    assert "".join(pieces) == expected, pieces
    return litellm.completion(**wish).choices[0].message.content


def ask_langchain() -> str:
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="en-de", base_url=f"{address}/v1", api_key="any")
    assert "".join(chunk.content for chunk in model.stream(TEXT)) == expected
    return model.invoke(TEXT).content


def ask_llm() -> str:
    with tempfile.TemporaryDirectory() as folder:
        models = f"- model_id: en-de\n  model_name: en-de\n  api_base: {address}/v1\n"
        Path(folder, "extra-openai-models.yaml").write_text(models)
        words = [str(Path(sys.executable).with_name("llm")), "-m", "en-de", "--no-log", "--key", "any", TEXT]
        done = subprocess.run(
            words, capture_output=True, encoding="utf-8", env=os.environ | {"LLM_USER_PATH": folder}, timeout=120
        )
        return done.stdout.strip("\n") or done.stderr


for name, ask in (
    ("deepl", ask_deepl), ("openai", ask_openai), ("litellm", ask_litellm), ("langchain-openai", ask_langchain),
    ("llm", ask_llm),
):  # fmt: skip
    try:
        got = ask()
        print(name, "ok" if got.strip() == expected.strip() else f"got {got!r}", flush=True)
    except Exception as error:
        print(name, f"{type(error).__name__}: {str(error)[:300]}", flush=True)
