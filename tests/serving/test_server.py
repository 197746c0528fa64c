"""The server over real sockets: who may ask, how much, how many at once, and that nothing else is given out."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from pathlib import Path

import pytest

from bangbang.cli.main import main
from bangbang.errors import InputError
from bangbang.serving import Desk, Server
from bangbang.serving import server as module
from tests.conftest import sentence
from tests.serving.asking import ask, raw, request

EVIL = "</script><img src=x onerror=alert(1)>\u2028\u2029\x00{{RECORD}}"


def test_the_page_and_an_answer(server: Server) -> None:
    page = request(server, "GET", "/")
    assert page.status == 200 and page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert b"{{" not in page.body
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    for path, kind in (("/page.css", "text/css"), ("/page.js", "text/javascript")):
        file = request(server, "GET", path)
        assert file.status == 200 and file.headers["Content-Type"].startswith(kind) and len(file.body) > 1000
        assert file.headers["X-Content-Type-Options"] == "nosniff"
    head = request(server, "HEAD", "/")
    assert head.status == 200 and head.body == b"" and int(head.headers["Content-Length"]) == len(page.body)
    reply = ask(server, text=sentence(7)[0], reference=sentence(7)[1])
    assert reply.status == 200 and reply.json["answers"][0]["outputs"][0]["text"]


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/../../../etc/passwd",
            "/..%2f..%2fetc/passwd",
            "//etc/passwd",
            "/page.html",
            "/page.py",
            "/page.js/",
            "/?x",
        ),
        *("/page.css%00", "http://127.0.0.1/etc/passwd", "/api", "/favicon.ico", "*", "/\x7f", "/%"),
    ],
)
def test_no_other_path_is_served(server: Server, path: str) -> None:
    reply = request(server, "GET", path)
    assert reply.status == 404 and reply.json == {"error": "there is no such page"}
    assert request(server, "POST", path).status == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_refused(server: Server, method: str) -> None:
    reply = request(server, method, "/api/write")
    assert reply.status == 405 and reply.headers["Allow"] == "GET, HEAD, POST"
    assert not any(name.lower().startswith("access-control") for name in reply.headers)


def test_a_question_is_a_post(server: Server) -> None:
    assert request(server, "GET", "/api/write").status == 405
    assert request(server, "BREW", "/").status == 501


OWN = ["127.0.0.1", "127.0.0.1:9", "localhost", "LOCALHOST:8000", "[::1]:8000", "127.0.0.2:1"]
FOREIGN = ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.example", "192.168.0.9", ""]
FOREIGN += [
    "10.0.0.1:8000",
    "-",
    "[::2]",
    "0.0.0.0",
    "127.0.0.1@evil.example",
    "evil.example:127.0.0.1",
    "[",
    ":",
    "]:",
]


@pytest.mark.parametrize("host", OWN)
def test_hosts_of_this_machine_are_served(server: Server, host: str) -> None:
    assert request(server, "GET", "/", host=host).status == 200


@pytest.mark.parametrize("host", FOREIGN)
def test_other_hosts_are_refused(server: Server, host: str) -> None:
    """A name of somebody else's that leads to this machine: DNS rebinding."""
    for method, path in (("GET", "/"), ("GET", "/page.js"), ("POST", "/api/write"), ("OPTIONS", "/")):
        assert request(server, method, path, b'{"text": "a"}', host=host).status == 403


def test_two_hosts_are_refused(server: Server) -> None:
    assert raw(server, b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n").status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "https://127.0.0.1"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
)
def test_pages_of_other_origins_may_not_ask(server: Server, headers: dict[str, str]) -> None:
    body = json.dumps({"text": "a clock"}).encode()
    assert request(server, "POST", "/api/write", body, **headers).status == 403


def test_our_own_page_may_ask(server: Server) -> None:
    body, own = json.dumps({"text": "a clock"}).encode(), f"http://127.0.0.1:{server.port}"
    assert request(server, "POST", "/api/write", body, origin=own, sec_fetch_site="same-origin").status == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "-"])
def test_a_form_cannot_ask(server: Server, kind: str) -> None:
    """These are the types that a foreign page may send without asking first."""
    assert request(server, "POST", "/api/write", b'{"text": "a"}', content_type=kind).status == 415


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content_length": "-"}, 411),
        ({"content_length": "-1"}, 411),
        ({"content_length": "1e3"}, 411),
        ({"content_length": "\u00b2"}, 411),
        ({"content_length": "9" * 400}, 411),
        ({"transfer_encoding": "chunked"}, 411),
        ({"content_length": "999999999999"}, 413),
        ({"content_length": "50"}, 400),  # more than comes
    ],
)
def test_sizes_that_are_none_are_refused(server: Server, headers: dict[str, str], status: int) -> None:
    assert request(server, "POST", "/api/write", b'{"text": "a"}', **headers).status == status


def test_a_huge_body_is_refused_and_not_kept(server: Server) -> None:
    reply = request(server, "POST", "/api/write", b" " * 18_000_000)
    assert reply.status == 413 and "17,000,000" in reply.json["error"]


@pytest.mark.parametrize(
    "content",
    [
        *(b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x00" * 100 + b"\r\n\r\n"),
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 200 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nx: " + b"y" * 70_000 + b"\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused_as_json(server: Server, content: bytes) -> None:
    """It may be closed without a word, but is never answered with HTML or with the page."""
    with socket.create_connection((server.address.host, server.port), timeout=30) as connection:
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        try:
            received = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        except ConnectionResetError:
            received = b""
    assert b"<" not in received and b"200 OK" not in received
    assert request(server, "GET", "/").status == 200


@pytest.mark.parametrize(
    "text", [EVIL, "clock " * 160_000, "\x1b[2J", "\ud800".encode("utf-16", "surrogatepass").hex()]
)
def test_hostile_texts_are_answered_as_text(server: Server, text: str) -> None:
    reply = ask(server, text=text, reference="small clock")
    assert reply.status == 200 and reply.headers["Content-Type"] == "application/json; charset=utf-8"
    assert reply.json["answers"][0]["trace"]["source"] == text[:2_000]


def test_bad_questions_are_one_line(server: Server) -> None:
    reply = ask(server, text=3)
    assert reply.status == 400 and reply.json == {"error": "text: must be a text"}


def test_many_at_once_are_all_answered(server: Server) -> None:
    """Eight clients, as different texts, each with the answer to its own."""
    texts = [sentence(number)[0] for number in range(8)]
    alone = [ask(server, text=text, methods=["greedy"]).json for text in texts]
    with ThreadPoolExecutor(8) as clients:
        replies = list(clients.map(lambda each: ask(server, text=texts[each % 8], methods=["greedy"]), range(24)))
    assert [reply.status for reply in replies] == [200] * 24
    assert [reply.json for reply in replies] == [alone[number % 8] for number in range(24)]


def test_too_many_are_told_that_it_is_busy(server: Server) -> None:
    """While the model is taken, so many wait, and the others hear at once."""
    with ThreadPoolExecutor(module.WAITING + 4) as clients:
        free = threading.Event()
        server.worker.submit(free.wait)
        try:
            replies = [clients.submit(ask, server, text="a clock") for _ in range(module.WAITING + 4)]
            refused = [each.result() for each in islice(as_completed(replies, timeout=60), 4)]
            assert request(server, "GET", "/").status == 200  # the page itself does not wait
        finally:
            free.set()
        counts = Counter(reply.result().status for reply in replies)
    assert counts == {200: module.WAITING, 503: 4}
    assert [(reply.status, reply.headers["Retry-After"]) for reply in refused] == [(503, "1")] * 4


def test_a_defect_is_told_and_the_server_goes_on(
    server: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Desk, "answer", lambda self, question: {}["nothing"])
        reply = ask(server, text="a clock")
    assert reply.status == 500 and reply.json["error"].startswith("a defect of bangbang: KeyError")
    assert capfd.readouterr().err.startswith("bangbang: a request failed: KeyError")
    assert ask(server, text="a clock").status == 200


def test_more_connections_than_it_keeps_are_closed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONNECTIONS", 2)
    with Server("127.0.0.1", 0) as small:
        small.open(desk)
        thread = threading.Thread(target=small.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        idle = [socket.create_connection((small.address.host, small.port)) for _ in range(2)]
        third = socket.create_connection((small.address.host, small.port), timeout=10)
        assert third.recv(1) == b""
        for each in (*idle, third):
            each.close()
        small.shutdown()
        thread.join()


def test_a_taken_port_is_one_line(tiny_run: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", str(tiny_run), "--port", str(server.port)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"bangbang: error: --port {server.port}: cannot be had") and error.count("\n") == 1
    assert "--port 0" in error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere", "--port", "0"], "not a run"),
        (["x", "--host", "no.such.host.invalid"], "no such address"),
        (["x", "--port", "70000"], "at most 65,535"),
        ([], "RUN"),
    ],
)
def test_bad_calls_are_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_only_this_machine_unless_asked() -> None:
    with Server("127.0.0.1", 0) as own, Server("0.0.0.0", 0) as open_to_all:
        assert own.address.is_local and not open_to_all.address.is_local
        assert own.socket.getsockname()[0] == "127.0.0.1"
        assert open_to_all.is_own("192.168.0.9:8000") and not open_to_all.is_own("evil.example")
    with pytest.raises(InputError, match="no such address"):
        Server("evil host", 0)


# what a shell starts in the background ignores SIGINT, and so does all that it starts
LISTENING = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
COMMAND = "from bangbang.cli.main import main; sys.exit(main(sys.argv[1:]))"


def test_ctrl_c_ends_it(tiny_run: Path) -> None:
    command = [sys.executable, "-c", LISTENING + COMMAND, "serve", str(tiny_run), "--port", "0", "--host", "0.0.0.0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        assert process.stdout.readline().startswith("http://0.0.0.0:")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert errors.splitlines()[0].startswith("bangbang: --host 0.0.0.0: whoever can reach this machine")
    assert errors.splitlines()[1:] == ["bangbang: interrupted"]
