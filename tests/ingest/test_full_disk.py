"""While the disk is nearly full samples are left with who sends them, and taken again later."""

from __future__ import annotations

import asyncio
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

from ingest import full_disk
from ingest.admission import SAMPLE_PATHS
from ingest.full_disk import LOOKED_EACH_S, FullDisk
from ingest.urls import urlpatterns

LEAST = 100 * 2**20
Room = namedtuple("Room", "f_bavail f_frsize")


class Disk:
    """Says how much room there is, and what time it is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free_bytes, self.now_s, self.looks = 10 * LEAST, 0.0, 0
        monkeypatch.setattr(full_disk.os, "statvfs", self.said)
        monkeypatch.setattr(full_disk.time, "monotonic", lambda: self.now_s)

    def said(self, _folder: Path) -> Room:
        self.looks += 1
        return Room(self.free_bytes // 4096, 4096)

    def becomes(self, free_bytes: int) -> None:
        self.free_bytes = free_bytes
        self.now_s += LOOKED_EACH_S


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


async def taken(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def asked(application: FullDisk, path: str) -> tuple[int, dict[bytes, bytes], bytes]:
    said: list[Any] = []

    async def send(message: Any) -> None:
        said.append(message)

    async def receive() -> Any:
        raise AssertionError("nobody reads the body")

    asyncio.run(application({"type": "http", "path": path}, receive, send))
    start, end = said
    return start["status"], dict(start["headers"]), end["body"]


@pytest.fixture
def application(disk: Disk) -> FullDisk:
    return FullDisk(taken, Path("/data"), least_free_bytes=LEAST)


@pytest.mark.parametrize("path", sorted(SAMPLE_PATHS))
def test_samples_are_left_with_the_sender_while_there_is_no_room(
    application: FullDisk, disk: Disk, path: str
) -> None:
    disk.becomes(LEAST - 4096)

    status, headers, body = asked(application, path)

    assert status == 503
    assert headers[b"retry-after"] == b"30"
    assert b"the disk of /data has less than 100 MiB left" in body


def test_all_ways_in_for_samples_are_known() -> None:
    reading = {"query", "health", "ping"}

    assert {f"/{one.pattern}" for one in urlpatterns if str(one.pattern) not in reading} == set(
        SAMPLE_PATHS
    )


@pytest.mark.parametrize("path", ["/", "/health", "/ping", "/api/v1/incidents"])
def test_all_else_goes_on(application: FullDisk, disk: Disk, path: str) -> None:
    disk.becomes(0)

    assert asked(application, path)[0] == 204


def test_samples_are_taken_again_with_some_more_room(application: FullDisk, disk: Disk) -> None:
    answers = []
    for free_bytes in (LEAST, LEAST - 4096, LEAST, int(1.2 * LEAST), int(1.3 * LEAST), LEAST):
        disk.becomes(free_bytes)
        answers.append(asked(application, "/write")[0])

    assert answers == [204, 503, 503, 503, 204, 204]


def test_it_looks_once_a_second(application: FullDisk, disk: Disk) -> None:
    for _ in range(5):
        asked(application, "/write")

    assert disk.looks == 1


def test_folder_that_is_not_there_refuses_nothing(tmp_path: Path) -> None:
    nowhere = FullDisk(taken, tmp_path / "none", least_free_bytes=LEAST)

    assert asked(nowhere, "/write")[0] == 204
