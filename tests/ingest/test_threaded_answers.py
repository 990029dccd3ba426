"""An answer arrives whole and in order, however large its parts are, at its client's pace."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.threaded_answers import AT_ONCE, AT_ONCE_BYTES, ThreadedAnswers

SCOPE = {
    "type": "http", "http_version": "1.1", "method": "GET", "path": "/", "query_string": b"",
    "headers": [],
}  # fmt: skip


def answered(application: Any, *, slowly: bool = False) -> tuple[int, bytes]:
    """Status and body of what the application answers."""
    layer, sent = ThreadedAnswers(application, workers=1), []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        if slowly:
            await asyncio.sleep(0.001)
        sent.append(message)

    async def ask() -> None:
        await asyncio.wait_for(layer(SCOPE, receive, send), 30.0)

    asyncio.run(ask())
    start, *parts = sent
    assert [part["type"] for part in parts] == ["http.response.body"] * len(parts)
    assert [part.get("more_body", False) for part in parts] == [True] * (len(parts) - 1) + [False]
    return start["status"], b"".join(part["body"] for part in parts)


@given(sizes=st.lists(st.integers(0, AT_ONCE_BYTES), max_size=3 * AT_ONCE), slowly=st.booleans())
def test_parts_arrive_in_order(sizes: list[int], slowly: bool) -> None:
    parts = [bytes([place % 256]) * size for place, size in enumerate(sizes)]

    def application(_environ: Any, start_response: Any) -> list[bytes]:
        start_response("203 OK", [("Content-Type", "text/plain")])
        return parts

    assert answered(application, slowly=slowly) == (203, b"".join(parts))


def test_small_answer_is_handed_over_without_waiting_for_the_event_loop() -> None:
    """The loop stands still until the thread is through."""
    through = threading.Event()

    def application(_environ: Any, start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [])
        yield b"page"

    class Iterated:
        def __init__(self, *given: Any) -> None:
            self._parts = application(*given)

        def __iter__(self) -> Iterator[bytes]:
            return self._parts

        def close(self) -> None:
            through.set()

    layer, sent = ThreadedAnswers(Iterated, workers=1), []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    async def ask() -> None:
        asked = asyncio.create_task(layer(SCOPE, receive, send))
        while not sent and not through.is_set():
            await asyncio.sleep(0)
            assert through.wait(5.0)
        await asked

    asyncio.run(asyncio.wait_for(ask(), 30.0))

    assert [one.get("body") for one in sent] == [None, b"page", b""]


def test_large_answer_waits_for_its_client() -> None:
    """A part that nobody takes is not followed by all others."""
    made: list[int] = []

    def application(_environ: Any, start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [])
        for place in range(100):
            made.append(place)
            yield b"x" * 64 * 1024

    async def scenario() -> None:
        taken = asyncio.Event()
        layer = ThreadedAnswers(application, workers=1)

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            await taken.wait()

        asked = asyncio.create_task(layer(SCOPE, receive, send))
        await asyncio.sleep(0.3)
        assert 1 < len(made) < 30
        taken.set()
        await asked

    asyncio.run(asyncio.wait_for(scenario(), 30.0))

    assert len(made) == 100


def test_error_of_the_application_is_raised() -> None:
    def application(_environ: Any, start_response: Any) -> list[bytes]:
        raise RuntimeError("of the page")

    with pytest.raises(RuntimeError, match="of the page"):
        answered(application)
