"""Tasks of which at most one message per subject waits, so that no backlog can grow.

A mark in the queue's server says until when a message counts as waiting. It is set when the
message is sent and removed when the task starts. A lost mark costs one extra message; a mark
without a message (its worker was killed) ends when the message would have expired.
"""

from __future__ import annotations

import json
import logging
import time
from datetime import datetime
from functools import cache
from typing import Any

import redis
from celery import Task
from celery.result import AsyncResult

from accounts.log_context import request_id
from accounts.queue_server import queue_client
from advisor.pipeline.work_figures import QUEUED_AT, REQUEST_ID

log = logging.getLogger(__name__)

SOCKET_TIMEOUT_S = 5.0
CLOCK_SKEW_S = 60.0
"""By so much the clocks of machines may differ."""
REMEMBERED_S = 86_400.0
"""How long the time at which a subject was last queued is kept."""

_MARK = """
local held = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '0')
if held > tonumber(ARGV[2]) and held <= tonumber(ARGV[4]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
if held > 0 then return 2 end
return 1
"""
"""0: a message waits; 1: the mark is set; 2: the same, and an expired message may be queued.

A mark that lasts longer than any of now was set while the clock was ahead, and counts for nothing.
"""
WAITS, EXPIRED = 0, 2


class OneWaiting(Task[Any, Any]):
    """A task with an expiry, of which at most one message per subject waits.

    The subject is the positional arguments, such as the number of a resource.
    """

    abstract = True
    waits_in = ""

    def apply_async(  # type: ignore[override]  # None says that nothing was queued
        self, args: Any = None, kwargs: Any = None, **options: Any
    ) -> AsyncResult[Any] | None:
        """Queue the task; None means that a message about the same subject waits already."""
        options["headers"] = {**(options.get("headers") or {}), **_own_headers()}
        expires_s = options.get("expires", self.expires)
        if expires_s is None:
            return super().apply_async(args, kwargs, **options)
        subject, now = _subject(args), time.time()
        keys = (self._waiting_key, self._queued_key)
        until, latest = now + expires_s, now + expires_s + CLOCK_SKEW_S
        marked = _client().eval(_MARK, 2, *keys, subject, now, until, latest)
        if marked == WAITS:
            return None
        if marked == EXPIRED:
            self._drop_expired(now)
        try:
            return super().apply_async(args, kwargs, **options)
        except Exception:
            _client().zrem(self._waiting_key, subject)
            raise

    def before_start(self, task_id: str, args: Any, kwargs: Any) -> None:  # noqa: ARG002
        """Let the next message about this subject wait; Celery calls it when the task starts."""
        try:
            _client().zrem(self._waiting_key, _subject(args))
        except redis.RedisError as error:
            # The mark ends by itself.
            log.warning("mark of a waiting task not removed", extra={"reason": str(error)})

    def waiting(self) -> int:
        """How many subjects have a message that waits and has not expired."""
        count: int = _client().zcount(self._waiting_key, f"({time.time()}", "+inf")
        return count

    def last_queued(self) -> dict[int, float]:
        """When each subject was last queued, in seconds since the epoch; subjects are numbers."""
        now = time.time()
        _client().zremrangebyscore(self._queued_key, "-inf", now - REMEMBERED_S)
        # What was queued while the clock was ahead would have no turn before that time has come.
        _client().zremrangebyscore(self._queued_key, now + CLOCK_SKEW_S, "+inf")
        found: list[tuple[bytes, float]] = _client().zrange(  # type: ignore[assignment]
            self._queued_key, 0, -1, withscores=True
        )  # with scores it answers pairs, which its types do not say
        return {int(pk): at for pk, at in found}

    @property
    def _waiting_key(self) -> str:
        return f"sluice:waiting:{self.name}"

    @property
    def _queued_key(self) -> str:
        return f"sluice:queued:{self.name}"

    def _drop_expired(self, now: float) -> None:
        """Remove this task's expired messages, which without a worker would stay."""
        client = _client()
        for raw in client.lrange(self.waits_in, 0, -1):
            headers = json.loads(raw)["headers"]
            expires = headers.get("expires")
            if headers["task"] == self.name and expires and _is_past(expires, now):
                # The oldest are at the end, where they are taken.
                client.lrem(self.waits_in, -1, raw)  # type: ignore[arg-type]  # bytes are taken, too
        client.zremrangebyscore(self._waiting_key, "-inf", now)


def _own_headers() -> dict[str, object]:
    asked_by = request_id()
    return {QUEUED_AT: time.time(), **({REQUEST_ID: asked_by} if asked_by else {})}


def _subject(args: Any) -> str:
    return " ".join(str(value) for value in args or ())


def _is_past(expires: str, now: float) -> bool:
    return datetime.fromisoformat(expires).timestamp() <= now


@cache
def _client() -> redis.Redis:
    return queue_client(timeout_s=SOCKET_TIMEOUT_S)
