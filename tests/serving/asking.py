"""Requests over a socket, as odd as a test wants them."""

import json
import socket
from typing import Any, NamedTuple

from bangbang.serving import Server


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def raw(server: Server, content: bytes) -> Reply:
    """What comes back for these very bytes."""
    with socket.create_connection((server.address.host, server.port), timeout=30) as connection:
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    return Reply(int(first.split()[1]), dict(line.split(": ", 1) for line in lines), body)


def request(server: Server, method: str, path: str, body: bytes = b"", **headers: str) -> Reply:
    """Headers are those of a page of the server's own; `host_` and the like replace them, and `-` leaves one out."""
    own = f"127.0.0.1:{server.port}"
    given = {"host": own, "content-type": "application/json", "content-length": str(len(body))}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items() if value != "-")
    return raw(server, f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body)


def ask(server: Server, **question: Any) -> Reply:
    return request(server, "POST", "/api/write", json.dumps(question).encode())
