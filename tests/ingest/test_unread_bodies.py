"""Nothing is read of a body whose sender is refused; the real web server, raw sockets."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from accounts.models import Organisation
from ingest.models import DiskioSample, Host
from tests.ingest.scenario import Tenant, disk_line, make_tenant, now
from tests.ingest.wire import WebServer

LIMIT_BYTES = 20_000
PATHS = ["/api/v2/write", "/write", "/api/v1/write", "/v1/metrics"]


@pytest.fixture
def tenant(committed: None) -> Tenant:
    return make_tenant()


@pytest.fixture
def server(committed: None, tmp_path: Path) -> Iterator[WebServer]:
    found = WebServer(tmp_path, SLUICE_MAX_BODY_BYTES=str(LIMIT_BYTES))
    found.start()
    yield found
    found.stop()


def head(path: str, secret: str, *framing: str) -> bytes:
    lines = [
        f"POST {path} HTTP/1.1", "Host: localhost", f"Authorization: Token {secret}",
        "Content-Type: application/x-protobuf", *framing, "", "",
    ]  # fmt: skip
    return "\r\n".join(lines).encode()


def answer(server: WebServer, path: str, secret: str, *, chunks: int) -> int:
    """The status of a chunked body; without its last chunk it does not end."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(head(path, secret, "Transfer-Encoding: chunked"))
        content = (disk_line(now()) + "\n").encode()
        for _ in range(chunks):
            connection.sendall(b"%x\r\n%s\r\n" % (len(content), content))
        if chunks:
            connection.sendall(b"0\r\n\r\n")
        response = http.client.HTTPResponse(connection)
        response.begin()
        return response.status


def test_wrong_token_is_answered_before_anything_of_a_chunked_body_came(
    server: WebServer, tenant: Tenant
) -> None:
    answers = {path: answer(server, path, "slu_wrong", chunks=0) for path in PATHS}

    assert answers == dict.fromkeys(PATHS, 401)


def test_body_of_a_valid_token_is_read_to_its_end_and_no_further_than_allowed(
    server: WebServer, tenant: Tenant
) -> None:
    # A line has about 160 bytes.
    fits = answer(server, "/api/v2/write", tenant.secret, chunks=50)
    too_large = answer(server, "/api/v2/write", tenant.secret, chunks=500)

    assert (fits, too_large) == (204, 413)
    assert Host.objects.get().organisation == tenant.organisation


def test_who_has_used_up_the_quota_is_answered_before_anything_came(
    server: WebServer, tenant: Tenant
) -> None:
    Organisation.objects.update(quota_bytes_per_s=1)
    # Without a queue's server the one process knows alone what was used: 8,000 of 60 bytes.
    assert answer(server, "/api/v2/write", tenant.secret, chunks=50) == 204

    assert answer(server, "/api/v2/write", tenant.secret, chunks=0) == 429


@pytest.mark.parametrize("path", ["/api/v2/write", "/write"])
@pytest.mark.parametrize("framing", ["Transfer-Encoding: chunked", "Content-Length: 170"])
def test_nothing_is_stored_of_a_body_that_was_cut_off(
    server: WebServer, tenant: Tenant, path: str, framing: str
) -> None:
    """What is left of its last line may be a good line with half a number."""
    line = disk_line(now()).encode()
    content = b"aa\r\n" + line if "chunked" in framing else line
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(head(path, tenant.secret, framing) + content)
        connection.shutdown(socket.SHUT_WR)
        status = connection.recv(65536)[:12]

    # The next request of the same sender is answered after it, if anything of it was stored.
    assert answer(server, path, tenant.secret, chunks=1) == 204
    assert not status.endswith(b"204")
    assert DiskioSample.objects.count() == 1


def test_senders_that_stand_still_hold_nobody_up(server: WebServer, tenant: Tenant) -> None:
    """More than the server has threads: nothing said, half of a head, and half of a body."""
    body = head("/api/v2/write", tenant.secret, "Content-Length: 170") + b"diskio,host="
    with ExitStack() as still:
        for begin in [b"", body[:40], body] * 20:
            sender = socket.create_connection(("127.0.0.1", server.port), timeout=20)
            still.enter_context(sender).sendall(begin)

        assert answer(server, "/api/v2/write", tenant.secret, chunks=1) == 204
