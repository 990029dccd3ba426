"""The API of a Kubernetes cluster, as far as lists in pages go."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.advisor.small_server import drip, small_server

TOKEN = "of-a-reader"
UID = "7f6d2c1e-0000-4000-8000-{:012d}"
PODS, CLAIMS = "/api/v1/pods", "/api/v1/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
DEPLOYMENTS = "/apis/apps/v1/deployments"
STATEFUL = "/apis/apps/v1/statefulsets"
CLASSES = "/apis/storage.k8s.io/v1/volumeattributesclasses"
NOTHING: dict[str, list[Any]] = {
    PODS: [], CLAIMS: [], VOLUMES: [], DEPLOYMENTS: [], STATEFUL: [],
    "/apis/apps/v1/daemonsets": [],
}  # fmt: skip

Object = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class SmallCluster:
    """What it lists, and how it behaves; `asked` are the paths with their queries,
    `changes` those of claims with whether they were only tried.

    `refuses` has by path the status and the rest of its answer, each taken once if `once`.
    """

    url: str = ""
    lists: dict[str, Any] = field(default_factory=lambda: {**NOTHING})
    refuses: dict[str, list[tuple[int, Object]]] = field(default_factory=dict)
    raw: bytes | None = None
    drips: bool = False
    goes_on: threading.Event = field(default_factory=threading.Event)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    changes: list[tuple[str, Object, str]] = field(default_factory=list)

    def answer(self, path: str, query: dict[str, str], token: str) -> tuple[int, bytes]:
        if found := self._refused(path, query, token):
            return found
        if self.raw is not None:
            return 200, self.raw
        if path == "/version":
            return _said(200, {"gitVersion": "v1.36.1"})
        if path not in self.lists:
            return _said(404, {"message": "the server could not find the requested resource"})
        if "fieldSelector" in query and path.endswith("persistentvolumeclaims"):
            name = query["fieldSelector"].removeprefix("metadata.name=")
            found = [one for one in self.lists[path] if one["metadata"]["name"] == name]
            return _said(200, {"metadata": {}, "items": found})
        begins, most = int(query.get("continue", "0")), int(query["limit"])
        items = self.lists[path]
        page = items[begins : begins + most]
        more = str(begins + most) if begins + most < len(items) else ""
        return _said(200, {"metadata": {"continue": more}, "items": page})

    def change(
        self, path: str, query: dict[str, str], token: str, change: Object
    ) -> tuple[int, bytes]:
        """A claim is given what is said of its spec, unless it is only tried."""
        if found := self._refused(path, query, token):
            return found
        listed, name = path.rsplit("/", 1)
        (one,) = (one for one in self.lists[listed] if one["metadata"]["name"] == name)
        if any(one["metadata"][key] != value for key, value in change["metadata"].items()):
            return _said(409, {"message": "the object has been modified"})
        self.changes.append((name, change["spec"], query.get("dryRun", "")))
        if "dryRun" not in query:
            one["spec"] = {**one.get("spec", {}), **change["spec"]}
            one["metadata"]["resourceVersion"] += "0"
        return _said(200, one)

    def _refused(self, path: str, query: dict[str, str], token: str) -> tuple[int, bytes] | None:
        self.asked.append((path, query))
        self.tokens.append(token)
        if token != f"Bearer {TOKEN}":
            return _said(401, {"message": "Unauthorized"})
        if self.refuses.get(path):
            return _said(*self.refuses[path].pop(0))
        return None


def _said(status: int, said: Object) -> tuple[int, bytes]:
    return status, json.dumps(said).encode()


def pod(number: int, name: str, *, namespace: str = "shop", **parts: Any) -> Object:
    """A pod that runs; `labels`, `claims` (names), `owner` (kind and name)."""
    about: Object = {
        "uid": UID.format(number),
        "namespace": namespace,
        "name": name,
        "labels": parts.get("labels", {}),
    }
    if "owner" in parts:
        kind, of = parts["owner"]
        about["ownerReferences"] = [{"kind": kind, "name": of, "controller": True}]
    volumes = [
        {"name": one, "persistentVolumeClaim": {"claimName": one}}
        for one in parts.get("claims", ())
    ]
    return {"metadata": about, "spec": {"nodeName": "node-1", "volumes": volumes}}


@contextmanager
def small_cluster(certificate: Path | None = None) -> Iterator[SmallCluster]:
    """It runs on this machine; with a file of its key and certificate it speaks TLS."""
    cluster = SmallCluster()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if cluster.drips and not drip(self, cluster.goes_on):
                return
            path, query = self._asked()
            self._send(*cluster.answer(path, query, self.headers.get("Authorization", "")))

        def do_PATCH(self) -> None:
            change = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path, query = self._asked()
            token = self.headers.get("Authorization", "")
            self._send(*cluster.change(path, query, token, change))

        def _asked(self) -> tuple[str, dict[str, str]]:
            parts = urlsplit(self.path)
            return parts.path, {name: words[0] for name, words in parse_qs(parts.query).items()}

        def _send(self, status: int, said: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            pass

    with small_server(Handler, certificate, cluster.goes_on) as cluster.url:
        yield cluster
