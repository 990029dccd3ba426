"""Whose rows a request may see in the database (`config.row_walls`).

A web server's connection sees all rows until a request begins: what stores samples works for
everybody. Within a request it sees nothing, until it is said who asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

_WALL, _TOLD = "sluice_row_wall", "sluice_told"
"""The attributes of a connection, so of a thread: the present wall, and what its session knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Who asks: a person, or who shows a secret, or somebody of an organisation."""

    user: int | None = None
    organisation: int | None = None
    secret: str = ""
    everything: bool = False


NOTHING, EVERYTHING = Seen(), Seen(everything=True)


class _Told:
    """What a session of the database was told. It forgets what is rolled back."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self._session = connection.connection
        self._is_committed = not connection.in_atomic_block
        if connection.in_atomic_block:
            # Django drops this with the transaction or the savepoint in which it was told.
            transaction.on_commit(self._commit)

    @property
    def holds(self) -> bool:
        if connection.connection is not self._session:
            return False
        return self._is_committed or any(
            hook == self._commit for _, hook, *_ in connection.run_on_commit
        )

    def _commit(self) -> None:
        self._is_committed = True


class RowWall:
    """What the request on this connection sees; the database is told before the next statement."""

    def __init__(self, told: _Told | None = None) -> None:
        """`told` is what the session may know from the request before."""
        self._wanted = NOTHING
        self._told = told
        self._is_telling = False

    def show(self, seen: Seen) -> None:
        self._wanted = seen

    @property
    def wanted(self) -> Seen:
        return self._wanted

    @property
    def lasting(self) -> _Told | None:
        """What the session knows beyond this request.

        Of a person or a secret it is told anew: memberships change.
        """
        told = self._told
        return told if told is not None and told.seen.organisation is not None else None

    def tell(self) -> None:
        """Tell the database now, unless it still knows."""
        known = self._told is not None and self._told.seen == self._wanted and self._told.holds
        if known or self._is_telling:
            return
        self._is_telling = True
        try:
            with connection.cursor() as cursor:
                cursor.execute(_statements(self._wanted))
        finally:
            self._is_telling = False
        self._told = _Told(self._wanted)

    def __call__(
        self, execute: Callable[..., Any], query: Any, params: Any, many: bool, context: Any
    ) -> Any:
        self.tell()
        return execute(query, params, many, context)


def _statements(seen: Seen) -> str:
    """Values are numbers and hexadecimal digits, so nothing in them needs quotes."""
    assert seen.secret == "" or int(seen.secret, 16) >= 0, "a secret is told as its digest"
    settings = {
        "sluice.sees": "all" if seen.everything else "own",
        "sluice.user": "" if seen.user is None else str(int(seen.user)),
        "sluice.secret": seen.secret,
        "sluice.organisations": "" if seen.organisation is None else str(int(seen.organisation)),
    }
    set_all = ", ".join(
        f"set_config('{name}', '{value}', false)" for name, value in settings.items()
    )
    if seen.secret:
        own = f"SELECT organisation_id FROM accounts_token WHERE digest = '{seen.secret}'"  # noqa: S608
    elif seen.user is not None:
        user = int(seen.user)
        own = f"SELECT organisation_id FROM accounts_membership WHERE user_id = {user}"  # noqa: S608
    else:
        return f"SELECT {set_all}"
    named = f"array_to_string(ARRAY({own}), ',')"
    return f"SELECT {set_all}; SELECT set_config('sluice.organisations', {named}, false)"


@contextmanager
def walled() -> Iterator[RowWall]:
    """Within, statements on this thread's connection see nothing until somebody is shown."""
    wall = RowWall(getattr(connection, _TOLD, None))
    setattr(connection, _WALL, wall)
    try:
        with connection.execute_wrapper(wall):
            yield wall
    finally:
        setattr(connection, _WALL, None)
        setattr(connection, _TOLD, wall.lasting)


def look_as(user: int) -> None:
    """From now on the rows of a person's organisations are seen."""
    if (wall := _wall()) is not None:
        wall.show(Seen(user=user))
        wall.tell()


def look_at(organisation: int) -> None:
    """From now on the rows of an organisation are seen."""
    if (wall := _wall()) is not None:
        wall.show(Seen(organisation=organisation))


def tell() -> None:
    """Tell the database now, for what goes by no statement of Django's, such as COPY."""
    if (wall := _wall()) is not None:
        wall.tell()


def show_secret(digest: str) -> None:
    """From now on the rows of the organisation of whose token this is the digest are seen."""
    if (wall := _wall()) is not None:
        wall.show(Seen(secret=digest))


@contextmanager
def lifted() -> Iterator[None]:
    """Within, all rows are seen: only for what makes an organisation, or is of no person."""
    wall = _wall()
    if wall is None:
        yield
        return
    before = wall.wanted
    wall.show(EVERYTHING)
    try:
        yield
    finally:
        wall.show(before)
        wall.tell()


def _wall() -> RowWall | None:
    return getattr(connection, _WALL, None)
