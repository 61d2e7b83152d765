"""HTTP around an application, on the standard library: one page and its requests, behind a token, on this machine.

What guards it: the address holds a random token, compared in constant time; requests must name a host that is this
server's (against DNS rebinding) and come from its own page; bodies are JSON of bounded size; nothing else is served.
"""

from __future__ import annotations

import io
import ipaddress
import json
import secrets
import socket
import sys
import time
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from bgn.serve.app import ModelApp
from bgn.serve.requests import BadRequest, parse
from bgn.text import message

MOST_BYTES = 1_000_000
"""Most bytes of a request."""
_SECONDS = 30  # in which a whole request must arrive, and its answer be taken
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_NOTHING = "There is nothing here. Use the address that bgn serve printed."


class ModelServer(ThreadingHTTPServer):
    """A server of one application; port 0 is any that is free."""

    daemon_threads = True
    allow_reuse_address = False
    request_queue_size = 128  # connections that wait to be taken; with five, bursts of a page were reset

    def __init__(self, app: ModelApp, host: str = "127.0.0.1", port: int = 0) -> None:
        self.app, self.host, self.token = app, host, secrets.token_urlsafe(24)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Requests)

    @property
    def url(self) -> str:
        """The address to open."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server_port}/{self.token}/"

    def knows(self, header: str | None) -> bool:
        """Tell whether a Host header names this server: itself, or where it listens to others any address of numbers.

        A name that an attacker lets point here is none of these.
        """
        try:
            split = urlsplit(f"//{header or ''}")
            host, port = split.hostname or "", split.port or 80
        except ValueError:
            return False
        if port != self.server_port or split.username is not None or split.path or split.query or split.fragment:
            return False
        if host in ("localhost", self.host.lower()):
            return True
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return not self.local and host == socket.gethostname().lower()
        return address.is_loopback or not self.local

    @property
    def local(self) -> bool:
        """Whether this machine alone can reach it."""
        with suppress(ValueError):
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        return False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a connection that broke off; tell other mishaps on standard error, in one line."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            print(f"bgn serve: {type(error).__name__}: {message(str(error), 200)}", file=sys.stderr)


class _InTime(io.RawIOBase):
    """What a connection sends until a moment; a timeout of the socket alone starts again with every byte."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._ends = connection, time.monotonic() + _SECONDS

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._ends - time.monotonic()
        if left <= 0.0:
            raise TimeoutError("the request took too long")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Requests(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: ModelServer
    server_version, sys_version = "bgn", ""

    def setup(self) -> None:
        """Read a request from a connection, no longer than it may take."""
        super().setup()
        self.rfile = io.BufferedReader(_InTime(self.connection))

    def do_GET(self) -> None:
        """Answer with the page."""
        if (place := self._place()) is None:
            return
        if place:
            self._refuse(HTTPStatus.NOT_FOUND, _NOTHING)
        else:
            self._send(HTTPStatus.OK, self.server.app.page, "text/html; charset=utf-8")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        """Answer a request of the page."""
        if (place := self._place()) is None:
            return
        if not place.startswith("api/"):
            self._refuse(HTTPStatus.NOT_FOUND, _NOTHING)
            return
        if (body := self._body()) is None:
            return
        try:
            answer = self.server.app.answer(place.removeprefix("api/"), parse(body))
            content = json.dumps(answer, allow_nan=False).encode()
        except BadRequest as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))
        except Exception as error:
            print(f"bgn serve: {type(error).__name__}: {message(str(error), 200)}", file=sys.stderr)
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, "The answer could not be computed; the terminal says why.")
        else:
            self._send(HTTPStatus.OK, content, "application/json")

    def _place(self) -> str | None:
        """Return what is asked for behind the token; None where the request was refused."""
        if not self.server.knows(self.headers.get("Host")) or len(self.headers.get_all("Host", [])) != 1:
            self._refuse(HTTPStatus.FORBIDDEN, "This server does not answer to that name. Use the address it printed.")
            return None
        origin = self.headers.get("Origin")
        if origin is not None and origin != f"http://{self.headers.get('Host')}":
            self._refuse(HTTPStatus.FORBIDDEN, "Other pages may not ask here.")
            return None
        token, slash, rest = self.path.removeprefix("/").partition("/")
        if not secrets.compare_digest(token.encode(), self.server.token.encode()) or not slash:
            self._refuse(HTTPStatus.NOT_FOUND, _NOTHING)
            return None
        return rest

    def _body(self) -> bytes | None:
        """Return the body of a request; None where it was refused."""
        lengths = self.headers.get_all("Content-Length", [])
        known = len(lengths) == 1 and lengths[0].isascii() and lengths[0].isdigit()
        if self.headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Requests must be JSON (Content-Type: application/json).")
        elif "Transfer-Encoding" in self.headers or not known:
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "Requests must say how long they are (Content-Length).")
        elif len(lengths[0]) > 12 or int(lengths[0]) > MOST_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"Requests may have {MOST_BYTES:,} bytes at most.")
        elif len(body := self.rfile.read(int(lengths[0]))) < int(lengths[0]):
            self._refuse(HTTPStatus.BAD_REQUEST, "The request broke off.")
        else:
            return body
        return None

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self.close_connection = True
        self._send(status, json.dumps({"error": message(why)}).encode(), "application/json")

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.connection.settimeout(_SECONDS)
        self.send_response(status)
        for name, value in (_HEADERS | {"Content-Type": kind, "Content-Length": str(len(content))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that is no HTTP, or of a method that is not known, as all others."""
        status = HTTPStatus(code)
        self._refuse(status, f"{status.phrase}.")

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keep quiet: the address of every request holds the token."""
