"""Carries connections from a loopback port of this namespace to the web server's unix socket.

Run as a program inside the hypervisor's namespace: `relay.py PORT SOCKET`. A unix socket is
reached by its path, whatever the network namespace, so the host of the demo needs no network
to the service beside the one under test.
"""

import asyncio
import contextlib
import sys
from pathlib import Path

BLOCK_BYTES = 64 * 1024


async def relay(port: int, socket: Path) -> None:
    """Listen on 127.0.0.1 and join every connection to the socket until cancelled."""

    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_unix_connection(socket)
        except OSError:
            # The near side sees a closed connection, as it would without a relay.
            writer.close()
            return
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        for end in (far_writer, writer):
            end.close()

    server = await asyncio.start_server(join, "127.0.0.1", port)
    async with server:
        await server.serve_forever()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while block := await reader.read(BLOCK_BYTES):
            writer.write(block)
            await writer.drain()
        # Half-closing tells the far side that no more comes, while it may still answer.
        writer.write_eof()


if __name__ == "__main__":
    asyncio.run(relay(int(sys.argv[1]), Path(sys.argv[2])))
