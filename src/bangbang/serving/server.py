"""The server of the page: three files and one question, for browsers on this machine.

It opens no file: all that it gives out is made when it starts. A request must name this machine as its host, so that a
foreign page whose name leads here (DNS rebinding) gets nothing, and may not come from a page of another origin.
Questions are answered one at a time, in their order; a few wait, more are told that it is busy.
"""

import ipaddress
import json
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, NamedTuple

from bangbang.control_characters import visible
from bangbang.errors import InputError
from bangbang.serving.answers import Desk
from bangbang.serving.pages import page_files
from bangbang.serving.questions import BODY_BYTES, read_question

QUESTION = "/api/write"
WAITING = 16  # questions at once, the one that is answered included
CONNECTIONS = 64
PATIENCE = 20.0  # seconds for a client to send the next bytes
DRAINED = 64_000_000  # bytes of a refused body that are read, so that the client gets to read the refusal
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class RefusedError(Exception):
    """A request that gets no answer but this."""

    def __init__(self, status: HTTPStatus, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers or {}


class Address(NamedTuple):
    family: socket.AddressFamily
    host: str
    """As a number."""

    @classmethod
    def of(cls, host: str) -> "Address":
        try:
            family, _, _, _, found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
        except (OSError, UnicodeError):
            raise InputError(f"--host {host}: no such address; the default is 127.0.0.1") from None
        return cls(family, str(found[0]))

    @property
    def is_local(self) -> bool:
        """Whether other machines cannot reach it."""
        return ipaddress.ip_address(self.host.partition("%")[0]).is_loopback


class Server(ThreadingMixIn, TCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = CONNECTIONS

    def __init__(self, host: str, port: int) -> None:
        """Takes the port, and listens once there is something to `open`."""
        self.address, self.given_host = Address.of(host), host
        self.address_family = self.address.family
        self.files: dict[str, tuple[str, bytes]] = {}
        self.desk: Desk | None = None
        self.places = threading.BoundedSemaphore(WAITING)
        # one thread answers, in the order of asking: a lock would let newcomers pass those who wait
        self.worker = ThreadPoolExecutor(1)
        self.connections = threading.BoundedSemaphore(CONNECTIONS)
        super().__init__((self.address.host, port), Handler, bind_and_activate=False)
        with self.naming_the_port(port):
            self.server_bind()

    @contextmanager
    def naming_the_port(self, port: int) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.server_close()
            raise InputError(
                f"--port {port}: cannot be had on {self.given_host} ({error.strerror}); --port 0 picks a free one"
            ) from None

    def open(self, desk: Desk) -> None:
        self.desk, self.files = desk, page_files(desk.facts())
        with self.naming_the_port(self.port):
            self.server_activate()

    @property
    def port(self) -> int:
        return int(self.socket.getsockname()[1])

    @property
    def url(self) -> str:
        host = f"[{self.address.host}]" if self.address.family == socket.AF_INET6 else self.address.host
        return f"http://{host}:{self.port}/"

    def is_own(self, host: str) -> bool:
        """Whether a Host header names this machine: by a number, as localhost, or by the name that --host has."""
        name = host[: host.rindex(":")] if ":" in host.rpartition("]")[2] else host
        if name.lower() in ("localhost", self.given_host.lower()):
            return True
        try:
            number = ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        return number.is_loopback or not self.address.is_local

    def answer(self, body: bytes) -> dict[str, Any]:
        """The answers to a question, in its turn."""
        if not self.places.acquire(blocking=False):
            raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "busy; ask again in a moment", {"Retry-After": "1"})
        try:
            question = read_question(body)
            assert self.desk is not None
            return {"answers": self.worker.submit(self.desk.answer, question).result()}
        except InputError as error:
            raise RefusedError(HTTPStatus.BAD_REQUEST, str(error)) from None
        except CancelledError:
            raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "the server is ending") from None
        finally:
            self.places.release()

    def server_close(self) -> None:
        """An answer under way is not cut off; questions that wait get none."""
        super().server_close()
        self.worker.shutdown(cancel_futures=True)

    def process_request(self, request: Any, client_address: Any) -> None:
        """A thread for each connection, up to a number of them; more are closed."""
        if self.connections.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news; anything else is a defect, told in one line."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            print(f"bangbang: a request failed: {type(error).__name__}: {visible(str(error))[:200]}", file=sys.stderr)


class Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = PATIENCE
    server_version, sys_version = "bangbang", ""

    def do_GET(self) -> None:  # http.server's name
        self.reply_or_refuse(self.file)

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        self.reply_or_refuse(self.question)

    def refuse_method(self) -> None:
        self.reply_or_refuse(self.no_method)

    do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_TRACE = do_CONNECT = refuse_method  # noqa: N815

    def reply_or_refuse(self, found: Any) -> None:
        try:
            self.check_origin()
            kind, content = found()
        except RefusedError as refused:
            self.refuse(refused.status, str(refused), refused.headers)
        except Exception as error:  # the server goes on, and the page is told
            self.server.handle_error(self.request, self.client_address)
            self.refuse(HTTPStatus.INTERNAL_SERVER_ERROR, f"a defect of bangbang: {type(error).__name__}: {error}")
        else:
            self.reply(HTTPStatus.OK, kind, content)

    def check_origin(self) -> None:
        """Only this machine's own name, and no page of another origin."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or not self.server.is_own(hosts[0].strip()):
            raise RefusedError(
                HTTPStatus.FORBIDDEN, "this host is not served here; open the address that serve printed"
            )
        origins, host = self.headers.get_all("Origin", []), hosts[0].strip()
        if any(origin != f"http://{host}" for origin in origins):
            raise RefusedError(HTTPStatus.FORBIDDEN, "pages of other origins may not ask")
        fetched = self.headers.get("Sec-Fetch-Site", "none")
        if self.command != "GET" and fetched not in ("same-origin", "none"):
            raise RefusedError(HTTPStatus.FORBIDDEN, "pages of other origins may not ask")

    def no_method(self) -> tuple[str, bytes]:
        raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, "there is only GET and POST", {"Allow": "GET, HEAD, POST"})

    def file(self) -> tuple[str, bytes]:
        if self.path == QUESTION:
            raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, "ask by POST", {"Allow": "POST"})
        if self.path not in self.server.files:
            raise RefusedError(HTTPStatus.NOT_FOUND, "there is no such page")
        return self.server.files[self.path]

    def question(self) -> tuple[str, bytes]:
        if self.path != QUESTION:
            raise RefusedError(HTTPStatus.NOT_FOUND, f"questions go to {QUESTION}")
        if self.headers.get_content_type() != "application/json":
            raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "a question is application/json")
        answer = json.dumps(self.server.answer(self.body()), ensure_ascii=False, allow_nan=False)
        return "application/json", answer.encode("utf-8", "replace")

    def body(self) -> bytes:
        lengths = self.headers.get_all("Content-Length", [])
        if "Transfer-Encoding" in self.headers or len(lengths) != 1 or not is_number(lengths[0]):
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED, "a question needs one Content-Length")
        size = int(lengths[0])
        if size > BODY_BYTES:
            self.drain(size)
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a question has at most {BODY_BYTES:,} bytes")
        content = self.rfile.read(size)
        if len(content) < size:
            raise RefusedError(HTTPStatus.BAD_REQUEST, "the question ended early")
        return content

    def drain(self, size: int) -> None:
        left = min(size, DRAINED)
        while left > 0 and (read := self.rfile.read(min(left, 1 << 20))):
            left -= len(read)

    def reply(self, status: HTTPStatus, kind: str, content: bytes, more: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        sizes = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(content))}
        for name, value in {**HEADERS, **sizes, **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def refuse(self, status: HTTPStatus, message: str, more: Mapping[str, str] | None = None) -> None:
        self.reply(status, "application/json", json.dumps({"error": message}).encode(), more)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What http.server itself refuses: requests that are none."""
        self.command = self.command or "GET"
        self.refuse(HTTPStatus(code), message or HTTPStatus(code).phrase)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what is asked here is nobody's business."""


def is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 15
