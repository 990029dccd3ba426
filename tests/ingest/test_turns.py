"""Who waits for a thread has its turn, and loses it by going away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.asgi import ClientGoneError
from ingest.turns import NoTurnError, Turns


class Sender:
    """One whose body is there; it goes away when it is told to."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}


def played(scenario: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 10.0))


async def settled() -> None:
    """All that can go on has gone on."""
    for _ in range(20):
        await asyncio.sleep(0)


class Door:
    """Senders at `at_once` turns: who was served, in order, and who went away before."""

    def __init__(self, at_once: int, *, long_wait_s: float) -> None:
        self.turns = Turns(at_once, long_wait_s=long_wait_s)
        self.served: list[int] = []
        self.gone: list[int] = []
        self.waiting: list[tuple[int, Sender]] = []
        self.within: dict[int, asyncio.Event] = {}
        self.tasks: list[asyncio.Task[None]] = []

    def come(self, number: int) -> None:
        sender = Sender()
        self.waiting.append((number, sender))
        self.tasks.append(asyncio.create_task(self._ask(number, sender)))

    def leave(self, which: int) -> list[int]:
        """Who leaves; nobody where nobody waits."""
        if not self.waiting:
            return []
        number, sender = self.waiting.pop(which % len(self.waiting))
        sender.gone.set()
        return [number]

    def end(self) -> None:
        """Whoever has had a turn for longest ends it."""
        if self.within:
            self.within.pop(next(iter(self.within))).set()

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _ask(self, number: int, sender: Sender) -> None:
        try:
            async with self.turns.turn(sender.receive):
                self.served.append(number)
                self.within[number] = asyncio.Event()
                await self.within[number].wait()
        except ClientGoneError:
            self.gone.append(number)


STEPS = st.lists(st.tuples(st.sampled_from(["come", "leave", "end"]), st.integers(0, 7)))


@given(at_once=st.integers(1, 3), steps=STEPS, is_long=st.booleans())
def test_next_turn_is_of_the_first_who_is_still_there_or_of_the_newest_while_that_takes_long(
    at_once: int, steps: list[tuple[str, int]], *, is_long: bool
) -> None:
    async def scenario() -> None:
        door = Door(at_once, long_wait_s=-1.0 if is_long else 60.0)
        expected, left = [], []
        for number, (step, which) in enumerate(steps):
            if step == "come":
                door.come(number)
            elif step == "leave":
                left += door.leave(which)
            else:
                door.end()
            await settled()
            ended = len(door.served) - len(door.within)
            while door.waiting and len(expected) - ended < at_once:
                expected.append(door.waiting.pop(-1 if is_long else 0)[0])
            assert (door.served, door.gone) == (expected, left)
        await door.close()
        # Whoever was cut off, all turns are free again.
        for _ in range(at_once):
            await door.turns.turn().__aenter__()
        assert door.turns._free == 0

    played(scenario)


def test_queue_that_was_long_is_in_order_again_once_who_waited_for_long_is_served() -> None:
    async def scenario() -> None:
        door = Door(1, long_wait_s=0.05)
        for number in range(3):
            door.come(number)
        await asyncio.sleep(0.1)
        for number in (3, 4):
            door.come(number)
        for _ in range(4):
            await settled()
            door.end()
        await settled()
        # 0 had its turn at once; 1 has waited for long.
        assert door.served == [0, 4, 3, 2, 1]
        for number in (5, 6):
            door.come(number)
        for _ in range(2):
            await settled()
            door.end()
        await settled()
        assert door.served[5:] == [5, 6]
        await door.close()

    played(scenario)


def test_who_waits_too_long_is_told_so_and_leaves_the_turn_to_others() -> None:
    async def scenario() -> None:
        turns = Turns(1, longest_wait_s=0.01)
        async with turns.turn():
            with pytest.raises(NoTurnError, match=r"0\.01 s"):
                async with turns.turn(Sender().receive):
                    pytest.fail("there is one turn")
        async with turns.turn():
            pass

    played(scenario)


def test_turn_that_comes_as_its_sender_goes_is_given_on() -> None:
    async def scenario() -> None:
        turns, sender = Turns(1), Sender()
        holds = turns.turn()
        await holds.__aenter__()

        async def ask() -> None:
            async with turns.turn(sender.receive):
                pytest.fail("its sender is gone")

        asked = asyncio.create_task(ask())
        await settled()
        sender.gone.set()
        await holds.__aexit__(None, None, None)

        with pytest.raises(ClientGoneError):
            await asked
        async with turns.turn():
            pass

    played(scenario)


def test_connection_that_breaks_while_it_waits_is_a_sender_that_is_gone() -> None:
    async def broken() -> dict[str, Any]:
        raise ClientGoneError("it was cut off")

    async def scenario() -> None:
        turns = Turns(1)
        async with turns.turn():
            with pytest.raises(ClientGoneError):
                async with turns.turn(broken):
                    pytest.fail("there is one turn")

    played(scenario)
