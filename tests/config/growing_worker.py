"""The product's worker with a task that grows; `test_worker_memory` starts it."""

from __future__ import annotations

import os
from pathlib import Path

import celery

from config.celery import app


# Celery's own names have no queue of the product.
@app.task(name="celery.grow", base=celery.Task)
def grow(file: str, size_bytes: int) -> None:
    """Take so much memory for a moment, and note in which process."""
    held = b"\1" * size_bytes
    with Path(file).open("a") as noted:
        noted.write(f"{os.getpid()} {len(held)}\n")
