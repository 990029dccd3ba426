"""Who has just changed something, told to all web servers by the queue's server.

Such a person is shown what the primary has, until the replica surely has it too. While that
server does not answer, everybody is.
"""

from __future__ import annotations

import time
from functools import cache
from math import ceil
from typing import Any

import redis
from django.conf import settings

from accounts.queue_server import queue_client
from web.replica.watch import KNOWN_S

TIMEOUT_S = 0.25
AWAY_S = 5.0
"""A server that did not answer is left alone for so long."""


class _Server:
    """Until when the queue's server is left alone."""

    away_until_s = 0.0


def note_change(person: int) -> None:
    """This person has changed something."""
    if time.monotonic() >= _Server.away_until_s:
        # A replica is behind by the limit at most, by what was seen `KNOWN_S` ago at most.
        lasts_s = ceil(settings.REPLICA_MOST_LAG_S + KNOWN_S + 1)
        try:
            _client().set(_key(person), 1, ex=lasts_s)
        except redis.RedisError:
            _leave_alone()


def has_just_changed(person: int) -> bool:
    """Whether the replica may not have yet what this person changed."""
    if time.monotonic() < _Server.away_until_s:
        return True
    try:
        return bool(_client().exists(_key(person)))
    except redis.RedisError:
        _leave_alone()
        return True


def note_login(user: Any, **_: object) -> None:
    """Called by Django's signal: a login changes sessions, and memberships by groups."""
    note_change(user.pk)


def _leave_alone() -> None:
    _Server.away_until_s = time.monotonic() + AWAY_S


def _key(person: int) -> str:
    return f"sluice:changed:{person}"


@cache
def _client() -> redis.Redis:
    return queue_client(timeout_s=TIMEOUT_S)
