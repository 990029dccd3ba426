"""Read an inventory from a vCenter, or from a file that `govc` wrote.

The account needs the role Read-only. Nothing is written there, and the session ends with the read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from ingest.core.source_errors import AnswerError, ExportError, FaultError, SourceError
from ingest.core.vcenter import soap
from ingest.core.vcenter.export import read_export
from ingest.core.vcenter.managed_object import (
    ManagedObject,
    managed_objects,
    merged,
    text,
    within,
)
from ingest.core.vcenter.read_inventory import WANTED
from ingest.imports.connection import Trust, Way, connected, place_of

PATHS = ("", "/sdk")
"""What the address of a vCenter may end with."""
PAGE = 200
"""So many objects are asked for at a time."""
MOST_ANSWER_BYTES = 256 * 1024 * 1024
MOST_EXPORT_BYTES = 1024 * 1024 * 1024
_SERVICE = ("ServiceInstance", "ServiceInstance")
_COOKIE = "vmware_soap_session"
_HEADERS = {"Content-Type": 'text/xml; charset="utf-8"', "SOAPAction": "urn:vim25/6.0"}

Progress = Callable[[str, int], None]
"""Told after each page: the kind of objects, and how many of it were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Who logs in."""

    user: str
    password: str = field(repr=False)


def read_file(path: Path) -> list[ManagedObject]:
    """The objects of an export; SourceError if it cannot be read."""
    try:
        if path.stat().st_size > MOST_EXPORT_BYTES:
            raise ExportError(f"{path} has more than {MOST_EXPORT_BYTES >> 20} MiB")
        document = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ExportError(f"{path} cannot be read: {error}") from error
    try:
        return read_export(document)
    except ExportError as error:
        raise ExportError(f"{path}: {error}") from error


def read_live(
    url: str,
    account: Account,
    *,
    ca_file: Path | None = None,
    way: Way | None = None,
    page: int = PAGE,
    progress: Progress = lambda _kind, _count: None,
) -> list[ManagedObject]:
    """The objects of a running vCenter; SourceError says why there are none.

    `way` says how it is reached and trusted; without it, by its name and the `ca_file`.
    """
    with _session(url, account, way or Way(trust=Trust(ca_file=ca_file))) as (session, content):
        views = soap.manager(content, "viewManager")
        root = soap.manager(content, "rootFolder")
        collector = soap.manager(content, "propertyCollector")
        return merged(
            one
            for kind, paths in WANTED.items()
            for one in _of_kind(
                session, (views, root, collector), kind, paths, page=page, progress=progress
            )
        )


def greet(url: str, account: Account, way: Way) -> str:
    """What a running vCenter calls itself, once it has let the account in; else SourceError."""
    with _session(url, account, way) as (_, content):
        return text(within(content, "about", "fullName")) or "a vCenter"


@contextmanager
def _session(url: str, account: Account, way: Way) -> Iterator[tuple[_Session, object]]:
    """A session that ends with the block, and what the service names."""
    place_of(url, paths=PATHS)
    with connected(url, way) as connection:
        session = _Session(connection, url)
        content = session.ask(soap.call("RetrieveServiceContent", _SERVICE))
        if not soap.is_vcenter(content):
            raise AnswerError(f"{url} is one ESXi host; give the address of its vCenter")
        sessions = soap.manager(content, "sessionManager")
        session.log_in(sessions, account)
        try:
            yield session, content
        finally:
            session.log_out(sessions)


def _of_kind(
    session: _Session,
    managers: tuple[soap.Reference, soap.Reference, soap.Reference],
    kind: str,
    paths: tuple[str, ...],
    *,
    page: int,
    progress: Progress,
) -> Iterator[ManagedObject]:
    """All objects of a kind, page by page."""
    views, root, collector = managers
    view = soap.manager({"view": session.ask(soap.view_of(views, root, kind))}, "view")
    answer = session.ask(soap.properties_of(collector, view, kind, paths, most=page))
    count = 0
    while True:
        objects, token = soap.page_of(answer)
        count += len(objects)
        yield from managed_objects(objects)
        progress(kind, count)
        if not token:
            return
        answer = session.ask(soap.more_properties(collector, token))


class _Session:
    """Sends requests one after the other, with the cookie of the session."""

    def __init__(self, connection: HTTPConnection, url: str) -> None:
        self._connection = connection
        self._url = url
        self._cookie = ""

    def ask(self, request: bytes) -> object:
        """The answer; FaultError if it is refused."""
        headers = {**_HEADERS, **({"Cookie": self._cookie} if self._cookie else {})}
        self._connection.request("POST", "/sdk", request, headers)
        answer = self._connection.getresponse()
        body = answer.read(MOST_ANSWER_BYTES + 1)
        if len(body) > MOST_ANSWER_BYTES:
            raise AnswerError(f"{self._url} answers with more than {MOST_ANSWER_BYTES >> 20} MiB")
        # Faults come with status 500.
        if answer.status not in (200, 500):
            raise AnswerError(
                f"{self._url} answers {answer.status} {answer.reason}; is it a vCenter?"
            )
        for given in answer.headers.get_all("Set-Cookie") or ():
            if given.startswith(f"{_COOKIE}="):
                self._cookie = given.partition(";")[0]
        try:
            return soap.read_answer(body)
        except FaultError:
            raise
        except AnswerError as error:
            raise AnswerError(f"{self._url}: {error}") from error

    def log_in(self, sessions: soap.Reference, account: Account) -> None:
        try:
            self.ask(soap.login(sessions, account.user, account.password))
        except FaultError as error:
            if error.fault == "InvalidLogin":
                raise AnswerError(
                    f"{self._url} refuses user {account.user}: wrong name or password"
                ) from error
            raise

    def log_out(self, sessions: soap.Reference) -> None:
        """End the session; one that has ended already, or is cut off, needs no end."""
        try:
            self.ask(soap.call("Logout", sessions))
        except (SourceError, OSError, HTTPException):
            return
