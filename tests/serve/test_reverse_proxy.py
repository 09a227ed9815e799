"""The nginx site and the systemd unit of docs/how-to/serve.md do what the page says; nginx is in front of a server."""

import configparser
import getpass
import http.client
import json
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import threading
import time
from pathlib import Path

import pytest

from seqloom.serve.allowed_hosts import read_allowed
from seqloom.serve.service import Service

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "serve.md"
NAME = "translate.example.org"
MAIN = """
{user}
daemon off;
pid {folder}/pid;
error_log {folder}/errors;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site;
}}
"""
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
VALID = {"q": "the cat", "source": "en", "target": "de"}
JSON = {"Content-Type": "application/json"}


def example(language):
    """The example of the page in this language."""
    return re.search(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[1]


@pytest.fixture(scope="module")
def behind_nginx(pairs, tmp_path_factory, serve):
    """(port of nginx with TLS, context that trusts it, the server behind it)"""
    if NGINX is None or shutil.which("openssl") is None:
        pytest.skip("needs nginx and openssl (Debian: nginx-light)")
    folder = tmp_path_factory.mktemp("nginx")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}"]
    words += ["-addext", f"subjectAltName=DNS:{NAME}", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(words, check=True, capture_output=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with serve(Service(pairs, allowed=read_allowed([NAME], "127.0.0.1"))) as running:
        site = example("nginx").replace("listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
        site = site.replace("127.0.0.1:5000", f"127.0.0.1:{running.port}")
        site = re.sub(r"(ssl_certificate) .*;", rf"\1 {certificate};", site)
        site = re.sub(r"(ssl_certificate_key) .*;", rf"\1 {key};", site)
        (folder / "site").write_text(site)
        (folder / "conf").write_text(MAIN.format(folder=folder, user=f"user {getpass.getuser()};"))
        with subprocess.Popen([NGINX, "-p", str(folder), "-c", str(folder / "conf")], stderr=subprocess.PIPE) as nginx:
            try:
                wait_for(port, nginx)
                yield port, ssl.create_default_context(cafile=certificate), running
            finally:
                nginx.terminate()


def wait_for(port, nginx):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        assert nginx.poll() is None, nginx.stderr.read().decode()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        except OSError:
            time.sleep(0.05)
    pytest.fail("nginx does not listen")


def ask(behind, method, path, body=None, headers=None, name=NAME):
    port, context, _ = behind
    with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
        connection = http.client.HTTPConnection(name)
        connection.sock = context.wrap_socket(plain, server_hostname=NAME)
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        said = response.status, dict(response.getheaders()), response.read()
        connection.close()
        return said


def test_translations_and_its_page_come_over_tls(behind_nginx):
    status, _, body = ask(behind_nginx, "POST", "/translate", json.dumps(VALID), JSON)
    assert status == 200 and json.loads(body) == behind_nginx[2].translate("the cat").json
    assert ask(behind_nginx, "GET", "/")[0] == 200
    own = {**JSON, "Origin": f"https://{NAME}"}
    assert ask(behind_nginx, "POST", "/translate", json.dumps(VALID), own)[0] == 200


def test_other_names_and_pages_are_refused_behind_it_too(behind_nginx):
    assert ask(behind_nginx, "GET", "/health", name="evil.example")[0] == 403
    origin = {**JSON, "Origin": "https://evil.example"}
    assert ask(behind_nginx, "POST", "/translate", json.dumps(VALID), origin)[0] == 403


def test_clients_are_known_by_the_address_that_nginx_saw(behind_nginx, monkeypatch):
    from seqloom.serve.limits import CLIENT

    batcher, seen = behind_nginx[2].service.models["en", "de"].batcher, []
    real = batcher.ask
    monkeypatch.setattr(batcher, "ask", lambda *said: seen.append(CLIENT.get()) or real(*said))
    ask(behind_nginx, "POST", "/translate", json.dumps(VALID), {**JSON, "X-Forwarded-For": "1.2.3.4"})
    assert seen == ["127.0.0.1"]


def test_streams_come_through_unbuffered(behind_nginx):
    body = json.dumps({"model": "en-de", "messages": [{"role": "user", "content": "the cat"}], "stream": True})
    status, headers, said = ask(behind_nginx, "POST", "/v1/chat/completions", body, JSON)
    assert status == 200 and headers["Content-Type"].startswith("text/event-stream")
    assert said.startswith(b"data: {") and said.endswith(b"data: [DONE]\n\n")


def test_the_address_of_a_translated_file_is_that_of_the_site(behind_nginx):
    head = 'Content-Disposition: form-data; name="file"; filename="a.txt"'
    body, kind = f"--b\r\n{head}\r\n\r\nthe cat\r\n--b--\r\n", {"Content-Type": "multipart/form-data; boundary=b"}
    status, _, said = ask(behind_nginx, "POST", "/translate_file?source=en&target=de", body, kind)
    scheme, _, place = json.loads(said)["translatedFileUrl"].partition(f"://{NAME}")
    assert (status, scheme) == (200, "https") and ask(behind_nginx, "GET", place)[0] == 200


def test_its_limits_hold(behind_nginx):
    status, _, _ = ask(behind_nginx, "POST", "/translate", b"x" * (2 << 20), JSON)
    assert status == 413
    statuses = []
    threads = [
        threading.Thread(target=lambda: statuses.append(ask(behind_nginx, "GET", "/health")[0])) for _ in range(150)
    ]
    [thread.start() for thread in threads]
    [thread.join(120) for thread in threads]
    assert set(statuses) == {200, 429}, statuses


def test_the_unit_starts_the_server_with_options_that_exist(capsys):
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(example("ini"))
    service = unit["Service"]
    program, verb, *words = shlex.split(service["ExecStart"])
    assert program.endswith("/seqloom") and verb == "serve"
    from seqloom.cli.app import main

    words[words.index("--port") + 1] = "0"
    assert main(["serve", *words]) == 4, "the options are right, the folder is not here"
    assert "Traceback" not in capsys.readouterr().err
    from seqloom.serve.connection import SPARE_FILES
    from seqloom.serve.limits import Limits

    assert int(service["LimitNOFILE"]) >= Limits().connections + SPARE_FILES
    assert int(service["TimeoutStopSec"]) > Limits().drain + 2 and service["Restart"] == "always"
