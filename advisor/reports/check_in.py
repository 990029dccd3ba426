"""Sluice says outside that it is healthy; a watcher there tells people when that stops.

What it says is true: it is asked by a task that the scheduler queues and a worker runs, after
looking at the database, the queue, every worker and the age of what was detected. So a part that
is dead makes it silent, and nothing that could be dead itself has to notice.
"""

from __future__ import annotations

import http.client
import logging
import time
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit, urlunsplit

import redis
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction

from advisor.core.health.checking_in import Life, Seen, faults
from advisor.notifications.channels.channel import NotSent
from advisor.notifications.channels.webhook import post
from advisor.pipeline import work_figures
from advisor.pipeline.work_figures import CheckedIn
from advisor.queries.readiness import staleness

log = logging.getLogger(__name__)

FAULT_PATH = "/fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What was said outside, and what came of it; `answer` is a sentence without the address."""

    faults: tuple[str, ...]
    was_taken: bool
    answer: str


def check_in(*, now: datetime, at_once: bool = False) -> Told | None:
    """Say outside that all is well, or what is known to be wrong; None where nobody watches.

    Of a fault nothing is said until it is there a second time, unless `at_once`: a start of Sluice
    takes a while, and the receiver has patience for one that was left out.
    """
    if not settings.CHECK_IN_URL:
        return None
    found = faults(_look(now))
    if found and not at_once and not _had_faults():
        told = Told(faults=found, was_taken=False, answer="nothing was said yet")
        log.warning("not checked in", extra={"faults": "; ".join(found)})
        _keep(told, now)
        return told
    url = _fault_address(settings.CHECK_IN_URL) if found else settings.CHECK_IN_URL
    began_s = time.monotonic()
    was_taken, answer = _say(url, "\n".join(found) or "healthy")
    told = Told(faults=found, was_taken=was_taken, answer=answer)
    about = {
        "faults": len(found), "answer": answer,
        "duration_ms": round((time.monotonic() - began_s) * 1000, 1),
    }  # fmt: skip
    log.log(logging.INFO if was_taken else logging.WARNING, "checked in", extra=about)
    _keep(told, now)
    return told


def _look(now: datetime) -> Seen:
    database, resources, stale = "", 0, 0
    try:
        if _takes_writes():
            state = staleness(now=now)
            resources, stale = state.resources, state.stale
        else:
            database = "the database takes no writes"
    except (DatabaseError, InterfaceError):
        database = "the database does not answer, or takes no writes"
    lives, queue_server = None, ""
    try:
        lives = _lives(now)
    except redis.RedisError:
        queue_server = "the queue's server does not answer"
    return Seen(
        database=database,
        queue_server=queue_server,
        resources=resources,
        stale=stale,
        lives=lives,
    )


def _takes_writes() -> bool:
    """A standby raises a DatabaseError, for it gives out no number of a transaction."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('transaction_read_only'), pg_current_xact_id()::text"
        )
        reads_only, _ = cursor.fetchone()
    return bool(reads_only == "off")


def _lives(now: datetime) -> list[Life]:
    """A worker for each queue that has work, and the scheduler."""
    beats = work_figures.beats(now=now)

    def newest(name: str, at: list[float]) -> Life:
        return Life(name=name, silent_s=max(0.0, now.timestamp() - max(at)) if at else None)

    workers = {
        f"the worker of {queue.name}": [one.at for one in beats if queue.name in one.queues]
        for queue in settings.WORK_QUEUES
    }
    schedulers = [one.at for one in beats if one.kind == "scheduler"]
    return [
        *(newest(name, at) for name, at in workers.items()),
        newest("the scheduler", schedulers),
    ]


def _say(url: str, text: str) -> tuple[bool, str]:
    headers = {"Content-Type": "text/plain; charset=utf-8", "User-Agent": "Sluice"}
    try:
        status = post(url, text.encode(), headers)
    except (OSError, ValueError, http.client.HTTPException, NotSent) as error:
        return False, f"no answer: {_without_address(str(error), url) or type(error).__name__}"
    # A redirection is not followed: the address is to be that of the receiver itself.
    return 200 <= status < 300, f"it answers {status}"


def _without_address(text: str, url: str) -> str:
    """The address is a secret behind its host, and a text of an error may quote it."""
    parts = urlsplit(url)
    for secret in (parts.path.strip("/"), parts.query):
        if secret:
            text = text.replace(secret, "...")
    return " ".join(text.split())[:200]


def _fault_address(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + FAULT_PATH))


def _had_faults() -> bool:
    try:
        newest, _ = work_figures.check_ins()
    except redis.RedisError:
        return False
    return newest is not None and newest.faults > 0


def _keep(told: Told, now: datetime) -> None:
    try:
        work_figures.keep_check_in(
            CheckedIn(
                at=now.timestamp(),
                was_taken=told.was_taken,
                faults=len(told.faults),
                answer=told.answer,
            )
        )
    except redis.RedisError as error:
        log.warning("check-in not kept", extra={"reason": str(error)})
