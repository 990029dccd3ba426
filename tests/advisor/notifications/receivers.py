"""A mail server and a web server on loopback that take messages, or not, as a test says."""

from __future__ import annotations

import email
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller


@dataclass(slots=True)
class MailSink:
    """The letters that came; `answer` is what the server says to each."""

    port: int = 0
    answer: str = "250 OK"
    letters: list[EmailMessage] = field(default_factory=list)

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        if self.answer.startswith("250"):
            letter = email.message_from_bytes(envelope.content, policy=default)
            assert isinstance(letter, EmailMessage)
            self.letters.append(letter)
        return self.answer


@contextmanager
def mail_sink() -> Iterator[MailSink]:
    sink = MailSink()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        sink.port = probe.getsockname()[1]
    server = Controller(sink, hostname="127.0.0.1", port=sink.port)
    server.start()
    try:
        yield sink
    finally:
        server.stop()


@dataclass(slots=True, kw_only=True)
class Post:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class WebSink:
    """What was posted; `statuses` are the next answers, 200 after them."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    posts: list[Post] = field(default_factory=list)
    goes_on: threading.Event = field(default_factory=threading.Event)
    stalls: bool = False
    drips: bool = False


@contextmanager
def web_sink() -> Iterator[WebSink]:
    sink = WebSink()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            post = Post(path=self.path, headers=dict(self.headers), body=self.rfile.read(length))
            sink.posts.append(post)
            if sink.stalls:
                sink.goes_on.wait(30)
            while sink.drips and not sink.goes_on.wait(0.05):
                try:
                    self.wfile.write(b"H")
                except OSError:
                    return
            status = sink.statuses.pop(0) if sink.statuses else 200
            self.send_response(status)
            if status in (301, 302, 307):
                self.send_header("Location", f"{sink.url}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sink.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield sink
    finally:
        sink.goes_on.set()
        server.shutdown()
        server.server_close()
        thread.join()
