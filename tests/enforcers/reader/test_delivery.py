"""What becomes of lines by the service's answer, and what the agent says of itself."""

from __future__ import annotations

import gzip
from email.message import Message
from pathlib import Path

import pytest

from enforcers.errors import ServerError
from enforcers.http_exchange import Answer
from enforcers.reader.delivery import Delivery
from enforcers.reader.spool import Spool


class Service:
    """Answers as told, and keeps the lines that it took."""

    def __init__(self) -> None:
        self.status: int | None = 204
        self.headers: dict[str, str] = {}
        self.most_lines = 10**9
        self.took: list[str] = []
        self.asked = 0

    def post(self, body: bytes) -> Answer:
        self.asked += 1
        lines = gzip.decompress(body).decode().split("\n")
        if self.status is None:
            raise ServerError("POST http://sluice: Connection refused")
        status = 413 if len(lines) > self.most_lines else self.status
        if status < 300:
            self.took += lines
        headers = Message()
        for name, value in self.headers.items():
            headers[name] = value
        return Answer(status=status, headers=headers, body=b"said so", place="POST http://sluice")


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    """Two passes wait."""
    found = Spool(tmp_path / "samples", most_bytes=10**6)
    found.put(("a 1", "b 1", "c 1"))
    found.put(("a 2",))
    return found


@pytest.fixture
def delivery(spool: Spool, service: Service) -> Delivery:
    return Delivery(spool, service.post, random_part=lambda: 1.0)


def own(delivery: Delivery) -> dict[str, int]:
    """The agent's account of itself."""
    head, _, fields = delivery.own_line("h1").partition(" ")
    assert head == "internal_write,host=h1,output=sluice"
    return {name: int(value[:-1]) for name, value in (f.split("=") for f in fields.split(","))}


def test_everything_is_sent_oldest_first(
    delivery: Delivery, service: Service, spool: Spool
) -> None:
    assert delivery.flush(now_s=0.0) == 0.0

    assert service.took == ["a 1", "b 1", "c 1", "a 2"]
    assert spool.waiting_lines == 0
    assert own(delivery) == {
        "metrics_written": 4, "metrics_dropped": 0, "metrics_rejected": 0, "buffer_size": 0,
        "errors": 0,
    }  # fmt: skip


@pytest.mark.parametrize("status", [None, 300, 301, 401, 403, 404, 408, 429, 500, 502, 503, 504])
def test_lines_wait_while_the_service_cannot_take_them(
    delivery: Delivery, service: Service, spool: Spool, status: int | None
) -> None:
    service.status = status

    waits = [delivery.flush(now_s=now_s) for now_s in (0.0, 0.5, 1.0, 3.0)]

    # One second, then two, then four; before its time nothing is asked.
    assert waits == [1.0, 0.5, 2.0, 4.0]
    assert service.asked == 3
    assert spool.waiting_lines == 4
    assert own(delivery)["errors"] == 3
    service.status = 204
    assert delivery.flush(now_s=7.0) == 0.0
    assert service.took == ["a 1", "b 1", "c 1", "a 2"]
    # The next outage begins with one second again.
    spool.put(("a 3",))
    service.status = status
    assert delivery.flush(now_s=8.0) == 1.0


def test_wait_is_never_longer_than_a_minute(delivery: Delivery, service: Service) -> None:
    service.status, now_s = None, 0.0
    for _ in range(12):
        wait_s = delivery.flush(now_s=now_s)
        now_s += wait_s

    assert wait_s == 60.0


def test_hosts_that_failed_together_come_back_apart(spool: Spool, service: Service) -> None:
    service.status = 503

    waits = [
        Delivery(spool, service.post, random_part=lambda part=part: part).flush(now_s=0.0)  # type: ignore[misc]
        for part in (0.0, 0.5, 1.0)
    ]

    assert waits == [0.5, 0.75, 1.0]


@pytest.mark.parametrize(
    ("said", "wait_s"), [("30", 30.0), ("0.2", 1.0), ("86400", 600.0), ("soon", 10.0), ("-5", 1.0)]
)
@pytest.mark.parametrize("status", [429, 503])
def test_service_may_ask_for_patience(
    delivery: Delivery, service: Service, status: int, said: str, wait_s: float
) -> None:
    service.status, service.headers = status, {"Retry-After": said}

    assert delivery.flush(now_s=0.0) == wait_s


def test_who_stops_the_agent_waits_for_one_body_only(
    delivery: Delivery, service: Service, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that each of the two passes is a body.
    monkeypatch.setattr("enforcers.reader.delivery.MOST_LINES", 3)

    assert delivery.flush(now_s=0.0, is_over=lambda: True) == 0.0

    assert service.took == ["a 1", "b 1", "c 1"]
    assert spool.waiting_lines == 1


@pytest.mark.parametrize("status", [400, 406, 422])
def test_lines_that_are_never_taken_are_dropped_and_counted(
    delivery: Delivery, service: Service, spool: Spool, status: int
) -> None:
    service.status = status

    assert delivery.flush(now_s=0.0) == 0.0

    assert spool.waiting_lines == 0
    assert own(delivery)["metrics_rejected"] == 4
    assert own(delivery)["metrics_written"] == 0


def test_body_that_is_too_large_is_sent_in_halves(
    delivery: Delivery, service: Service, spool: Spool
) -> None:
    service.most_lines = 1

    assert delivery.flush(now_s=0.0) == 0.0

    assert service.took == ["a 1", "b 1", "c 1", "a 2"]
    assert own(delivery)["metrics_written"] == 4


def test_line_that_is_too_large_by_itself_is_dropped_and_counted(
    delivery: Delivery, service: Service, spool: Spool
) -> None:
    service.most_lines = 0

    assert delivery.flush(now_s=0.0) == 0.0

    assert own(delivery)["metrics_rejected"] == 4
    assert spool.waiting_lines == 0


def test_lines_that_the_service_rejected_are_counted(delivery: Delivery, service: Service) -> None:
    service.headers = {"Sluice-Rejected-Lines": "3"}

    delivery.flush(now_s=0.0)

    assert own(delivery)["metrics_written"] == 1
    assert own(delivery)["metrics_rejected"] == 3


def test_lines_without_room_are_told(tmp_path: Path, service: Service) -> None:
    spool = Spool(tmp_path / "small", most_bytes=1)
    for number in range(3):
        spool.put((f"a {number}",))
    delivery = Delivery(spool, service.post, random_part=lambda: 1.0)

    # The newest pass is always kept.
    assert own(delivery)["metrics_dropped"] == 2
    assert own(delivery)["buffer_size"] == 1


def test_outage_is_told_once_and_so_is_its_end(
    delivery: Delivery, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    service.status = None
    for now_s in (0.0, 10.0, 20.0):
        delivery.flush(now_s=now_s)
    service.status = 204

    delivery.flush(now_s=60.0)

    assert [record.message for record in caplog.records] == [
        "samples wait",
        "samples are sent again",
    ]
