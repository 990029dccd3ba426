"""The thread in which mechanisms follow what workloads do, between the rounds of the agent.

A service that answers slowly must not keep a reservation waiting.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)

# Who comes or goes finds other weights before the next second begins.
PERIOD_S = 0.5
LOOK_S = 0.1
"""So long a short look takes."""
_LOOKS_A_PERIOD = 0.05
"""Groups are read one by one, and a look reads each twice: so many take a tenth of the work."""


@contextmanager
def following(
    follow: Callable[[], None],
    *,
    look: Callable[[], None],
    period_s: float = PERIOD_S,
    random_part: Callable[[], float] = random.random,  # noqa: S311  no secret
) -> Iterator[None]:
    """Call `follow` each period, until the end of the block, and then no more.

    `look` is called twice, `LOOK_S` apart, at moments of chance: one period in twenty, at any
    time of it, so that what comes back each second is met as often as it lasts.
    """
    stopping = threading.Event()
    thread = threading.Thread(
        target=_repeat,
        args=(follow, look, stopping, period_s, random_part),
        name="following",
        daemon=True,
    )
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def _repeat(
    follow: Callable[[], None],
    look: Callable[[], None],
    stopping: threading.Event,
    period_s: float,
    random_part: Callable[[], float],
) -> None:
    next_s = time.monotonic() + period_s
    while not stopping.wait(max(0.0, next_s - time.monotonic())):
        _try(follow)
        # A look that lasts into the next period delays it.
        if random_part() < _LOOKS_A_PERIOD and not stopping.wait(period_s * random_part()):
            _try(look)
            if not stopping.wait(LOOK_S):
                _try(look)
        # Periods that were missed are not made up for.
        next_s = max(next_s + period_s, time.monotonic())


def _try(work: Callable[[], None]) -> None:
    try:
        work()
    except Exception:
        # One bad period must not end the following.
        log.exception("period failed")
