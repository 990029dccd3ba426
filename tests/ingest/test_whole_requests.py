"""A request reaches a thread when its body is there."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest import slow_bodies, turns, whole_requests
from ingest.asgi import SenderStandsStillError
from ingest.whole_requests import IN_MEMORY_BYTES, Apart, Room, WholeRequests
from ingest.write_app import OWNER

LONGEST = 4 * IN_MEMORY_BYTES
Part = bytes | Exception | None


class Behind:
    """The application behind the layer: what it was given, whole."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.raises: Exception | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = bytearray(), True
        while more:
            message = await receive()
            body += message["body"]
            more = message["more_body"]
        self.bodies.append(bytes(body))
        assert (await receive())["type"] == "http.disconnect"
        if self.raises:
            raise self.raises
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def asked(
    layer: WholeRequests,
    *parts: Part,
    last: bool = True,
    path: str = "/",
    owner: int | None = None,
) -> tuple[int | None, dict[Any, Any]]:
    """Status and headers of the answer to a body in these parts; None is a sender gone."""
    left, sent = list(parts), []

    async def receive() -> dict[str, Any]:
        part = left.pop(0)
        if isinstance(part, Exception):
            raise part
        if part is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": part, "more_body": bool(left) or not last}

    async def send(message: Any) -> None:
        sent.append(message)

    scope: dict[str, Any] = {"type": "http", "path": path}
    if owner is not None:
        scope[OWNER] = owner
    asyncio.run(layer(scope, receive, send))
    if not sent:
        return None, {}
    return sent[0]["status"], dict(sent[0]["headers"])


@given(st.lists(st.binary(max_size=3 * IN_MEMORY_BYTES // 2), min_size=1, max_size=4))
def test_body_arrives_as_it_was_sent(parts: list[bytes]) -> None:
    behind, room = Behind(), Room()
    layer = WholeRequests(behind, longest_bytes=8 * IN_MEMORY_BYTES, threads=8, room=room)

    status, _ = asked(layer, *parts)

    assert status == 200
    (body,) = behind.bodies
    assert hashlib.sha256(body).digest() == hashlib.sha256(b"".join(parts)).digest()
    assert room.taken == 0


@pytest.mark.parametrize("cut", [[b"half", None], [None], [b"", b"x" * 2 * IN_MEMORY_BYTES, None]])
def test_body_that_is_cut_off_reaches_nobody(cut: list[Part]) -> None:
    behind, room = Behind(), Room()

    status, _ = asked(WholeRequests(behind, longest_bytes=LONGEST, threads=8, room=room), *cut)

    assert status is None
    assert behind.bodies == []
    assert room.taken == 0


def test_sender_who_stands_still_is_told() -> None:
    behind = Behind()
    layer = WholeRequests(behind, longest_bytes=LONGEST, threads=8)

    status, headers = asked(layer, b"half", SenderStandsStillError("nothing came for a minute"))

    assert (status, headers[b"connection"], behind.bodies) == (408, b"close", [])


def test_body_that_comes_too_slowly_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    behind, clock = Behind(), iter(range(0, 1000, 10))
    monkeypatch.setattr(slow_bodies.time, "monotonic", lambda: float(next(clock)))
    layer = WholeRequests(behind, longest_bytes=LONGEST, threads=8)

    status, _ = asked(layer, *[b"x" * 100] * 50)

    assert (status, behind.bodies) == (408, [])


def test_body_that_comes_slowly_but_fast_enough_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    behind, clock = Behind(), iter(range(0, 1000, 10))
    monkeypatch.setattr(slow_bodies.time, "monotonic", lambda: float(next(clock)))
    layer = WholeRequests(behind, longest_bytes=64 * LONGEST, threads=8)

    status, _ = asked(layer, *[b"x" * 10 * slow_bodies.LEAST_BYTES_PER_S] * 50)

    assert status == 200
    assert len(behind.bodies[0]) == 500 * slow_bodies.LEAST_BYTES_PER_S


def test_longer_body_than_any_is_refused_before_its_end() -> None:
    behind, room = Behind(), Room()
    layer = WholeRequests(behind, longest_bytes=LONGEST, threads=8, room=room)

    status, headers = asked(layer, *[b"x" * IN_MEMORY_BYTES] * 5, b"", last=False)

    assert (status, headers[b"connection"]) == (413, b"close")
    assert behind.bodies == []
    assert room.taken == 0


def test_long_bodies_have_room_together_and_short_ones_always() -> None:
    behind, room = Behind(), Room(most=2 * IN_MEMORY_BYTES, taken=2 * IN_MEMORY_BYTES)
    layer = WholeRequests(behind, longest_bytes=LONGEST, threads=8, room=room)

    status, headers = asked(layer, b"x" * IN_MEMORY_BYTES, b"x")
    assert (status, headers[b"retry-after"]) == (503, b"10")
    assert asked(layer, b"x" * (IN_MEMORY_BYTES - 1), b"x")[0] == 200
    assert room.taken == 2 * IN_MEMORY_BYTES


def test_disk_without_room_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class FullFile:
        def write(self, part: bytes) -> None:
            raise OSError(28, "No space left on device")

        def close(self) -> None: ...

    monkeypatch.setattr(whole_requests, "SpooledTemporaryFile", lambda max_size: FullFile())
    behind = Behind()

    status, _ = asked(WholeRequests(behind, longest_bytes=LONGEST, threads=8), b"a", b"b")

    assert (status, behind.bodies) == (503, [])


def test_error_of_the_application_is_its_own() -> None:
    behind, room = Behind(), Room()
    behind.raises = RuntimeError("of the page")

    layer = WholeRequests(behind, longest_bytes=LONGEST, threads=8, room=room)
    with pytest.raises(RuntimeError, match="of the page"):
        asked(layer, b"x" * LONGEST, b"")
    assert room.taken == 0


def test_senders_who_drop_what_is_answered_408_are_told_to_come_again() -> None:
    behind = Behind()
    layer = WholeRequests(behind, longest_bytes=LONGEST, threads=8, apart=[apart("/write")])
    stands_still = SenderStandsStillError("nothing came for a minute")

    status, headers = asked(layer, b"half", stands_still, path="/write")

    assert (status, headers[b"retry-after"], behind.bodies) == (503, b"10", [])
    assert asked(layer, b"half", stands_still, path="/other")[0] == 408


def test_requests_that_are_kept_apart_have_room_of_their_own() -> None:
    full, free = Room(most=IN_MEMORY_BYTES, taken=IN_MEMORY_BYTES), Room()
    layer = WholeRequests(
        Behind(), longest_bytes=LONGEST, threads=8, room=full, apart=[apart("/write", room=free)]
    )
    long = [b"x" * IN_MEMORY_BYTES, b"x"]

    assert asked(layer, *long, path="/write")[0] == 200
    assert asked(layer, *long, path="/other")[0] == 503


def test_one_organisation_leaves_half_of_the_room_to_others() -> None:
    room = Room(most=4 * IN_MEMORY_BYTES)
    layer = WholeRequests(Behind(), longest_bytes=LONGEST, threads=8, room=room)
    long = [b"x" * IN_MEMORY_BYTES, b"x"]
    # One body of it comes slowly.
    room.take(2 * IN_MEMORY_BYTES - 1, 1)

    assert asked(layer, *long, owner=1)[0] == 503
    assert asked(layer, *long, owner=2)[0] == 200
    assert asked(layer, *long)[0] == 200
    assert (room.taken, dict(room.of)) == (2 * IN_MEMORY_BYTES - 1, {1: 2 * IN_MEMORY_BYTES - 1})


def apart(begin: str, *, threads: int = 1, room: Room | None = None) -> Apart:
    return Apart(
        begins=(begin,),
        threads=threads,
        longest_bytes=LONGEST,
        room=room or Room(),
        are_sent_again=True,
    )


def test_request_whose_sender_went_while_it_waited_for_a_thread_is_left() -> None:
    behind, gone, free = Behind(), asyncio.Event(), asyncio.Event()

    async def held(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/slow":
            await free.wait()
        await behind(scope, receive, send)

    async def scenario() -> None:
        layer = WholeRequests(held, longest_bytes=LONGEST, threads=1)
        asked = [
            asyncio.create_task(_ask_at(layer, path, gone)) for path in ("/slow", "/left", "/kept")
        ]
        await asyncio.sleep(0.01)
        gone.set()
        assert await asked[1] == []
        free.set()
        assert await asked[0] == await asked[2] == [200]

    asyncio.run(asyncio.wait_for(scenario(), 10.0))

    assert behind.bodies == [b"/slow", b"/kept"]


def test_who_waits_too_long_for_a_thread_is_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = {**turns.Turns.__init__.__kwdefaults__, "longest_wait_s": 0.01}
    monkeypatch.setattr(turns.Turns.__init__, "__kwdefaults__", defaults)
    free = asyncio.Event()

    async def held(scope: Any, receive: Any, send: Any) -> None:
        await free.wait()

    async def scenario() -> None:
        layer = WholeRequests(held, longest_bytes=LONGEST, threads=1)
        first = asyncio.create_task(_ask_at(layer, "/slow", asyncio.Event()))
        await asyncio.sleep(0)
        assert await _ask_at(layer, "/kept", asyncio.Event()) == [503]
        free.set()
        await first

    asyncio.run(asyncio.wait_for(scenario(), 10.0))


def test_who_asks_whether_it_lives_waits_for_no_thread() -> None:
    behind, free = Behind(), asyncio.Event()

    async def held(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/slow":
            await free.wait()
        await behind(scope, receive, send)

    async def scenario() -> None:
        layer = WholeRequests(held, longest_bytes=LONGEST, threads=1, out_of_turn=["/ping"])
        slow = asyncio.create_task(_ask_at(layer, "/slow", asyncio.Event()))
        await asyncio.sleep(0)
        assert await _ask_at(layer, "/ping", asyncio.Event()) == [200]
        free.set()
        await slow

    asyncio.run(asyncio.wait_for(scenario(), 10.0))

    assert behind.bodies == [b"/ping", b"/slow"]


def test_requests_that_are_kept_apart_and_all_others_do_not_wait_for_each_other() -> None:
    behind, free = Behind(), asyncio.Event()

    async def held(scope: Any, receive: Any, send: Any) -> None:
        if scope["path"].endswith("/slow"):
            await free.wait()
        await behind(scope, receive, send)

    async def scenario() -> None:
        layer = WholeRequests(held, longest_bytes=LONGEST, threads=1, apart=[apart("/agents/")])
        nobody = asyncio.Event()
        slow = asyncio.create_task(_ask_at(layer, "/agents/slow", nobody))
        waits = asyncio.create_task(_ask_at(layer, "/agents/next", nobody))
        await asyncio.sleep(0)
        assert await _ask_at(layer, "/page", nobody) == [200]
        other = asyncio.create_task(_ask_at(layer, "/slow", nobody))
        await asyncio.sleep(0.01)
        assert not waits.done()
        free.set()
        await asyncio.gather(slow, waits, other)

    asyncio.run(asyncio.wait_for(scenario(), 10.0))

    assert behind.bodies[0] == b"/page"
    assert sorted(behind.bodies) == [b"/agents/next", b"/agents/slow", b"/page", b"/slow"]


async def _ask_at(layer: WholeRequests, path: str, gone: asyncio.Event) -> list[int]:
    """The status of the answer to a body that has come; of `/left` the sender may be gone."""
    sent: list[int] = []
    parts = [{"type": "http.request", "body": path.encode(), "more_body": False}]

    async def receive() -> dict[str, Any]:
        if parts:
            return parts.pop()
        await (gone if path == "/left" else asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            sent.append(message["status"])

    await layer({"type": "http", "path": path}, receive, send)
    return sent
