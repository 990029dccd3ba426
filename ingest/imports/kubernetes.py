"""Read a Kubernetes cluster by its API: lists, in pages. Claims alone are changed, where asked.

The API is that of Kubernetes 1.24 and later; VolumeAttributesClasses are read where it has them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection
from typing import Any, TypeVar
from urllib.parse import urlencode

from ingest.core.kubernetes.cluster import Claim, Cluster
from ingest.core.kubernetes.read_objects import (
    read_claim,
    read_class,
    read_owner,
    read_pod,
    read_volume,
    with_labels_of_owners,
)
from ingest.core.source_errors import AnswerError, StatusError
from ingest.imports.connection import Way, connected, place_of

PAGE = 500
"""So many objects are asked for at a time, as kubectl does."""
MOST_OBJECTS = 300_000
"""Of one kind; Kubernetes is made for 150,000 pods."""
MOST_ANSWER_BYTES = 64 * 1024 * 1024
MOST_BEGINNINGS = 3
"""So often a list that changed while it was read is begun again."""
SHORT = 200
_THERE = "status.phase!=Succeeded,status.phase!=Failed"
_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
"""Of what keeps pods only the labels are asked for."""
_CLASSES = ("v1", "v1beta1")
_OWNERS = {"Deployment": "deployments", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets"}

One = TypeVar("One")


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """Where a cluster's API is, and who asks."""

    url: str
    token: str = field(repr=False)


def read_live(api: Api, way: Way, *, page: int = PAGE) -> Cluster:
    """What a cluster has now; SourceError says why nothing is known.

    Pods and claims have to be shown. What else is not shown is told in `unread`.
    """
    with connected(api.url, way) as connection:
        reading = _Reading(_Session(connection, api), page)
        pods = reading.all_of("/api/v1/pods", read_pod, {"fieldSelector": _THERE})
        claims = reading.all_of("/api/v1/persistentvolumeclaims", read_claim)
        volumes = reading.shown("/api/v1/persistentvolumes", read_volume)
        owners = [
            one
            for kind, plural in _OWNERS.items()
            for one in reading.shown(f"/apis/apps/v1/{plural}", partial(read_owner, kind=kind))
        ]
        return Cluster(
            pods=with_labels_of_owners(pods, owners),
            claims=tuple(claims),
            volumes=tuple(volumes),
            classes=tuple(reading.classes()),
            unreadable=reading.unreadable,
            unread=tuple(reading.unread),
        )


def greet(api: Api, way: Way) -> str:
    """Which version a cluster has, once it has let the token list pods; else SourceError."""
    with connected(api.url, way) as connection:
        session = _Session(connection, api)
        version = session.get("/version", {}).get("gitVersion")
        session.get("/api/v1/pods", {"limit": "1"})
        return f"Kubernetes {version}"[:SHORT] if isinstance(version, str) else "Kubernetes"


class Claims:
    """Claims one by one, of which the VolumeAttributesClass is changed.

    The token needs the right to list claims, and the one to patch them.
    """

    def __init__(self, session: _Session) -> None:
        self._session = session

    def now(self, namespace: str, name: str) -> Claim | None:
        """A claim as it is now; None if there is none."""
        query = {"fieldSelector": f"metadata.name={name}", "limit": "1"}
        items = self._session.get(_claims_in(namespace), query).get("items")
        return read_claim(items[0]) if isinstance(items, list) and items else None

    def ask_for(self, claim: Claim, wanted: str, *, only_try: bool) -> None:
        """Have a claim ask for a class, or only ask whether it may; StatusError if it may not.

        One that somebody changed meanwhile, or that is another under its name, is left as it is.
        """
        same = {"uid": claim.uid, "resourceVersion": claim.version}
        change = {"metadata": same, "spec": {"volumeAttributesClassName": wanted or None}}
        tries = {"dryRun": "All"} if only_try else {}
        path = f"{_claims_in(claim.namespace)}/{claim.name}"
        self._session.patch(path, {"fieldManager": "sluice", **tries}, change)


def _claims_in(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"


@contextmanager
def changing_claims(api: Api, way: Way) -> Iterator[Claims]:
    """The claims of a cluster, over one connection; SourceError where it cannot be reached."""
    with connected(api.url, way) as connection:
        yield Claims(_Session(connection, api))


class _Session:
    """Sends requests one after the other."""

    def __init__(self, connection: HTTPConnection, api: Api) -> None:
        self._connection = connection
        self._url = api.url
        self._below = place_of(api.url).path
        self._headers = {"Authorization": f"Bearer {api.token}", "User-Agent": "sluice"}

    def get(self, path: str, query: Mapping[str, str]) -> Mapping[str, Any]:
        """The object that is answered; StatusError if it is refused."""
        accept = _METADATA if path.startswith("/apis/apps/") else "application/json"
        return self._ask("GET", path, query, {"Accept": accept})

    def patch(self, path: str, query: Mapping[str, str], change: Mapping[str, Any]) -> None:
        """Change a part of an object (RFC 7386); StatusError if it is refused."""
        headers = {"Accept": "application/json", "Content-Type": "application/merge-patch+json"}
        self._ask("PATCH", path, query, headers, json.dumps(change).encode())

    def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> Mapping[str, Any]:
        words = f"?{urlencode(query)}" if query else ""
        self._connection.request(
            method, f"{self._below}{path}{words}", body, {**self._headers, **headers}
        )
        answer = self._connection.getresponse()
        body = answer.read(MOST_ANSWER_BYTES + 1)
        if len(body) > MOST_ANSWER_BYTES:
            raise AnswerError(f"{self._url} answers with more than {MOST_ANSWER_BYTES >> 20} MiB")
        said = _object_of(body)
        if answer.status != 200:
            raise self._refused(method, path, answer.status, said)
        if not said:
            raise AnswerError(f"{self._url} answers with no object; is it a Kubernetes cluster?")
        return said

    def _refused(
        self, method: str, path: str, status: int, said: Mapping[str, Any]
    ) -> StatusError:
        what = path.rpartition("/")[2]
        does = "list" if method == "GET" else "change claim"
        told = said.get("message")
        more = f": {told[:SHORT]}" if isinstance(told, str) and told.isprintable() else ""
        text = {
            401: f"{self._url} refuses the token: it is wrong, or its time is over",
            403: f"{self._url} does not let the token {does} {what}{more}",
            404: f"{self._url} has no {what}; is it the API of a Kubernetes cluster?",
            429: f"{self._url} is busy, and asks to be read later",
        }.get(status, f"{self._url} answers {status} for {what}{more}")
        goes_on = said.get("metadata")
        token = goes_on.get("continue") if isinstance(goes_on, Mapping) else None
        return StatusError(status, text, token=token if isinstance(token, str) else "")


class _Reading:
    """Reads whole lists, and counts what could not be read."""

    def __init__(self, session: _Session, page: int) -> None:
        self._session = session
        self._page = page
        self.unreadable = 0
        self.unread: list[str] = []

    def all_of(
        self,
        path: str,
        read: Callable[[object], One | None],
        query: Mapping[str, str] | None = None,
    ) -> list[One]:
        """All objects of a list; one that is begun again is whole from its new beginning."""
        for _ in range(MOST_BEGINNINGS):
            try:
                return self._whole(path, read, query or {})
            except StatusError as error:
                # The moment of which the pages are is not kept any more.
                if error.status != 410:
                    raise
        raise AnswerError(f"{path} changed {MOST_BEGINNINGS} times while it was read")

    def shown(self, path: str, read: Callable[[object], One | None]) -> list[One]:
        """The same of a list that need not be shown."""
        try:
            return self.all_of(path, read)
        except StatusError as error:
            if error.status not in (403, 404):
                raise
            self.unread.append(f"{path.rpartition('/')[2]} are not shown ({error.status})")
            return []

    def classes(self) -> list[Any]:
        """VolumeAttributesClasses, by the newest version of the API that has them."""
        for version in _CLASSES:
            path = f"/apis/storage.k8s.io/{version}/volumeattributesclasses"
            try:
                return self.all_of(path, read_class)
            except StatusError as error:
                if error.status == 403:
                    self.unread.append("volumeattributesclasses are not shown (403)")
                    return []
                if error.status != 404:
                    raise
        return []

    def _whole(
        self, path: str, read: Callable[[object], One | None], query: Mapping[str, str]
    ) -> list[One]:
        found: list[One] = []
        unreadable = 0
        for count, item in enumerate(self._items(path, query), start=1):
            if count > MOST_OBJECTS:
                raise AnswerError(f"{path} has more than {MOST_OBJECTS} objects")
            one = read(item)
            if one is None:
                unreadable += 1
            else:
                found.append(one)
        self.unreadable += unreadable
        return found

    def _items(self, path: str, query: Mapping[str, str]) -> Iterator[object]:
        """Each object, page by page.

        A page that comes too late says by which token the rest of the list can still be had, as
        it is then: an object that comes or goes meanwhile is missed, as by a read before it.
        """
        going_on, late = "", 0
        while True:
            asked = {**query, "limit": str(self._page), "continue": going_on}
            try:
                said = self._session.get(path, {key: word for key, word in asked.items() if word})
            except StatusError as error:
                late += error.status == 410
                if error.status != 410 or not error.token or late > MOST_BEGINNINGS:
                    raise
                going_on = error.token
                continue
            items, about = said.get("items"), said.get("metadata")
            # An empty list may be null.
            if not isinstance(items, list | None) or not isinstance(about, Mapping):
                raise AnswerError(f"{path} is answered with no list")
            yield from items or ()
            before, going_on = going_on, about.get("continue") or ""
            if not going_on:
                return
            if not isinstance(going_on, str) or going_on == before:
                raise AnswerError(f"{path} is answered with pages that do not end")


def _object_of(body: bytes) -> Mapping[str, Any]:
    """The JSON object of an answer; empty if it has none."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
