"""The product's worker and scheduler, whose only task writes into a file when it ran.

`celery --app=tests.config.marking_worker worker` and `beat` are started by tests.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import django
from celery import Task

from advisor.pipeline.work_figures import QUEUED_AT
from config.celery import app

django.setup()

EVERY_S = 0.5
# One message of a subject waits, so what is lost with a server delays that subject alone.
SUBJECTS = range(3)


# Queues go by the last word of a name.
@app.task(name="tests.config.tidy", bind=True)
def mark(task: Task[Any, Any], _subject: int) -> None:
    """Note that it is done, by when it was queued."""
    with Path(os.environ["MARKS_FILE"]).open("a") as file:
        file.write(f"{task.request.get(QUEUED_AT)}\n")


app.conf.beat_schedule = {
    f"mark {subject}": {"task": mark.name, "schedule": EVERY_S, "args": (subject,)}
    for subject in SUBJECTS
}
