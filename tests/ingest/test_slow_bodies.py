"""Bodies of samples may come slowly, but not for ever, and not many of one sender at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, MutableMapping
from contextlib import ExitStack
from typing import Any

import pytest

from ingest import slow_bodies
from ingest.slow_bodies import (
    GRACE_S,
    LEAST_BYTES_PER_S,
    LONGEST_S,
    SLOW_AFTER_S,
    SenderTooSlowError,
    SlowBodies,
    TooManySlowError,
)


class Clock:
    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(slow_bodies, "time", clock)
    return clock


@pytest.fixture
def held() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


class Sender:
    """A body that is watched; `sends` is one more part of it."""

    def __init__(self, bodies: SlowBodies, held: ExitStack, owner: str = "token") -> None:
        self._message: dict[str, Any] = {}
        self._receive = held.enter_context(bodies.watched(owner, self._next))

    async def _next(self) -> MutableMapping[str, Any]:
        return self._message

    def sends(self, size_bytes: int, *, more: bool = True) -> int:
        self._message = {"type": "http.request", "body": b"x" * size_bytes, "more_body": more}
        return len(asyncio.run(self._receive())["body"])

    def goes(self) -> None:
        self._message = {"type": "http.disconnect"}
        asyncio.run(self._receive())


def test_body_that_drips_is_given_up_after_the_grace(clock: Clock, held: ExitStack) -> None:
    sender = Sender(SlowBodies(), held)

    clock.now_s = GRACE_S
    assert sender.sends(1) == 1
    clock.now_s = GRACE_S + 1
    with pytest.raises(SenderTooSlowError):
        sender.sends(1)


def test_body_on_a_slow_line_arrives(clock: Clock, held: ExitStack) -> None:
    sender = Sender(SlowBodies(), held)

    for _ in range(9):
        clock.now_s += 60
        assert sender.sends(60 * LEAST_BYTES_PER_S)
    assert sender.sends(1, more=False) == 1


def test_body_that_comes_for_ever_is_given_up(clock: Clock, held: ExitStack) -> None:
    sender = Sender(SlowBodies(), held)
    sender.sends(int(2 * LONGEST_S) * LEAST_BYTES_PER_S)

    clock.now_s = LONGEST_S
    assert sender.sends(1)
    clock.now_s = LONGEST_S + 1
    with pytest.raises(SenderTooSlowError):
        sender.sends(1)


def test_slow_bodies_of_one_token_are_limited(clock: Clock, held: ExitStack) -> None:
    bodies = SlowBodies(most_of_one=2)
    first, second, third = (Sender(bodies, held) for _ in range(3))
    other = Sender(bodies, held, owner="another token")

    clock.now_s = SLOW_AFTER_S + 1
    for sender in (first, second, first, second, other):
        assert sender.sends(1) == 1
    with pytest.raises(TooManySlowError, match="2 slow bodies"):
        third.sends(1)


@pytest.mark.parametrize("end", ["whole", "gone", "given up"])
def test_slow_body_that_ended_makes_room(clock: Clock, held: ExitStack, end: str) -> None:
    bodies = SlowBodies(most_of_one=1)
    with ExitStack() as own:
        first, second = Sender(bodies, own), Sender(bodies, held)
        clock.now_s = SLOW_AFTER_S + 1
        first.sends(1)
        if end == "whole":
            first.sends(1, more=False)
        elif end == "gone":
            first.goes()

    assert second.sends(1) == 1
    assert bodies.of == {"token": 1}


def test_bodies_that_come_at_once_are_not_counted(clock: Clock, held: ExitStack) -> None:
    bodies = SlowBodies(most_of_one=1)
    senders = [Sender(bodies, held) for _ in range(1000)]

    clock.now_s = SLOW_AFTER_S
    assert all(sender.sends(1) for sender in senders)
    assert not bodies.of
