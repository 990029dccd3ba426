"""The web server's front door: who is slow, silent or endless costs nobody anything."""

from __future__ import annotations

import http.client
import select
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import uvicorn

from appliance.front_door import Callers, Certificate, GuardedProtocol, Loop
from config.env import SettingError
from ingest.admission import SAMPLE_PATHS
from ingest.slow_bodies import MOST_SLOW_OF_ONE, SLOW_AFTER_S
from tests.ingest.scenario import make_tenant
from tests.ingest.wire import WebServer, eventually

CLOSED = b""


class Application:
    """Answers each request with the length of its body, or with as much as it is told to."""

    answer_bytes = 0

    def __init__(self) -> None:
        self.schemes: set[str] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.schemes.add(scope["scheme"])
        length, more = 0, True
        while more:
            message: MutableMapping[str, Any] = await receive()
            length += len(message.get("body", b""))
            more = message.get("more_body", False)
        body = b"x" * self.answer_bytes or str(length).encode()
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"content-length", str(len(body)).encode())]})  # fmt: skip
        await send({"type": "http.response.body", "body": body})


@pytest.fixture
def door() -> Iterator[Door]:
    with Door() as running:
        yield running


class Door:
    """A server with short deadlines in a thread of its own, behind it the test's application."""

    def __init__(self) -> None:
        class Protocol(GuardedProtocol):
            head_s, longest_head_bytes, answer_stands_s = 0.5, 4096, 0.5
            callers = Callers(5)

        self.protocol = Protocol
        self.application = Application()
        config = uvicorn.Config(self.application, http=Protocol, lifespan="off", log_config=None,
                                port=0, ws="none", loop="appliance.front_door:Loop")  # fmt: skip
        self._server = uvicorn.Server(config)
        self._thread = Thread(target=self._server.run)

    def __enter__(self) -> Door:
        self._thread.start()
        eventually(lambda: self._server.started, what="a server")
        self.address = self._server.servers[0].sockets[0].getsockname()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()

    @contextmanager
    def caller(self) -> Iterator[socket.socket]:
        with socket.socket() as connection:
            # Little room, so that whoever takes nothing holds up the server soon.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(10)
            connection.connect(self.address)
            yield connection

    def answers(self) -> bool:
        with self.caller() as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            return is_answered(connection)


def takes(connection: socket.socket, said: bytes) -> bool:
    """Whether the other end is there to hear this."""
    try:
        connection.sendall(said)
    except OSError:
        return False
    return True


def received(connection: socket.socket) -> bytes:
    """What comes next; nothing where the server closed or broke off."""
    try:
        return connection.recv(65536)
    except ConnectionResetError:
        return CLOSED


def is_answered(connection: socket.socket) -> bool:
    """Whether an answer comes, head and body."""
    said = b""
    while b"\r\n\r\n" not in said:
        if not (some := received(connection)):
            return False
        said += some
    head, _, body = said.partition(b"\r\n\r\n")
    length = int(head.partition(b"content-length: ")[2].split()[0])
    while len(body) < length:
        body += received(connection)
    return head.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("head", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\nX-A: "])
def test_head_that_does_not_end_is_waited_for_no_longer_than_its_deadline(
    door: Door, head: bytes
) -> None:
    with door.caller() as connection:
        connection.sendall(head)
        began = time.monotonic()
        assert received(connection) == CLOSED
        assert 0.3 < time.monotonic() - began < 5


def test_drops_of_a_head_move_no_deadline(door: Door) -> None:
    with door.caller() as connection:
        began = time.monotonic()
        while time.monotonic() - began < 10 and takes(connection, b"G"):
            time.sleep(0.05)
        assert time.monotonic() - began < 5


def test_second_request_has_as_much_time_as_the_first(door: Door) -> None:
    with door.caller() as connection:
        for _ in range(3):
            connection.sendall(b"GET / HTTP/1.1\r\n")
            time.sleep(0.3)
            connection.sendall(b"Host: a\r\n\r\n")
            assert is_answered(connection)
        connection.sendall(b"GET / HT")
        assert received(connection) == CLOSED


def test_connection_without_a_request_in_progress_is_kept(door: Door) -> None:
    with door.caller() as connection:
        for _ in range(2):
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert is_answered(connection)
            time.sleep(1.0)


@pytest.mark.parametrize("piece", [b"X-A: b\r\n", b"c"], ids=["lines", "one value"])
def test_head_without_an_end_is_refused_by_its_length(door: Door, piece: bytes) -> None:
    door.protocol.head_s = 60.0
    with door.caller() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX-First: ")
        time.sleep(0.2)
        connection.sendall(piece * (8192 // len(piece)))
        assert received(connection).startswith(b"HTTP/1.1 431")
        assert received(connection) == CLOSED


def test_long_body_is_no_long_head(door: Door) -> None:
    with door.caller() as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n")
        connection.sendall(b"x" * 20_000)
        assert is_answered(connection)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert is_answered(connection)


def test_who_takes_nothing_of_an_answer_is_waited_for_no_longer_than_the_deadline(
    door: Door,
) -> None:
    # More than the kernel keeps for both ends.
    door.application.answer_bytes = 64 * 1024 * 1024
    with door.caller() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(2.0)
        taken = 0
        while some := received(connection):
            taken += len(some)
        assert taken < door.application.answer_bytes


def test_who_takes_an_answer_slowly_has_all_of_it(door: Door) -> None:
    door.application.answer_bytes = 16 * 1024 * 1024
    with door.caller() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        taken, began = 0, time.monotonic()
        while taken < door.application.answer_bytes and (some := received(connection)):
            taken += len(some)
            # For longer than the deadline, with pauses that are shorter.
            if time.monotonic() - began < 1.5:
                time.sleep(0.01)
        assert taken >= door.application.answer_bytes


def test_address_has_a_limited_number_of_connections_and_gets_them_back(door: Door) -> None:
    with ExitStack() as held:
        for _ in range(5):
            held.enter_context(door.caller())
        with door.caller() as beyond:
            assert received(beyond) == CLOSED
    eventually(door.answers, what="room for one more", deadline_s=10)


def test_addresses_are_counted_apart_and_no_limit_is_zero() -> None:
    callers = Callers(1)

    assert callers.come("a")
    assert not callers.come("a")
    assert callers.come("b")
    callers.leave("a")
    assert callers.come("a")
    assert all(Callers(0).come("a") for _ in range(10_000))


def test_refusals_are_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    callers = Callers(1)

    for _ in range(100):
        callers.come("192.0.2.7")

    (told,) = [one for one in caplog.messages if "192.0.2.7" in one]
    assert "SLUICE_CONNECTIONS_PER_ADDRESS" in told


# --- TLS --------------------------------------------------------------------------------------


def make_certificate(folder: Path, *names: str) -> Certificate:
    """A certificate of its own authority for these names; the files are those of before."""
    files = folder / "certificate.pem", folder / "key.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    subject = ["-subj", "/CN=sluice", "-addext",
               f"subjectAltName={','.join(f'DNS:{name}' for name in names)}"]  # fmt: skip
    place = ["-out", str(files[0]), "-keyout", str(files[1])]
    subprocess.run(["openssl", *words.split(), *subject, *place], check=True, capture_output=True)
    return Certificate(*map(str, files))


@contextmanager
def secured(door: Door, folder: Path) -> Iterator[ssl.SSLSocket]:
    trusting = ssl.create_default_context(cafile=folder / "certificate.pem")
    with (
        door.caller() as connection,
        trusting.wrap_socket(connection, server_hostname="sluice.test") as agreed,
    ):
        yield agreed


@pytest.fixture
def tls_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    monkeypatch.setattr(Loop, "certificate", make_certificate(tmp_path, "sluice.test"))
    with Door() as running:
        yield running


def test_server_with_a_certificate_speaks_https(tls_door: Door, tmp_path: Path) -> None:
    with secured(tls_door, tmp_path) as connection:
        for _ in range(2):
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert is_answered(connection)
    assert tls_door.application.schemes == {"https"}


def test_deadline_of_a_head_holds_within_tls(tls_door: Door, tmp_path: Path) -> None:
    with secured(tls_door, tmp_path) as connection:
        connection.sendall(b"GET / HT")
        assert received(connection) == CLOSED


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01"])
def test_who_agrees_on_no_tls_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(Loop, "certificate", make_certificate(tmp_path, "sluice.test"))
    monkeypatch.setattr(Loop, "handshake_s", 0.5)
    with Door() as door, door.caller() as connection:
        takes(connection, said)
        while some := received(connection):
            assert not some.startswith(b"HTTP/1.1 200")


def test_renewed_certificate_is_used_from_the_next_connection_on(
    tls_door: Door, tmp_path: Path
) -> None:
    with secured(tls_door, tmp_path) as connection:
        before = connection.getpeercert(binary_form=True)
        make_certificate(tmp_path, "sluice.test")
        with secured(tls_door, tmp_path) as second:
            assert second.getpeercert(binary_form=True) != before
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert is_answered(connection)


@pytest.mark.parametrize("left", [b"", b"no certificate"])
def test_former_certificate_goes_on_where_the_new_file_is_of_no_use(
    tls_door: Door, tmp_path: Path, left: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    trusting = ssl.create_default_context(cafile=tmp_path / "certificate.pem")
    (tmp_path / "certificate.pem").write_bytes(left)

    with tls_door.caller() as connection:
        trusting.wrap_socket(connection, server_hostname="sluice.test").close()
    assert "the former one" in caplog.text


def test_files_that_are_no_certificate_are_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("nothing")

    with pytest.raises(SettingError, match=r"SLUICE_TLS_KEY.* cannot be used"):
        Certificate(str(tmp_path / "a"), str(tmp_path / "a"))
    with pytest.raises(SettingError, match="No such file"):
        Certificate(str(tmp_path / "b"), str(tmp_path / "a"))


def test_certificate_without_its_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_TLS_CERTIFICATE", "/etc/sluice/certificate.pem")

    with pytest.raises(SettingError, match="together"):
        Certificate.of_environment()


# --- The product's own server -----------------------------------------------------------------

FORM = (
    b"POST /login/ HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n"
)
SAMPLES = (
    b"POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Token %s\r\n"
    b"Content-Type: application/x-protobuf\r\nContent-Length: 900\r\n\r\ndiskio,"
)
SLOW = {
    "silent": b"",
    "a part of a head": b"POST /login/ HTTP/1.1\r\nHost: a\r\nX-A: ",
    "a part of a form": FORM + b"Content-Length: 900\r\n\r\nusername=",
    "a part of chunks": FORM + b"Transfer-Encoding: chunked\r\n\r\n4\r\nuse",
    "pages that nobody takes": 200 * b"GET /login/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


@pytest.fixture
def product(transactional_db: None, tmp_path: Path) -> Iterator[Product]:
    tenant = make_tenant()
    server = WebServer(tmp_path)
    server.start()
    try:
        with ExitStack() as held:
            yield Product(server.port, tenant.secret.encode(), held)
    finally:
        server.stop()


class Product:
    """The product's own server, and connections to it that are held until the test ends."""

    def __init__(self, port: int, token: bytes, held: ExitStack) -> None:
        self.port, self._token, self._held = port, token, held

    def hold(self, said: bytes) -> socket.socket:
        connection = self._held.enter_context(socket.socket())
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(20)
        connection.connect(("127.0.0.1", self.port))
        connection.sendall(said)
        return connection

    def hold_samples(self, path: str) -> socket.socket:
        """A part of a body of samples, by whoever has a token."""
        return self.hold(SAMPLES % (path.encode(), self._token))


@pytest.mark.postgres
def test_pages_are_answered_beside_clients_that_are_slow_in_every_way(product: Product) -> None:
    for said in SLOW.values():
        for _ in range(40):
            product.hold(said)
    time.sleep(1.0)

    assert all(took_s < 5.0 for took_s in seconds_of_pages(product.port))


@pytest.mark.postgres
@pytest.mark.parametrize("path", SAMPLE_PATHS)
def test_pages_are_answered_beside_samples_that_come_slowly(product: Product, path: str) -> None:
    for _ in range(40):
        product.hold_samples(path)
    time.sleep(1.0)

    assert all(took_s < 5.0 for took_s in seconds_of_pages(product.port))


@pytest.mark.postgres
@pytest.mark.parametrize("path", ["/api/v2/write", "/write"])
def test_token_has_a_limited_number_of_slow_bodies(product: Product, path: str) -> None:
    slow = [product.hold_samples(path) for _ in range(MOST_SLOW_OF_ONE + 1)]
    time.sleep(SLOW_AFTER_S + 2.0)

    for connection in slow:
        connection.sendall(b"h")

    beyond, _, _ = select.select(slow, [], [], 20.0)
    (refused,) = beyond
    answer = received(refused).lower()
    assert answer.startswith(b"http/1.1 503")
    assert b"retry-after: 10" in answer


def seconds_of_pages(port: int) -> list[float]:
    return [seconds_to_answer(port, path) for path in (b"/ping", b"/health", b"/login/")]


def seconds_to_answer(port: int, path: bytes) -> float:
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path)
        assert connection.recv(100).startswith(b"HTTP/1.1 2")
    return time.monotonic() - began


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_answer_over_tls_tells_browsers_to_stay_there(tmp_path: Path) -> None:
    make_certificate(tmp_path, "localhost")
    server = WebServer(
        tmp_path,
        SLUICE_TLS_CERTIFICATE=str(tmp_path / "certificate.pem"),
        SLUICE_TLS_KEY=str(tmp_path / "key.pem"),
    )
    server.start()
    try:
        trusting = ssl.create_default_context(cafile=tmp_path / "certificate.pem")
        conversation = http.client.HTTPSConnection("localhost", server.port, context=trusting)
        conversation.request("GET", "/login/")
        answer = conversation.getresponse()
        conversation.close()
    finally:
        server.stop()

    assert answer.status == 200
    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
