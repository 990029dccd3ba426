"""Reports that wait for the service."""

from enforcers.errors import ServerError
from enforcers.outbox import MOST_AT_ONCE, MOST_WAITING, Outbox


class Letterbox:
    """Takes reports, or fails as told."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.error: ServerError | None = None

    def take(self, report: bytes) -> None:
        if self.error is not None:
            raise self.error
        self.taken.append(report)


def test_reports_are_delivered_oldest_first() -> None:
    letterbox = Letterbox()
    outbox = Outbox(letterbox.take)

    outbox.put(b"1")
    outbox.put(b"2")
    outbox.flush()

    assert letterbox.taken == [b"1", b"2"]
    assert (len(outbox), outbox.dropped) == (0, 0)


def test_reports_wait_while_the_service_is_away() -> None:
    letterbox = Letterbox()
    outbox = Outbox(letterbox.take)
    letterbox.error = ServerError("away")
    outbox.put(b"1")
    outbox.flush()

    letterbox.error = None
    outbox.put(b"2")
    outbox.flush()

    assert letterbox.taken == [b"1", b"2"]
    assert outbox.dropped == 0


def test_report_that_will_never_be_taken_is_dropped_and_counted() -> None:
    letterbox = Letterbox()
    outbox = Outbox(letterbox.take)
    letterbox.error = ServerError("not a report", is_final=True)

    outbox.put(b"1")
    outbox.flush()

    assert (len(outbox), outbox.dropped) == (0, 1)


def test_oldest_reports_go_when_there_are_too_many() -> None:
    letterbox = Letterbox()
    outbox = Outbox(letterbox.take)

    for number in range(MOST_WAITING + 3):
        outbox.put(str(number).encode())
    outbox.flush()

    assert outbox.dropped == 3
    assert MOST_AT_ONCE == 5
    assert letterbox.taken == [str(number).encode() for number in range(3, 3 + MOST_AT_ONCE)]
