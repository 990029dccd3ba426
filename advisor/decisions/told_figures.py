"""What hosts tell of a resource, held for three periods in the queue's server.

Each host's figures are one field of its resource's hash. One script writes a host's own and reads
all that are fresh, by the clock of the server: hosts' clocks may differ, and so may web servers'.
"""

from __future__ import annotations

import time
from datetime import datetime
from functools import cache
from typing import Any

import redis

from accounts.queue_server import queue_client
from advisor.errors import ExchangeUnavailable
from enforcers.exchange import KEPT_PERIODS, PERIOD_S
from ingest.models import Host

KEPT_S = KEPT_PERIODS * PERIOD_S
TIMEOUT_S = 0.25
"""A host waits no longer for the server; it has an answer without it."""
AWAY_S = 5.0
"""A server that did not answer is left alone for so long: a whole fleet asks each period."""

_SHARE = """
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local host, period_end, figures, kept = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local held = redis.call('HGETALL', KEYS[1])
local fresh = {}
for place = 1, #held, 2 do
    local at, ended, theirs = string.match(held[place + 1], '^(%S+) (%S+) (.+)$')
    local age = now - tonumber(at)
    if age < 0 or age >= kept then
        redis.call('HDEL', KEYS[1], held[place])
    elseif held[place] ~= host then
        fresh[#fresh + 1] = theirs
    elseif tonumber(ended) >= tonumber(period_end) then
        fresh[#fresh + 1] = theirs
        figures = nil
    end
end
if figures then
    fresh[#fresh + 1] = figures
    redis.call('HSET', KEYS[1], host, string.format('%.0f %s %s', now, period_end, figures))
end
redis.call('PEXPIRE', KEYS[1], kept)
return fresh
"""
"""Figures that come twice, or after those of a later period, change nothing, their age neither."""


class _Server:
    """The queue's server, and until when it is left alone."""

    away_until_s = 0.0


def fresh_lines(key: str, host: Host, *, period_end: datetime, figures: str) -> list[str]:
    """Keep what the host tells, a line, and answer with those of all hosts that are fresh.

    Raises ExchangeUnavailable while the queue's server is away.
    """
    if time.monotonic() < _Server.away_until_s:
        raise ExchangeUnavailable("the queue's server does not answer; go on alone")
    ended = f"{period_end.timestamp():.6f}"
    try:
        lines: list[str] = _script()(
            keys=[key], args=[host.pk, ended, figures, round(KEPT_S * 1000)]
        )
    except redis.RedisError as error:
        _Server.away_until_s = time.monotonic() + AWAY_S
        raise ExchangeUnavailable(f"the queue's server does not answer: {error}") from error
    return lines


@cache
def _script() -> Any:
    return queue_client(timeout_s=TIMEOUT_S).register_script(_SHARE)
