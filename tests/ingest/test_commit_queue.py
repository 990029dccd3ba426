"""Requests that commit together: each returns after its commit, and none fails for another."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock

import pytest

from ingest.commit_queue import CommitLostError, CommitQueue, QueueFullError


class Store:
    """Commits when it is let, and refuses what is below zero."""

    def __init__(self) -> None:
        self.begun, self.let = Event(), Event()
        self.groups: list[list[int]] = []
        self.lock = Lock()

    def commit(self, items: Sequence[int]) -> None:
        self.begun.set()
        assert self.let.wait(30)
        if any(item < 0 for item in items):
            raise ValueError(f"refused: {min(items)}")
        with self.lock:
            self.groups.append(list(items))


def waits_for(queue: CommitQueue[int], rows: int) -> None:
    while queue._rows < rows:
        pass


def test_what_comes_during_a_commit_shares_the_next() -> None:
    store = Store()
    queue = CommitQueue(store.commit)
    with ThreadPoolExecutor(5) as pool:
        first = pool.submit(queue.put, 0, rows=1)
        assert store.begun.wait(30)
        others = [pool.submit(queue.put, item, rows=1) for item in range(1, 5)]
        waits_for(queue, 5)
        store.let.set()
        for one in (first, *others):
            one.result(30)

    assert store.groups[0] == [0]
    assert sorted(store.groups[1]) == [1, 2, 3, 4]


def test_one_alone_waits_for_nobody() -> None:
    store = Store()
    store.let.set()
    queue = CommitQueue(store.commit)

    for item in range(3):
        queue.put(item, rows=1)

    assert store.groups == [[0], [1], [2]]


def test_refused_item_fails_alone() -> None:
    store = Store()
    queue = CommitQueue(store.commit)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(queue.put, 0, rows=1)
        assert store.begun.wait(30)
        bad = pool.submit(queue.put, -1, rows=1)
        good = [pool.submit(queue.put, item, rows=1) for item in (1, 2)]
        waits_for(queue, 4)
        store.let.set()

        with pytest.raises(ValueError, match="refused: -1"):
            bad.result(30)
        for one in (first, *good):
            one.result(30)

    assert sorted(item for group in store.groups for item in group) == [0, 1, 2]


def test_full_queue_refuses_at_once_and_takes_again_later() -> None:
    store = Store()
    queue = CommitQueue(store.commit, most_rows=10)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(queue.put, 1, rows=8)
        assert store.begun.wait(30)
        with pytest.raises(QueueFullError):
            queue.put(2, rows=3)
        store.let.set()
        first.result(30)

    queue.put(3, rows=10)

    assert store.groups == [[1], [3]]


def test_thread_that_ends_in_a_commit_leaves_no_item_taken_for_stored() -> None:
    def commit(_items: Sequence[int]) -> None:
        raise SystemExit

    queue = CommitQueue(commit)
    with pytest.raises(SystemExit):
        queue.put(1, rows=1)
    with pytest.raises(SystemExit):
        queue.put(2, rows=1)


def test_all_that_wait_hear_of_a_thread_that_ended_in_their_commit() -> None:
    store = Store()
    is_first = True

    def commit(items: Sequence[int]) -> None:
        nonlocal is_first
        store.commit(items)
        if 0 not in items and is_first:
            is_first = False
            raise SystemExit

    queue = CommitQueue(commit)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(queue.put, 0, rows=1)
        assert store.begun.wait(30)
        others = [pool.submit(queue.put, item, rows=1) for item in (1, 2, 3)]
        waits_for(queue, 4)
        store.let.set()
        first.result(30)
        errors = [one.exception(30) for one in others]

    # One of them led.
    assert sorted(type(error).__name__ for error in errors) == [
        "CommitLostError", "CommitLostError", "SystemExit",
    ]  # fmt: skip
    queue.put(4, rows=1)
    assert store.groups[-1] == [4]


def test_who_waits_too_long_leaves_and_the_others_go_on() -> None:
    store = Store()
    queue = CommitQueue(store.commit, longest_wait_s=0.2)
    with ThreadPoolExecutor(3) as pool:
        stands = pool.submit(queue.put, 0, rows=1)
        assert store.begun.wait(30)
        waiting = [pool.submit(queue.put, item, rows=1) for item in (1, 2)]
        for one in waiting:
            with pytest.raises(CommitLostError):
                one.result(30)
        store.let.set()
        stands.result(30)

    queue.put(3, rows=20_000)

    assert store.groups == [[0], [3]]
