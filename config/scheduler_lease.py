"""The lease in the queue's server of the one scheduler that queues work.

Of several schedulers the one that holds it queues; the others look every other second whether it
has ended. It lies where the queue is: a scheduler that cannot reach it could queue nothing either.
Two that queue for a moment, as after a fail-over of that server, do no harm: of a task and subject
one message waits, and each task is safe to run twice.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket

import redis

from accounts.queue_server import queue_client

log = logging.getLogger(__name__)

KEY = "sluice:scheduler"
LEASE_S = 6.0
"""Nobody queues for so long after the one that did was killed; who is stopped gives it back."""
LOOK_S = 1.5
"""Between two looks, of who has it and of who waits."""
TIMEOUT_S = 2.0

_TAKE = """
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
_GIVE_BACK = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""


class SchedulerLease:
    """What this process holds, or waits for."""

    def __init__(self) -> None:
        self._me = f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"
        self._held = False
        self._client = queue_client(timeout_s=TIMEOUT_S)

    def take(self) -> bool:
        """Whether it is ours from now on for LEASE_S; not while the queue's server is away."""
        try:
            held = bool(self._client.eval(_TAKE, 1, KEY, self._me, int(LEASE_S * 1000)))
        except redis.RedisError as error:
            log.warning("lease of the scheduler not taken", extra={"reason": str(error)})
            held = False
        if held != self._held:
            log.info("this scheduler queues work" if held else "another scheduler queues work")
        self._held = held
        return held

    def give_back(self) -> None:
        """The next one need not wait for its end."""
        if not self._held:
            return
        self._held = False
        try:
            self._client.eval(_GIVE_BACK, 1, KEY, self._me)
        except redis.RedisError as error:
            log.warning("lease of the scheduler not given back", extra={"reason": str(error)})
