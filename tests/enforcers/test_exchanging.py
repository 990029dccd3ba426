"""The thread that tells the service: nobody waits for it, and no fault ends it."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from enforcers.errors import ContractError, ServerError
from enforcers.exchange import (
    DatastoreLoad,
    HostPart,
    decode_exchange,
    encode_load,
    pooled,
)
from enforcers.exchanging import asking, exchanging
from enforcers.joint_post import Box, Loads

PATIENCE_S = 30.0
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PART = HostPart(
    ios=4000,
    mean_device_latency_ms=20.0,
    outstanding_io=20.0,
    active_shares=1000.0,
    met_io=0.0,
    done_iops=1000.0,
    met_iops=0.0,
    shares=1000.0,
    reserved_iops=0.0,
    capacity_iops=None,
)
LOAD = pooled([PART])


def until(is_true: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_what_is_put_is_told_and_the_answer_is_there_once() -> None:
    post: Loads = Box()
    told = []

    def ask(resource: str, part: HostPart) -> DatastoreLoad:
        told.append((resource, part))
        return LOAD

    with exchanging(post, ask):
        post.put("ds1", PART)
        until(lambda: told)
        until(lambda: post._answers)

    assert told == [("ds1", PART)]
    assert [post.take_answer("ds1"), post.take_answer("ds1")] == [LOAD, None]


def test_nobody_waits_for_a_service_that_does_not_answer() -> None:
    post: Loads = Box()
    asked, answers = threading.Event(), threading.Event()

    def ask(_resource: str, _part: HostPart) -> DatastoreLoad:
        asked.set()
        answers.wait(PATIENCE_S)
        return LOAD

    with exchanging(post, ask):
        post.put("ds1", PART)
        assert asked.wait(PATIENCE_S)
        # The service holds its answer back until the end: this would hang if anything waited.
        for _ in range(100):
            post.put("ds1", PART)
            assert post.take_answer("ds1") is None
        answers.set()


def test_end_does_not_wait_for_a_service_that_does_not_answer() -> None:
    post: Loads = Box()
    asked, answers = threading.Event(), threading.Event()

    def ask(_resource: str, _part: HostPart) -> DatastoreLoad:
        asked.set()
        answers.wait(PATIENCE_S)
        return LOAD

    began_s = time.monotonic()
    with exchanging(post, ask):
        post.put("ds1", PART)
        assert asked.wait(PATIENCE_S)
    ended_s = time.monotonic()
    answers.set()

    assert ended_s - began_s < PATIENCE_S / 2


def test_answer_to_former_figures_is_dropped() -> None:
    post: Loads = Box()
    post.put("ds1", PART)
    (late,) = post.fetch()
    post.put("ds1", replace(PART, ios=1))

    post.answer(late, LOAD)
    assert post.take_answer("ds1") is None

    (newest,) = post.fetch()
    post.answer(newest, LOAD)
    assert post.take_answer("ds1") == LOAD


def test_figures_that_nobody_fetched_give_way_to_the_next() -> None:
    post: Loads = Box()
    post.put("ds1", PART)
    post.put("ds1", replace(PART, ios=1))
    post.put("ds2", PART)

    assert [(one.resource, one.told.ios) for one in post.fetch()] == [("ds1", 1), ("ds2", 4000)]
    assert post.fetch(0) == ()


@pytest.mark.parametrize(
    "fault",
    [
        ServerError("away"),
        ServerError("too old", is_final=True),
        ContractError("$.hosts", "must be a number"),
        RuntimeError("no fault that anybody thought of"),
    ],
)
def test_no_fault_ends_it(fault: Exception) -> None:
    post: Loads = Box()
    asked: list[str] = []

    def ask(resource: str, _part: HostPart) -> DatastoreLoad:
        asked.append(resource)
        if resource == "faulty":
            raise fault
        return LOAD

    with exchanging(post, ask):
        post.put("faulty", PART)
        until(lambda: asked)
        post.put("sound", PART)
        until(lambda: post._answers)

    assert post.take_answer("faulty") is None
    assert post.take_answer("sound") == LOAD


def test_service_that_is_away_is_asked_again_and_one_that_refuses_is_left_alone_for_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    post: Loads = Box()
    asked: list[str] = []
    now_s = [1000.0]
    monkeypatch.setattr("enforcers.exchanging.time.monotonic", lambda: now_s[0])

    def ask(resource: str, _part: HostPart) -> DatastoreLoad:
        asked.append(resource)
        raise ServerError("no", is_final=resource == "refused")

    def tell(resource: str) -> None:
        post.put(resource, PART)
        while post._waiting:
            threading.Event().wait(0.005)

    with exchanging(post, ask):
        for _ in range(3):
            tell("away")
            tell("refused")
        now_s[0] += 61
        tell("refused")
        tell("away")

    assert asked.count("away") == 4
    assert asked.count("refused") == 2


def test_service_that_is_away_is_asked_for_one_datastore_alone() -> None:
    post: Loads = Box()
    asked: list[str] = []

    def ask(resource: str, _part: HostPart) -> DatastoreLoad:
        asked.append(resource)
        raise ServerError("timed out")

    for number in range(20):
        post.put(f"ds{number}", PART)
    with exchanging(post, ask):
        until(lambda: asked and not post._waiting)

    assert asked == ["ds0"]


def test_host_says_who_it_is_and_of_what_time_it_speaks() -> None:
    told: list[bytes] = []

    class Service:
        def exchange(self, body: bytes) -> bytes:
            told.append(body)
            return encode_load(LOAD)

    ask = asking(Service(), host="h1", now=lambda: NOON)

    assert ask("ds1", PART) == LOAD
    exchange = decode_exchange(told[0])
    assert (exchange.host, exchange.resource, exchange.period_end) == ("h1", "ds1", NOON)
    assert exchange.part == PART


def test_answer_of_a_service_that_is_older_is_none(caplog: pytest.LogCaptureFixture) -> None:
    class Service:
        def exchange(self, _body: bytes) -> bytes:
            return encode_load(LOAD, version=1)

    post: Loads = Box()
    with (
        caplog.at_level(logging.WARNING),
        exchanging(post, asking(Service(), host="h1", now=lambda: NOON)),
    ):
        post.put("ds1", PART)
        until(lambda: not post._waiting)

    assert post.take_answer("ds1") is None
    assert caplog.records == []
