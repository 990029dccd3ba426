"""Delivers waiting samples, and answers each refusal as Telegraf does."""

import gzip
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from enforcers.errors import ServerError
from enforcers.http_exchange import Answer
from enforcers.reader.line import head, whole
from enforcers.reader.spool import Spool

log = logging.getLogger(__name__)

MOST_LINES = 5000
LONGEST_WAIT_S = 60.0
LONGEST_RETRY_AFTER_S = 600.0
# A Retry-After that is no number; Telegraf guesses the same.
GUESSED_RETRY_AFTER_S = 10.0
# What the service will never take, however often it is sent.
_REFUSED = frozenset(
    {HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_ACCEPTABLE, HTTPStatus.UNPROCESSABLE_ENTITY}
)
_COUNTS = ("metrics_written", "metrics_dropped", "metrics_rejected", "buffer_size", "errors")

Post = Callable[[bytes], Answer]


@dataclass(slots=True)
class Counts:
    """Lines since the start, under the names of Telegraf's `internal_write`."""

    written: int = 0
    rejected: int = 0
    errors: int = 0


class Delivery:
    """Sends the oldest lines first; what is not taken yet stays in the spool."""

    def __init__(self, spool: Spool, post: Post, *, random_part: Callable[[], float]) -> None:
        self._spool = spool
        self._post = post
        self._random_part = random_part
        self._again_at_s = 0.0
        self._failures = 0
        self._counts = Counts()

    def flush(self, *, now_s: float, is_over: Callable[[], bool] = lambda: False) -> float:
        """Send until nothing waits or the service fails; the seconds to wait before the next.

        0 means that everything is delivered, or that it `is_over` after a body: then the rest
        stays, because the buffer of a day takes minutes and who stops the agent waits for it.
        """
        while now_s >= self._again_at_s:
            batches, lines = self._spool.oldest(most_lines=MOST_LINES)
            if not batches:
                return 0.0
            wait_s = self._send(lines)
            if wait_s is not None:
                self._again_at_s = now_s + wait_s
                break
            self._spool.remove(batches)
            if is_over():
                return 0.0
        return self._again_at_s - now_s

    def own_line(self, host: str) -> str:
        """The collector's own account, from which the service knows what was lost on a host."""
        counts = self._counts
        values = (
            counts.written, self._spool.dropped_lines, counts.rejected,
            self._spool.waiting_lines, counts.errors,
        )  # fmt: skip
        fields = ",".join(f"{name}={value}i" for name, value in zip(_COUNTS, values, strict=True))
        return f"{head('internal_write', host, output='sluice')} {fields}"

    def _send(self, lines: list[str]) -> float | None:
        """None once the lines are stored or refused for good; else how long to wait."""
        try:
            answer = self._post(gzip.compress("\n".join(lines).encode(), 1))
        except ServerError as error:
            return self._failed(str(error), retry_after_s=0.0)
        if 200 <= answer.status < 300:
            self._delivered(lines, answer)
            return None
        if answer.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return self._send_halves(lines, answer)
        if answer.status in _REFUSED:
            self._refuse(len(lines), answer)
            return None
        return self._failed(str(answer), retry_after_s=_retry_after_s(answer))

    def _delivered(self, lines: list[str], answer: Answer) -> None:
        if self._failures:
            log.info("samples are sent again", extra={"waiting": self._spool.waiting_lines})
        self._failures = 0
        rejected = whole(answer.headers.get("Sluice-Rejected-Lines", "")) or 0
        if rejected and not self._counts.rejected:
            log.warning(
                "lines were rejected; `sluice rejects` says why", extra={"lines": rejected}
            )
        self._counts.written += len(lines) - rejected
        self._counts.rejected += rejected

    def _send_halves(self, lines: list[str], answer: Answer) -> float | None:
        if len(lines) == 1:
            self._refuse(1, answer)
            return None
        middle = len(lines) // 2
        first = self._send(lines[:middle])
        # A first half that is stored is sent again with the second: that changes nothing there.
        return self._send(lines[middle:]) if first is None else first

    def _refuse(self, line_count: int, answer: Answer) -> None:
        self._failures = 0
        self._counts.rejected += line_count
        log.warning("lines dropped", extra={"lines": line_count, "answer": str(answer)})

    def _failed(self, why: str, *, retry_after_s: float) -> float:
        self._counts.errors += 1
        self._failures += 1
        backoff_s = min(2.0 ** min(self._failures - 1, 10), LONGEST_WAIT_S)
        wait_s = max(backoff_s * (0.5 + self._random_part() / 2), retry_after_s)
        # An outage is told when it begins, and not with each attempt.
        level = logging.WARNING if self._failures == 1 else logging.DEBUG
        log.log(level, "samples wait", extra={"error": why, "next_in_s": round(wait_s, 1)})
        return wait_s


def random_part() -> float:
    """Between 0 and 1: hosts that failed together must not come back together."""
    return random.random()  # noqa: S311  no secret


def _retry_after_s(answer: Answer) -> float:
    text = answer.headers.get("Retry-After")
    if text is None:
        return 0.0
    try:
        return min(max(float(text), 0.0), LONGEST_RETRY_AFTER_S)
    except ValueError:
        return GUESSED_RETRY_AFTER_S
