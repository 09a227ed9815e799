"""DNS rebinding and pages of other sites: which Host and Origin are answered."""

import pytest

from seqloom.errors import UsageError
from seqloom.serve.allowed_hosts import read_allowed
from seqloom.serve.service import Service

VALID = {"q": "the cat", "source": "en", "target": "de"}


@pytest.mark.parametrize("path", ["/", "/health", "/translate", "/v1/translate", "/metrics", "/nothing"])
@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:5000", "127.0.0.1.evil.example", "localhost.evil.example", "", "10.0.0.5",
     "[::2]:80", "localhost@evil.example", "127.0.0.1, evil.example", "\xe9", "0.0.0.0", "2130706433"],
)  # fmt: skip
def test_names_of_others_are_refused_on_this_machine(server, path, host):
    answer = server.ask("POST" if "translate" in path else "GET", path, None, {"Host": host})
    assert answer.status == 403 and "host name" in answer.error


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.8.8.8:80", "[::1]", "[::1]:5000"])
def test_names_of_this_machine_are_answered(server, host):
    assert server.get("/health", Host=host).status == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil", "https://evil.example", "null", "http://localhost", "http://localhost:1", "file://", "", "*",
     "http://localhost:5000.evil.example", "chrome-extension://x", "http://evil@localhost:5000", "localhost:5000"],
)  # fmt: skip
def test_pages_of_other_sites_are_refused(server, origin):
    answer = server.post("/translate", {"Origin": origin, "Host": "localhost:5000"}, **VALID)
    assert answer.status == 403 and "other sites" in answer.error
    assert "access-control-allow-origin" not in answer.headers


def test_its_own_page_may_ask(server):
    own = server.address
    assert server.post("/translate", {"Origin": own}, **VALID).status == 200
    assert server.post("/translate", {"Origin": "http://LocalHost:1", "Host": "localhost:1"}, **VALID).status == 200


def test_a_site_that_is_allowed_may_ask_and_read(pairs, serve):
    allowed = read_allowed(["https://My.Site", "translate.example.org"], "127.0.0.1")
    with serve(Service(pairs, allowed=allowed)) as running:
        answer = running.post("/translate", {"Origin": "https://my.site"}, **VALID)
        assert answer.status == 200 and answer.headers["access-control-allow-origin"] == "https://my.site"
        asked = {"Origin": "https://my.site", "Access-Control-Request-Method": "POST"}
        assert running.ask("OPTIONS", "/translate", headers=asked).status == 200
        for other in ("http://my.site", "https://my.site:444", "https://evil.example"):
            assert running.post("/translate", {"Origin": other}, **VALID).status == 403
        named = {"Host": "translate.example.org", "Origin": "https://translate.example.org"}
        assert running.post("/translate", named, **VALID).status == 200
        assert running.get("/health", Host="evil.example").status == 403


def test_without_a_loopback_address_any_name_is_answered_until_names_are_given():
    assert read_allowed([], "0.0.0.0").host("seqloom:5000")
    named = read_allowed(["seqloom"], "0.0.0.0")
    assert named.host("seqloom:5000") and named.host("localhost") and not named.host("evil.example")


@pytest.mark.parametrize("word", ["", "https://", "ftp://x", "https://x/path", "x/y", "http://[", "x?y"])
def test_what_cannot_be_allowed_is_a_sentence(word):
    with pytest.raises(UsageError, match=r"--allow .*: want a host name"):
        read_allowed([word], "127.0.0.1")


def test_behind_a_proxy_of_this_machine_clients_are_who_it_saw(pairs, serve, monkeypatch):
    from seqloom.serve.limits import CLIENT

    seen = []
    for words in ([], ["translate.example.org"]):
        service = Service(pairs[:1], allowed=read_allowed(words, "127.0.0.1"))
        batcher = service.models["en", "de"].batcher
        ask = batcher.ask
        monkeypatch.setattr(batcher, "ask", lambda *said, ask=ask: seen.append(CLIENT.get()) or ask(*said))
        with serve(service) as running:
            running.post("/translate", {"X-Forwarded-For": "1.2.3.4, 10.0.0.7"}, **VALID)
    assert seen == ["127.0.0.1", "10.0.0.7"], "a client cannot choose its address"
