"""The id of one exchange with the service, by which its lines are found in both logs."""

import os
from collections.abc import Mapping
from contextvars import ContextVar

HEADER = "X-Request-ID"
"""The service takes it over, answers with it, and tells it in its own log."""

_newest: ContextVar[str] = ContextVar("newest_request_id", default="")


def begin_exchange() -> str:
    """An id that no other exchange has; it is this thread's newest from now on."""
    _newest.set(os.urandom(16).hex())
    return _newest.get()


def of_newest_exchange() -> Mapping[str, str]:
    """What a line tells of this thread's newest exchange; nothing before the first."""
    return {"request_id": _newest.get()} if _newest.get() else {}
