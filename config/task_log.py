"""The log of tasks: the id of the request that a task goes back to, and a line at its end."""

from __future__ import annotations

import logging
import time
from contextlib import AbstractContextManager
from typing import Any

from celery.signals import task_postrun, task_prerun

from accounts.log_context import new_request_id, working_on
from advisor.pipeline.work_figures import REQUEST_ID

log = logging.getLogger("sluice.task")

_runs: dict[str, tuple[float, AbstractContextManager[object]]] = {}
"""When each run in this process began, by the monotonic clock, and what its lines tell."""


@task_prerun.connect(weak=False)
def begin_lines(*, sender: Any, task_id: str, **_: Any) -> None:
    """Lines from here on tell the task; one that nothing queued has an id of its own."""
    asked_by = sender.request.get(REQUEST_ID) or new_request_id()
    lines = working_on(request_id=asked_by, task=sender.name.rpartition(".")[2], task_id=task_id)
    lines.__enter__()
    _runs[task_id] = (time.monotonic(), lines)


@task_postrun.connect(weak=False)
def end_lines(*, task_id: str, state: str | None, **_: Any) -> None:
    """Tell how it ended and how long it took. A task whose process was killed has no such line."""
    if (run := _runs.pop(task_id, None)) is None:
        return
    began_s, lines = run
    duration_ms = round((time.monotonic() - began_s) * 1000, 1)
    log.info("task", extra={"status": (state or "unknown").lower(), "duration_ms": duration_ms})
    lines.__exit__(None, None, None)
