"""Bodies on the wire, sent through raw sockets to the real web server."""

import gzip
import itertools
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.config.echo import LIMIT_BYTES

LINE = b"diskio,host=h1,name=vda reads=1i,writes=2i 1795167781000000000\n"
DEADLINE_S = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


def chunked(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (*parts, b""))


def read_answer(stream: BinaryIO) -> Answer:
    """One answer with its Content-Length; status 0 when the server only closed."""
    status_line = stream.readline()
    if not status_line:
        return Answer(0, {}, b"")
    headers = {}
    while line := stream.readline().strip():
        name, value = line.decode().split(": ", 1)
        headers[name.lower()] = value
    body = stream.read(int(headers.get("content-length", 0)))
    return Answer(int(status_line.split()[1]), headers, body)


@contextmanager
def connected(path: Path) -> Iterator[tuple[socket.socket, BinaryIO]]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(DEADLINE_S)
        connection.connect(str(path))
        with connection.makefile("rb") as stream:
            yield connection, stream


def exchange(path: Path, message: bytes, *, close_early: bool = False) -> Answer:
    with connected(path) as (connection, stream):
        connection.sendall(message)
        if close_early:
            connection.shutdown(socket.SHUT_WR)
        return read_answer(stream)


def request(body: bytes, *headers: str) -> bytes:
    lines = ["POST /api/v2/write HTTP/1.1", "Host: localhost", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def chunked_request(*parts: bytes, headers: tuple[str, ...] = ()) -> bytes:
    return request(chunked(*parts), "Transfer-Encoding: chunked", *headers)


@contextmanager
def web_server(application: str, path: Path) -> Iterator[Path]:
    command = [sys.executable, "-m", "uvicorn", f"tests.config.echo:{application}"]
    options = ["--uds", str(path), "--http=httptools", "--lifespan=off"]
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        [*command, *options], cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        deadline = time.monotonic() + DEADLINE_S
        while not accepts(path):
            assert process.poll() is None, process.stderr.read().decode()
            assert time.monotonic() < deadline, "the web server did not listen"
            time.sleep(0.05)
        yield path
    finally:
        process.terminate()
        process.communicate()


def accepts(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(path))
        except OSError:
            return False
        return True


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with web_server("wrapped", tmp_path_factory.mktemp("web") / "s") as path:
        yield path


def test_chunked_body_is_lost_without_the_layer(tmp_path):
    # The reason for the layer: when this fails, Django has learnt to read chunked bodies.
    with web_server("bare", tmp_path / "s") as path:
        answer = exchange(path, chunked_request(LINE))

    assert (answer.status, answer.body) == (200, b"")


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((LINE,), id="one chunk"),
        pytest.param((LINE[:1], LINE[1:7], LINE[7:]), id="three chunks"),
        pytest.param(tuple(bytes([b]) for b in LINE), id="a byte per chunk"),
        pytest.param((LINE * 1000,), id="larger than one read"),
    ],
)
def test_chunked_body_arrives_whole(server, parts):
    answer = exchange(server, chunked_request(*parts))

    assert (answer.status, answer.body) == (200, b"".join(parts))


def test_gzip_chunked_body_arrives_as_sent(server):
    body = gzip.compress(LINE * 500)
    halves = (body[: len(body) // 2], body[len(body) // 2 :])

    answer = exchange(server, chunked_request(*halves, headers=("Content-Encoding: gzip",)))

    assert gzip.decompress(answer.body) == LINE * 500


def test_chunked_body_sent_in_many_packets_arrives_whole(server):
    message = chunked_request(LINE, LINE)

    with connected(server) as (connection, stream):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        for byte in message:
            connection.sendall(bytes([byte]))
        answer = read_answer(stream)

    assert answer.body == LINE + LINE


def test_body_with_a_length_arrives_whole(server):
    answer = exchange(server, request(LINE, f"Content-Length: {len(LINE)}"))

    assert (answer.status, answer.body) == (200, LINE)


def test_empty_chunked_body_has_length_zero(server):
    answer = exchange(server, chunked_request())

    assert (answer.status, answer.body) == (200, b"")


def test_next_request_on_the_connection_is_read_from_its_start(server):
    with connected(server) as (connection, stream):
        connection.sendall(chunked_request(b"first"))
        first = read_answer(stream)
        connection.sendall(chunked_request(b"second"))
        second = read_answer(stream)

    assert (first.body, second.body) == (b"first", b"second")


def with_length(body: bytes) -> bytes:
    return request(body, f"Content-Length: {len(body)}")


FRAMINGS = [pytest.param(chunked_request, id="chunked"), pytest.param(with_length, id="length")]


@pytest.mark.parametrize("framed", FRAMINGS)
@pytest.mark.parametrize(
    ("size", "status"),
    [
        pytest.param(LIMIT_BYTES, 200, id="at the limit"),
        pytest.param(LIMIT_BYTES + 1, 413, id="one byte above"),
        pytest.param(50 * LIMIT_BYTES, 413, id="far above"),
    ],
)
def test_size_limit_is_answered_413_above_it(
    server, framed: Callable[[bytes], bytes], size: int, status: int
):
    answer = exchange(server, framed(b"x" * size))

    assert answer.status == status


def test_413_says_the_limit_as_json(server):
    answer = exchange(server, chunked_request(b"x" * (LIMIT_BYTES + 1)))

    told = json.loads(answer.body)
    assert told["code"] == "request too large"
    assert str(LIMIT_BYTES) in told["message"]


@pytest.mark.parametrize(
    "cut",
    [
        pytest.param(10, id="inside the chunk"),
        pytest.param(-5, id="before the last chunk"),
        pytest.param(-1, id="inside the last line end"),
    ],
)
def test_truncated_chunked_body_is_never_accepted(server, cut):
    head, _, body = chunked_request(LINE).partition(b"\r\n\r\n")

    answer = exchange(server, head + b"\r\n\r\n" + body[:cut], close_early=True)

    assert not 200 <= answer.status < 300


def test_malformed_chunk_size_is_never_accepted(server):
    message = request(b"zz\r\nabc\r\n0\r\n\r\n", "Transfer-Encoding: chunked")

    answer = exchange(server, message)

    assert not 200 <= answer.status < 300


def test_every_split_into_two_chunks_gives_the_same_body(server):
    body = LINE[:24]

    answers = [
        exchange(server, chunked_request(body[:at], body[at:])).body for at in range(1, len(body))
    ]

    assert [body for body, _ in itertools.groupby(answers)] == [body]
