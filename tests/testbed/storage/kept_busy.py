"""A guest in virtual time that is never idle, so that its time does not run off while it waits."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_busy() -> Iterator[None]:
    """Somebody works meanwhile, with all that nobody else wants of the processor."""
    process = os.fork()
    if not process:
        os.nice(19)
        while True:
            pass
    try:
        yield
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
