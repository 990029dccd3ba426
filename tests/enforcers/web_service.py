"""A real HTTP server on loopback that answers as a test tells it."""

import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass(slots=True, kw_only=True)
class WebService:
    """What the server answers, and what it was asked."""

    status: int = 200
    answer: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    write: Callable[[BaseHTTPRequestHandler], None] | None = None
    url: str = ""

    def bodies(self, path: str) -> list[bytes]:
        """What was posted to a path."""
        return [body for method, asked, _, body in self.asked if (method, asked) == ("POST", path)]


@contextmanager
def web_service(certificate: Path | None = None) -> Iterator[WebService]:
    """Serve on a free port of loopback until the block ends; with a certificate, by TLS."""
    service = WebService()

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            body = self.rfile.read(length)
            service.asked.append((self.command, self.path, dict(self.headers), body))
            if service.write is not None:
                service.write(self)
                return
            self.send_response(service.status)
            for name, value in service.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(service.answer)))
            self.end_headers()
            self.wfile.write(service.answer)

        do_POST = do_GET  # noqa: N815  (the name the standard library looks for)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that hangs up is part of the tests."""

        def server_bind(self) -> None:
            # The standard server asks the resolver for its own name; that may take long.
            socketserver.TCPServer.server_bind(self)
            self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    with Server(("127.0.0.1", 0), Answering) as server:
        scheme = "http"
        if certificate is not None:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate)
            server.socket = tls.wrap_socket(server.socket, server_side=True)
            scheme = "https"
        service.url = f"{scheme}://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()
