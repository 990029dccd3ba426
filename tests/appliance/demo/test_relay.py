"""The relay between a namespace's loopback and the web server's unix socket."""

import asyncio
import contextlib
import socket
import tempfile
from pathlib import Path

import pytest

from appliance.demo.relay import relay


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


async def talk(port: int, said: bytes) -> bytes:
    deadline = asyncio.get_running_loop().time() + 5
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            break
        except ConnectionRefusedError:
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.02)
    writer.write(said)
    writer.write_eof()
    heard = await reader.read()
    writer.close()
    return heard


@contextlib.asynccontextmanager
async def running_relay(far: Path):
    port = free_port()
    task = asyncio.create_task(relay(port, far))
    try:
        yield port
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@pytest.fixture
def far_socket():
    # A short path: unix sockets allow 107 bytes.
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        yield Path(folder) / "web.sock"


def test_relay_carries_both_directions(far_socket):
    async def echo_reversed(reader, writer):
        writer.write((await reader.read())[::-1])
        writer.close()

    async def scenario():
        server = await asyncio.start_unix_server(echo_reversed, far_socket)
        async with server, running_relay(far_socket) as port:
            return await talk(port, b"x" * 300_000 + b"end")

    assert asyncio.run(scenario()) == b"dne" + b"x" * 300_000


def test_relay_closes_when_there_is_no_server(far_socket):
    async def scenario():
        async with running_relay(far_socket) as port:
            return await talk(port, b"")

    assert asyncio.run(scenario()) == b""
