"""Signs of life of workers and of the scheduler, in the queue's server."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Sequence
from typing import Any

import redis
from celery.beat import PersistentScheduler
from celery.signals import heartbeat_sent
from django.utils import timezone

from advisor.pipeline.work_figures import note_life

log = logging.getLogger(__name__)


@heartbeat_sent.connect(weak=False)
def worker_lives(*, sender: Any, **_: Any) -> None:
    """Celery calls it every two seconds in the main process of each worker."""
    dispatcher = sender.eventer
    queues = tuple(dispatcher.app.amqp.queues.consume_from)
    _note_life(dispatcher.hostname, kind="worker", queues=queues)


class LivingScheduler(PersistentScheduler):
    """Celery's scheduler that gives a sign of life at every look at its schedule."""

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Queue what is due; the seconds until the next look."""
        _note_life(f"scheduler@{socket.gethostname()}", kind="scheduler", queues=())
        wait_s: float = super().tick(*args, **kwargs)
        return wait_s


def _note_life(name: str, *, kind: str, queues: Sequence[str]) -> None:
    try:
        note_life(
            name=name, kind=kind, queues=queues, now=timezone.now(), as_root=os.geteuid() == 0
        )
    except redis.RedisError as error:
        log.warning("sign of life not noted", extra={"of": name, "reason": str(error)})
