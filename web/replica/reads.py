"""Reads a page or an answer of the API on the replica, and on the primary where that fails.

Statements go to `django.db.connection` or to the alias `default`, by the ORM or by cursors.
Within a read the thread's connection of that alias is the one to the replica: so all of them go
there, and none needs to know.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, TypeVar

import psycopg
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connections
from django.http import Http404, HttpResponseBase
from psycopg.errors import QueryCanceled

from accounts.row_wall import Seen, walled
from web.replica.alias import ALIAS
from web.replica.own_changes import has_just_changed
from web.replica.watch import WATCH, reason_of, replica_is_read

log = logging.getLogger(__name__)

Answer = TypeVar("Answer", bound=HttpResponseBase)


class _AskPrimary(BaseException):
    """A statement failed on the replica; no view handles or logs what is no `Exception`."""


def read_for(
    person: int, answer: Callable[[], Answer], *, organisation: int | None = None
) -> Answer:
    """What `answer` makes; it reads the replica if that has all that this person changed.

    On the replica the rows of the organisation are seen, or of all those of the person.
    The answer is made again on the primary where a statement failed on the replica, as one that
    writes does, or where a row is not found, which may be too new. A statement that took too long
    is not tried again.
    """
    if not settings.HAS_REPLICA or not replica_is_read() or has_just_changed(person):
        return answer()
    seen = Seen(user=person) if organisation is None else Seen(organisation=organisation)
    try:
        with on_replica(seen):
            found = answer()
    except Http404:
        return answer()
    except _AskPrimary as failed:
        _note(reason_of(failed))
        return answer()
    return answer() if found.status_code == HTTPStatus.NOT_FOUND else found


@contextmanager
def on_replica(seen: Seen) -> Iterator[None]:
    """Within, this thread's statements go to the replica, and see the rows of who is seen."""
    primary, replica = connections["default"], connections[ALIAS]
    with _failing_to_primary():
        replica.close_if_health_check_failed()
        replica.ensure_connection()
    connections["default"] = replica
    try:
        with replica.execute_wrapper(_executed), walled() as wall:
            wall.show(seen)
            yield
    finally:
        connections["default"] = primary


def _executed(
    execute: Callable[..., Any], query: Any, params: Any, many: bool, context: Any
) -> Any:
    with _failing_to_primary():
        found = execute(query, params, many, context)
    # Rows that are streamed come after it.
    return _rest_of(found) if isinstance(found, Generator) else found


def _rest_of(rows: Iterator[Any]) -> Iterator[Any]:
    with _failing_to_primary():
        yield from rows


@contextmanager
def _failing_to_primary() -> Iterator[None]:
    try:
        yield
    except (DatabaseError, InterfaceError, psycopg.Error) as error:
        if isinstance(error, QueryCanceled) or isinstance(error.__cause__, QueryCanceled):
            raise
        raise _AskPrimary(reason_of(error)) from error


def _note(reason: str) -> None:
    replica = connections[ALIAS]
    replica.close_if_unusable_or_obsolete()
    if replica.connection is None:
        WATCH.leave_out(reason)
    else:
        log.warning("read again on the primary", extra={"reason": reason})
