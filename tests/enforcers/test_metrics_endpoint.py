"""Readers of /metrics: answered, bounded, and never in the way of enforcement."""

import http.client
import logging
import os
import re
import socket
import stat
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from enforcers.metrics import endpoint
from enforcers.metrics.address import Address, PortAddress, SocketAddress, parse_address
from enforcers.metrics.endpoint import MOST_READERS, serving
from enforcers.metrics.exposition import CONTENT_TYPE

GET = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
SHORT = b"x 1\n"
# More than the kernel's buffers take of a connection whose other end does not read.
LONG = b"sluice_enforcer_x 1\n" * 400_000


def free_port() -> int:
    with socket.socket() as asking:
        asking.bind(("127.0.0.1", 0))
        port: int = asking.getsockname()[1]
        return port


@pytest.fixture(params=["socket", "port"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Address:
    if request.param == "socket":
        return SocketAddress(path=tmp_path / "metrics.sock")
    return PortAddress(host="127.0.0.1", port=free_port())


@pytest.fixture
def path_address(tmp_path: Path) -> SocketAddress:
    return SocketAddress(path=tmp_path / "metrics.sock")


def connected(address: Address) -> socket.socket:
    family = socket.AF_UNIX if isinstance(address, SocketAddress) else socket.AF_INET
    connection = socket.socket(family)
    connection.settimeout(10.0)
    connection.connect(
        str(address.path) if isinstance(address, SocketAddress) else (address.host, address.port)
    )
    return connection


def asked(address: Address, request: bytes = GET) -> tuple[int, bytes, http.client.HTTPResponse]:
    """Status and body, read by the standard library's own client."""
    with connected(address) as connection:
        connection.sendall(request)
        response = http.client.HTTPResponse(connection, method=request.split(b" ")[0].decode())
        response.begin()
        return response.status, response.read(), response


def test_reader_gets_the_text_with_its_type(address: Address) -> None:
    with serving(address, lambda: SHORT):
        status, body, response = asked(address)

    assert (status, body) == (200, SHORT)
    assert response.headers["Content-Type"] == CONTENT_TYPE
    assert response.headers["Content-Length"] == "4"


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /metrics?name=x HTTP/1.0\r\n\r\n", 200),
        (b"HEAD /metrics HTTP/1.1\r\n\r\n", 200),
        (b"GET / HTTP/1.1\r\n\r\n", 404),
        (b"GET /metrics/.. HTTP/1.1\r\n\r\n", 404),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 405),
        (b"\x16\x03\x01 hello\r\n\r\n", 400),
        (b"GET /metrics\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 8180, 431),
    ],
    ids=["query", "head", "other path", "dots", "post", "TLS", "HTTP 0.9", "too long"],
)
def test_request_is_answered_by_what_it_asks(
    path_address: SocketAddress, request_bytes: bytes, status: int
) -> None:
    with serving(path_address, lambda: SHORT):
        found, body, _ = asked(path_address, request_bytes)

    assert found == status
    assert body == (SHORT if status == 200 and request_bytes.startswith(b"GET") else b"")


def test_two_readers_at_once_each_get_all(address: Address) -> None:
    with serving(address, lambda: LONG):
        bodies: list[bytes] = []
        readers = [
            threading.Thread(target=lambda: bodies.append(asked(address)[1])) for _ in range(2)
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()

    assert bodies == [LONG, LONG]


def hang_up(connection: socket.socket) -> None:
    connection.close()


def say_nothing(connection: socket.socket) -> None:
    """It stays connected."""


def ask_by_half(connection: socket.socket) -> None:
    connection.send(b"GET /met")


def ask_and_not_read(connection: socket.socket) -> None:
    connection.send(GET)


@pytest.mark.parametrize("do", [hang_up, say_nothing, ask_by_half, ask_and_not_read])
def test_reader_that_misbehaves_keeps_no_other_from_reading(
    address: Address, do: Callable[[socket.socket], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "READER_S", 0.5)

    with serving(address, lambda: LONG), ExitStack() as ends:
        for _ in range(3 * MOST_READERS):
            do(ends.enter_context(connected(address)))

        assert asked(address)[1] == LONG


def test_reader_that_hangs_is_cut_off(
    path_address: SocketAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "READER_S", 0.2)

    with serving(path_address, lambda: SHORT), connected(path_address) as connection:
        connection.send(b"GET /met")

        assert connection.recv(1) == b""


def test_hostile_readers_have_at_most_two_texts_in_memory(
    path_address: SocketAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "TEXT_LASTS_S", 0.0)
    made: list[int] = []

    def text() -> bytes:
        made.append(1)
        return LONG + b"# %d\n" % len(made)

    with serving(path_address, text), ExitStack() as ends:
        readers = [ends.enter_context(connected(path_address)) for _ in range(MOST_READERS)]
        for reader in readers:
            reader.send(GET)
            reader.recv(1)  # It is answered, and reads no more.

        assert len(made) == 2


def test_text_is_made_once_a_second_for_any_number_of_readers(
    path_address: SocketAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "TEXT_LASTS_S", 3600.0)
    made: list[int] = []

    with serving(path_address, lambda: b"x %d\n" % (made.append(1) or 1)):
        for _ in range(5):
            asked(path_address)

    assert len(made) == 1


def test_readers_are_taken_at_most_twenty_a_second(path_address: SocketAddress) -> None:
    with serving(path_address, lambda: SHORT):
        asked(path_address)
        began_s = time.monotonic()
        for _ in range(10):
            asked(path_address)
        spent_s = time.monotonic() - began_s

    assert spent_s >= 9 * endpoint.BETWEEN_READERS_S


def test_figures_that_cannot_be_made_are_an_error_of_the_reader_alone(
    path_address: SocketAddress, caplog: pytest.LogCaptureFixture
) -> None:
    texts: Iterator[bytes | None] = iter([None, SHORT])

    def text() -> bytes:
        found = next(texts)
        if found is None:
            raise RuntimeError("a mistake")
        return found

    with serving(path_address, text):
        first, second = asked(path_address), asked(path_address)

    assert (first[0], second[0], second[1]) == (500, 200, SHORT)
    assert "metrics not made" in caplog.text


def test_block_ends_at_once_in_spite_of_readers_that_hang(address: Address) -> None:
    with ExitStack() as ends:
        with serving(address, lambda: LONG):
            readers = [ends.enter_context(connected(address)) for _ in range(2 * MOST_READERS)]
            for reader in readers:
                reader.send(GET)
            began_s = time.monotonic()

        assert time.monotonic() - began_s < 1.0


def test_socket_is_open_to_its_owner_alone_from_the_start(path_address: SocketAddress) -> None:
    former = os.umask(0)
    try:
        with serving(path_address, lambda: SHORT):
            assert stat.S_IMODE(path_address.path.stat().st_mode) == 0o600
    finally:
        os.umask(former)


def test_socket_is_gone_afterwards(path_address: SocketAddress) -> None:
    with serving(path_address, lambda: SHORT):
        pass

    assert not path_address.path.exists()


def test_socket_that_somebody_else_made_meanwhile_stays(path_address: SocketAddress) -> None:
    with serving(path_address, lambda: SHORT):
        path_address.path.unlink()
        path_address.path.write_text("another")

    assert path_address.path.read_text() == "another"


def test_socket_of_an_agent_that_was_killed_is_taken_over(path_address: SocketAddress) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path_address.path))
    assert path_address.path.exists()

    with serving(path_address, lambda: SHORT):
        assert asked(path_address)[1] == SHORT


def test_address_in_use_is_reported_and_the_block_runs(
    address: Address, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(address, lambda: SHORT), serving(address, lambda: b"second\n"):
        assert asked(address)[1] == SHORT

    (told,) = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert (told.message, told.__dict__["at"]) == ("metrics not served", str(address))
    assert told.__dict__["error"] == "Address already in use"


@pytest.mark.parametrize("what", ["file", "folder", "no folder"])
def test_place_that_is_no_socket_is_reported_and_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, what: str
) -> None:
    path = tmp_path / "place"
    if what == "file":
        path.write_text("mine")
    elif what == "folder":
        path.mkdir()
    else:
        path = tmp_path / "none" / "place"

    with serving(SocketAddress(path=path), lambda: SHORT):
        pass

    assert "metrics not served" in caplog.text
    assert path.exists() == (what != "no folder")


def test_lines_for_telegraf_name_an_address_that_an_agent_may_have() -> None:
    text = (Path(__file__).parents[2] / "docs/operations.md").read_text()
    (lines,) = re.findall(r"```toml\n(\[\[inputs\.prometheus\]\]\n.*?)```", text, re.DOTALL)

    (plugin,) = tomllib.loads(lines)["inputs"]["prometheus"]
    url = urlsplit(plugin["urls"][0])

    assert len(lines.splitlines()) == 5
    assert (url.scheme, url.path, plugin["metric_version"]) == ("http", "/metrics", 2)
    assert parse_address(url.netloc, Path("/")) == PortAddress(host="127.0.0.1", port=9469)
    assert f'listen = "{url.netloc}"' in text


def test_port_is_one_of_this_machine_alone() -> None:
    address = PortAddress(host="127.0.0.1", port=free_port())

    with serving(address, lambda: SHORT):
        lines = Path("/proc/net/tcp").read_text().splitlines()

    listening = [line.split()[1] for line in lines if line.split()[3] == "0A"]
    assert f"0100007F:{address.port:04X}" in listening
    assert f"00000000:{address.port:04X}" not in listening
