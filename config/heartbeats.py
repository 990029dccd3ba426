"""Signs of life of workers and of the scheduler, in the queue's server."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property
from typing import Any

import redis
from celery.beat import PersistentScheduler
from celery.signals import heartbeat_sent
from django.utils import timezone

from advisor.pipeline.work_figures import note_life
from config.alive_file import touch_alive_file
from config.scheduler_lease import LOOK_S, SchedulerLease

log = logging.getLogger(__name__)

CLOCK_SKEW = timedelta(minutes=1)
"""By so much the clocks of machines may differ, and a clock be corrected without notice."""


@heartbeat_sent.connect(weak=False)
def worker_lives(*, sender: Any, **_: Any) -> None:
    """Celery calls it every two seconds in the main process of each worker."""
    dispatcher = sender.eventer
    queues = tuple(dispatcher.app.amqp.queues.consume_from)
    _note_life(dispatcher.hostname, kind="worker", queues=queues)


class LivingScheduler(PersistentScheduler):
    """Celery's scheduler that gives signs of life, and queues only while it has the lease."""

    @cached_property
    def _lease(self) -> SchedulerLease:
        return SchedulerLease()

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Queue one message that is due, if this is the scheduler; the seconds until the next."""
        _note_life(f"scheduler@{socket.gethostname()}", kind="scheduler", queues=())
        if not self._lease.take():
            return LOOK_S
        self._forget_what_is_to_come()
        wait_s: float = super().tick(*args, **kwargs)
        return min(wait_s, LOOK_S)

    def close(self) -> None:
        """Save when what was queued, and let another scheduler queue at once."""
        self._lease.give_back()
        super().close()

    def _forget_what_is_to_come(self) -> None:
        """Go on from now where the clock was ahead before, and somebody set it back.

        Otherwise nothing would be queued before that time has come again.
        """
        now = timezone.now()
        later = [
            one
            for one in self.schedule.values()
            if one.last_run_at and one.last_run_at > now + CLOCK_SKEW
        ]
        for entry in later:
            entry.last_run_at = now
        if later:
            log.warning("the clock was set back", extra={"entries": len(later)})
            # Looks are planned anew.
            self._heap = None


def _note_life(name: str, *, kind: str, queues: Sequence[str]) -> None:
    touch_alive_file()
    try:
        note_life(
            name=name, kind=kind, queues=queues, now=timezone.now(), as_root=os.geteuid() == 0
        )
    except redis.RedisError as error:
        log.warning("sign of life not noted", extra={"of": name, "reason": str(error)})
