"""I/O by io_uring of the laboratory's loads does what it is told, as that by io_submit does."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.testbed.storage import aio, ring

SIZE, DEPTH = 4096, 8


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "disk").write_bytes(bytes(2 * DEPTH * SIZE))
    opened = os.open(tmp_path / "disk", os.O_RDWR)
    yield opened
    os.close(opened)


@pytest.fixture(params=[aio, ring], ids=["io_submit", "io_uring"])
def way(request: pytest.FixtureRequest) -> ModuleType:
    if request.param is ring:
        try:
            ring.idle(0.001)
        except OSError as error:
            if error.errno not in {errno.ENOSYS, errno.EPERM}:
                raise
            pytest.skip(f"does not apply: this kernel has no io_uring for us: {error}")
    module: ModuleType = request.param
    return module


def test_each_place_ends_once(way: ModuleType, disk: int) -> None:
    queue = way.Queue(disk, depth=DEPTH, block_bytes=SIZE)
    found: list[int] = []
    for _ in range(3):
        for place in range(DEPTH):
            queue.prepare(place, place * SIZE, is_read=place % 2 == 0)
        queue.submit(range(DEPTH))
        begun = len(found) + DEPTH
        while len(found) < begun:
            found += queue.ended(10.0)

    assert sorted(found) == sorted([*range(DEPTH)] * 3)
    assert queue.failed == 0


def test_what_lies_beyond_the_end_counts_as_failed(way: ModuleType, disk: int) -> None:
    queue = way.Queue(disk, depth=DEPTH, block_bytes=SIZE)
    queue.prepare(0, 100 * SIZE, is_read=True)
    queue.submit([0])

    assert queue.ended(10.0) == [0]
    assert queue.failed == 1


def test_waits_no_longer_than_it_may(way: ModuleType, disk: int) -> None:
    queue = way.Queue(disk, depth=DEPTH, block_bytes=SIZE)
    began_s = time.monotonic()

    assert queue.ended(0.05) == []
    assert 0.04 <= time.monotonic() - began_s < 5
