"""Writes are stored together: each is answered after its commit, and none waits without end."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from threading import Event, Lock
from typing import TypeVar

import pytest

from ingest.write_queue import (
    LARGE_BYTES,
    MOST_TOGETHER_BYTES,
    CommitLostError,
    QueueFullError,
    WriteQueue,
)

ENOUGH_S = 30
ENDS_THE_THREAD, HAS_NO_ANSWER = 13, -1
MAY_TAKE_LONG = range(500, 600)
Value = TypeVar("Value")


class Store:
    """Answers items when it is let; `groups` were answered together, `lone` by themselves."""

    def __init__(self) -> None:
        self.begun, self.let = Event(), Event()
        self.begun_alone, self.let_alone = Event(), Event()
        self.groups: list[list[int]] = []
        self.lone: list[int] = []
        self.lock = Lock()

    def together(self, items: Sequence[int]) -> list[str | None]:
        self.begun.set()
        assert self.let.wait(ENOUGH_S)
        if ENDS_THE_THREAD in items:
            raise SystemExit
        if HAS_NO_ANSWER in items:
            raise ValueError("no answer")
        with self.lock:
            self.groups.append([item for item in items if item not in MAY_TAKE_LONG])
        return [None if item in MAY_TAKE_LONG else str(item) for item in items]

    def alone(self, item: int) -> str:
        self.begun_alone.set()
        assert self.let_alone.wait(ENOUGH_S)
        if item == ENDS_THE_THREAD:
            raise SystemExit
        with self.lock:
            self.lone.append(item)
        return str(item)


Play = Callable[[Store, WriteQueue[int, str]], Awaitable[Value]]


def played(play: Play[Value], *, longest_wait_s: float = ENOUGH_S) -> Value:
    async def run() -> Value:
        store = Store()
        queue = WriteQueue(
            store.together, store.alone, longest_wait_s=longest_wait_s, most_held_bytes=10
        )
        try:
            return await play(store, queue)
        finally:
            store.let.set()
            store.let_alone.set()

    return asyncio.run(run())


async def put(
    queue: WriteQueue[int, str], *items: int, size_bytes: int = 1
) -> list[asyncio.Task[str]]:
    """Ask for the answers to these; all wait when it returns."""
    tasks = [asyncio.ensure_future(queue.answer(item, size_bytes=size_bytes)) for item in items]
    await asyncio.sleep(0)
    return tasks


async def begun(event: Event) -> None:
    assert await asyncio.to_thread(event.wait, ENOUGH_S)


def test_what_comes_during_a_commit_shares_the_next() -> None:
    async def play(store: Store, queue: WriteQueue[int, str]) -> list[str]:
        tasks = await put(queue, 0)
        await begun(store.begun)
        tasks += await put(queue, 1, 2, 3, 4)
        store.let.set()
        answers = await asyncio.gather(*tasks)
        assert store.groups == [[0], [1, 2, 3, 4]]
        return answers

    assert played(play) == ["0", "1", "2", "3", "4"]


def test_one_alone_waits_for_nobody() -> None:
    async def play(store: Store, queue: WriteQueue[int, str]) -> None:
        store.let.set()
        for item in range(3):
            assert await queue.answer(item, size_bytes=1) == str(item)
        assert store.groups == [[0], [1], [2]]

    played(play)


@pytest.mark.parametrize(
    ("item", "size_bytes"),
    [
        pytest.param(7, LARGE_BYTES, id="large"),
        pytest.param(MAY_TAKE_LONG[0], 1, id="may take long"),
    ],
)
def test_item_that_takes_its_time_holds_no_other_up(item: int, size_bytes: int) -> None:
    async def play(store: Store, queue: WriteQueue[int, str]) -> None:
        store.let.set()
        slow = await put(queue, item, size_bytes=size_bytes)
        await begun(store.begun_alone)

        assert await queue.answer(1, size_bytes=1) == "1"

        assert not slow[0].done()
        store.let_alone.set()
        assert await slow[0] == str(item)
        assert store.lone == [item]

    played(play)


def test_group_has_a_largest_size() -> None:
    async def play(store: Store, queue: WriteQueue[int, str]) -> None:
        tasks = await put(queue, 0)
        await begun(store.begun)
        size = LARGE_BYTES - 1
        count = 2 * MOST_TOGETHER_BYTES // size
        tasks += await put(queue, *range(100, 100 + count), size_bytes=size)
        store.let.set()
        await asyncio.gather(*tasks)
        assert len(store.groups) > 2
        assert sum(map(len, store.groups)) == count + 1

    played(play)


@pytest.mark.parametrize("bad", [ENDS_THE_THREAD, HAS_NO_ANSWER])
def test_all_of_a_group_hear_that_it_was_not_stored_and_the_next_are(bad: int) -> None:
    async def play(store: Store, queue: WriteQueue[int, str]) -> None:
        first = await put(queue, 0)
        await begun(store.begun)
        others = await put(queue, 1, bad, 2)
        store.let.set()
        assert await first[0] == "0"
        for one in others:
            with pytest.raises(CommitLostError):
                await one
        assert await queue.answer(4, size_bytes=1) == "4"
        assert store.groups == [[0], [4]]

    played(play)


def test_large_item_whose_thread_ends_is_told_not_to_be_stored() -> None:
    async def play(store: Store, queue: WriteQueue[int, str]) -> None:
        store.let_alone.set()
        with pytest.raises(CommitLostError):
            await queue.answer(ENDS_THE_THREAD, size_bytes=LARGE_BYTES)
        assert await queue.answer(7, size_bytes=LARGE_BYTES) == "7"

    played(play)


def test_who_waits_too_long_leaves_and_the_others_go_on() -> None:
    async def play(store: Store, queue: WriteQueue[int, str]) -> None:
        stands = await put(queue, 0)
        await begun(store.begun)
        for one in [*stands, *await put(queue, 1, 2)]:
            with pytest.raises(CommitLostError):
                await one
        store.let.set()
        assert await queue.answer(3, size_bytes=1) == "3"
        # Nobody waits for 1 and 2 any more; their senders come again.
        assert store.groups == [[0], [3]]

    played(play, longest_wait_s=0.5)


def test_room_is_bounded_and_no_owner_has_all_of_it() -> None:
    async def play(_: Store, queue: WriteQueue[int, str]) -> None:
        with queue.room("one") as own, queue.room("two") as other:
            own.take(5)
            with pytest.raises(QueueFullError):
                own.take(1)
            with queue.room("one") as second, pytest.raises(QueueFullError):
                second.check(1)
            other.take(4)
            with queue.room("three") as third:
                third.take(1)
                with pytest.raises(QueueFullError):
                    third.take(1)
        with queue.room("one") as again:
            again.take(5)

    played(play)


def test_room_that_was_left_leaves_nothing_behind() -> None:
    async def play(_: Store, queue: WriteQueue[int, str]) -> None:
        for owner in range(100):
            with queue.room(owner) as room:
                room.take(3)
        assert queue._held == Counter()

    played(play)
