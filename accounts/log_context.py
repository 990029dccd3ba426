"""What each log line of a request or a task tells beside its own fields: first of all its id.

The fields are one object, which the event loop of a request shares with the thread that answers
it: what the one learns, such as the organisation, stands in the lines of the other.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

REQUEST_ID_HEADER = "X-Request-ID"
_WELL_FORMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,63}")
_NOTHING: Mapping[str, object] = {}

_fields: ContextVar[dict[str, object] | None] = ContextVar("log_fields", default=None)


def new_request_id() -> str:
    """An id that no other request has."""
    return uuid.uuid4().hex


def taken_request_id(sent: str) -> str:
    """The id that a client sent, if it is 8 to 64 letters, digits, `.`, `_`, `-`; else a new one.

    Nothing else of a client's text comes into logs and answers by it.
    """
    return sent if _WELL_FORMED.fullmatch(sent) else new_request_id()


@contextmanager
def working_on(**fields: object) -> Iterator[dict[str, object]]:
    """Lines that are logged meanwhile have these fields, and those that `tell` adds."""
    own = dict(fields)
    token = _fields.set(own)
    try:
        yield own
    finally:
        _fields.reset(token)


def tell(**fields: object) -> None:
    """Add to what further lines of this request or task tell; without one nothing is kept."""
    if (own := _fields.get()) is not None:
        own.update(fields)


def told() -> Mapping[str, object]:
    """What lines that are logged now tell."""
    return _fields.get() or _NOTHING


def request_id() -> str:
    """The id of the request or task that is worked on; empty outside of one."""
    return str(told().get("request_id", ""))
