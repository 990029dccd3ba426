"""Worker processes keep their connection to the database over tasks, as a web server does.

Celery closes it after each task. A worker has several tasks a second, and a new connection costs
the database a process, and the plans and catalogues that it knew.
"""

from __future__ import annotations

import sys
from typing import Any

from celery import Celery
from celery.signals import task_postrun, task_prerun
from celery.states import IGNORED, SUCCESS
from django.db import close_old_connections, connections
from psycopg.pq import TransactionStatus


def keep_connections(app: Celery) -> None:
    """Leave the closing of connections to the receivers here."""
    app.conf["CELERY_DB_REUSE_MAX"] = sys.maxsize // 2


@task_prerun.connect(weak=False)
def begin_with_a_good_one(*, sender: Any, **_: Any) -> None:
    """One that is old (`conn_max_age`) is closed; the first statement asks whether it lives."""
    if not sender.request.is_eager:
        close_old_connections()


@task_postrun.connect(weak=False)
def end_a_doubtful_one(*, sender: Any, state: str | None = None, **_: Any) -> None:
    """After a failure, also by a time limit, a statement may still run on it."""
    if sender.request.is_eager:
        return
    for one in connections.all(initialized_only=True):
        if state not in (SUCCESS, IGNORED) or not _is_idle(one.connection):
            one.close()


def _is_idle(session: Any) -> bool:
    return session is None or session.info.transaction_status == TransactionStatus.IDLE
