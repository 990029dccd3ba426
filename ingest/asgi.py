"""What an ASGI server and an application say to each other (ASGI 3, HTTP), as far as we use it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

ServerScope = Mapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[ServerScope, Receive, Send], Awaitable[None]]
Headers = Mapping[bytes, bytes]

LONGEST_PAUSE_S = 60.0
"""Between two parts of a body."""


class ClientGoneError(OSError):
    """The sender went away, or sent something that is no HTTP, before its body was whole."""


class SenderStandsStillError(ClientGoneError):
    """The sender is there, and nothing of its body came for a long while."""


async def next_part(receive: Receive) -> tuple[bytes, bool]:
    """The next part of a body, and whether more follows; raises `ClientGoneError`.

    A body that was cut off must never pass for a whole one: a good line may end in half a number.
    """
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGoneError("the sender is gone")
    return message.get("body", b""), message.get("more_body", False)


def within_time(application: Application) -> Application:
    """Wraps an application so that who stands still in a body is not waited for without end."""

    async def call(scope: ServerScope, receive: Receive, send: Send) -> None:
        async def receive_in_time() -> MutableMapping[str, Any]:
            try:
                async with asyncio.timeout(LONGEST_PAUSE_S):
                    return await receive()
            except TimeoutError:
                raise SenderStandsStillError("nothing of the body came for a minute") from None

        await application(scope, receive_in_time, send)

    return call


def marked_ends(application: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a WSGI application: an ASGI server ends the input where the body ends."""

    def call(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        return application({**environ, "wsgi.input_terminated": True}, start_response)

    return call
