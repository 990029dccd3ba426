"""The thread in which mechanisms follow what workloads do, between the rounds of the agent.

A service that answers slowly must not keep a reservation waiting.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)

# Who comes or goes finds other weights before the next second begins.
PERIOD_S = 0.5


@contextmanager
def following(follow: Callable[[], None], *, period_s: float = PERIOD_S) -> Iterator[None]:
    """Call `follow` each period, until the end of the block, and then no more."""
    stopping = threading.Event()
    thread = threading.Thread(
        target=_repeat, args=(follow, stopping, period_s), name="following", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def _repeat(follow: Callable[[], None], stopping: threading.Event, period_s: float) -> None:
    next_s = time.monotonic() + period_s
    while not stopping.wait(max(0.0, next_s - time.monotonic())):
        try:
            follow()
        except Exception:
            # One bad period must not end the following.
            log.exception("period failed")
        # Periods that were missed are not made up for.
        next_s = max(next_s + period_s, time.monotonic())
