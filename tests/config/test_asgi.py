"""Who is taken to have come by HTTPS: a proxy that is trusted, and the machine's own socket."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from config.asgi import trusted_socket
from ingest.asgi import Receive, Send, ServerScope

SAYS_HTTPS = [(b"x-forwarded-proto", b"https")]


def scheme_of(**scope: Any) -> str:
    seen = []

    async def application(scope: ServerScope, _receive: Receive, _send: Send) -> None:
        seen.append(scope["scheme"])

    async def nothing(*_: Any) -> Any:
        raise AssertionError

    scope = {"type": "http", "scheme": "http", "headers": [], **scope}
    asyncio.run(trusted_socket(application)(scope, nothing, nothing))
    return seen[0]


@pytest.mark.parametrize(
    ("client", "headers", "scheme"),
    [
        (None, SAYS_HTTPS, "https"),
        (None, [], "http"),
        (("192.0.2.7", 40000), SAYS_HTTPS, "http"),
    ],
)
def test_socket_of_the_machine_alone_is_believed(
    client: tuple[str, int] | None, headers: list[tuple[bytes, bytes]], scheme: str
) -> None:
    assert scheme_of(client=client, headers=headers) == scheme
