"""A real API server of Kubernetes on this machine's loopback, with etcd and nothing else.

Nothing runs pods; `ending_hooks` stands in for what runs Jobs: it marks those of hooks complete,
or failed.
"""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.chart.programs_here import program
from tests.chart.rendering import Object

READY_WITHIN_S = 90.0
TOKEN = "of-this-test-alone"
READER, LISTER = "reader", "lister"
"""The tokens and the names of users who may do what a test lets them."""
API = {
    "Namespace": ("api/v1", "namespaces"),
    "Pod": ("api/v1", "pods"),
    "Secret": ("api/v1", "secrets"),
    "ConfigMap": ("api/v1", "configmaps"),
    "Service": ("api/v1", "services"),
    "Deployment": ("apis/apps/v1", "deployments"),
    "StatefulSet": ("apis/apps/v1", "statefulsets"),
    "DaemonSet": ("apis/apps/v1", "daemonsets"),
    "Job": ("apis/batch/v1", "jobs"),
    "HorizontalPodAutoscaler": ("apis/autoscaling/v2", "horizontalpodautoscalers"),
    "PodDisruptionBudget": ("apis/policy/v1", "poddisruptionbudgets"),
    "Ingress": ("apis/networking.k8s.io/v1", "ingresses"),
    "NetworkPolicy": ("apis/networking.k8s.io/v1", "networkpolicies"),
    "ServiceAccount": ("api/v1", "serviceaccounts"),
    "PersistentVolume": ("api/v1", "persistentvolumes"),
    "PersistentVolumeClaim": ("api/v1", "persistentvolumeclaims"),
    "ClusterRole": ("apis/rbac.authorization.k8s.io/v1", "clusterroles"),
    "ClusterRoleBinding": ("apis/rbac.authorization.k8s.io/v1", "clusterrolebindings"),
    "VolumeAttributesClass": ("apis/storage.k8s.io/v1", "volumeattributesclasses"),
    "ServiceMonitor": ("apis/monitoring.coreos.com/v1", "servicemonitors"),
    "CustomResourceDefinition": ("apis/apiextensions.k8s.io/v1", "customresourcedefinitions"),
}
WITHOUT_NAMESPACE = {
    "Namespace", "CustomResourceDefinition", "PersistentVolume", "ClusterRole",
    "ClusterRoleBinding", "VolumeAttributesClass",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """An API server, and how it is spoken to; `authority` is its own certificate, in PEM,
    `store` the address of its etcd."""

    url: str
    kubeconfig: Path
    authority: Path
    store: str
    session: requests.Session = field(repr=False)

    @property
    def environment(self) -> dict[str, str]:
        """For Helm."""
        return {"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.kubeconfig.parent)}

    def path(self, kind: str, namespace: str, name: str = "") -> str:
        """Where an object, or those of a kind, are."""
        group, plural = API[kind]
        place = "" if kind in WITHOUT_NAMESPACE else f"/namespaces/{namespace}"
        return f"{group}{place}/{plural}" + (f"/{name}" if name else "")

    def ask(self, method: str, path: str, **more: Any) -> requests.Response:
        """What the API server answers."""
        return self.session.request(method, f"{self.url}/{path}", timeout=30, **more)

    def create(self, one: Object, namespace: str, *, only_try: bool = False) -> requests.Response:
        """Make an object, or only ask whether it would be made; unknown fields are refused."""
        query = {"fieldValidation": "Strict", **({"dryRun": "All"} if only_try else {})}
        return self.ask("POST", self.path(one["kind"], namespace), json=one, params=query)

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """The object; None if there is none."""
        answer = self.ask("GET", self.path(kind, namespace, name))
        if answer.status_code == requests.codes.not_found:
            return None
        answer.raise_for_status()
        found: Object = answer.json()
        return found

    def names(self, kind: str, namespace: str) -> list[str]:
        """Of all objects of a kind."""
        answer = self.ask("GET", self.path(kind, namespace))
        answer.raise_for_status()
        return sorted(one["metadata"]["name"] for one in answer.json()["items"])

    def make_namespace(self, name: str, **labels: str) -> None:
        """`labels` are of Pod Security, such as enforce="restricted"."""
        prefixed = {f"pod-security.kubernetes.io/{key}": value for key, value in labels.items()}
        about = {"name": name, "labels": prefixed}
        said = {"apiVersion": "v1", "kind": "Namespace", "metadata": about}
        assert self.create(said, "").status_code == requests.codes.created


@contextmanager
def running_cluster(folder: Path, *more: str) -> Iterator[Cluster]:
    """Until the block ends; all its files are in the folder. `more` are options of it."""
    ports = _free_ports(3)
    with (
        _process(folder, "etcd", *_etcd_words(folder, ports[0], ports[1])),
        _process(
            folder, "apiserver", *_apiserver_words(folder, ports[0], ports[2]), *more
        ) as server,
    ):
        session = _session()
        url = f"https://127.0.0.1:{ports[2]}"
        cluster = Cluster(
            url=url,
            kubeconfig=_kubeconfig(folder, url),
            authority=folder / "certificates" / "apiserver.crt",
            store=f"http://127.0.0.1:{ports[0]}",
            session=session,
        )
        _wait_until_ready(cluster, server, folder)
        yield cluster
        session.close()


def _session() -> requests.Session:
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {TOKEN}"
    # Its certificate is made by itself, for this run; authorities that the machine's environment
    # names would have it checked all the same.
    session.verify = session.trust_env = False
    return session


@contextmanager
def ending_hooks(cluster: Cluster, *, well: bool = True) -> Iterator[list[str]]:
    """Marks each Job of a hook complete, in all namespaces; yields the names of those."""
    done: list[str] = []
    over = threading.Event()
    # Of its own, because sessions are of one thread.
    session = _session()
    own = replace(cluster, session=session)

    def look() -> None:
        while not over.wait(0.2):
            for job in own.ask("GET", "apis/batch/v1/jobs").json()["items"]:
                about = job["metadata"]
                is_hook = "helm.sh/hook" in about.get("annotations", {})
                if is_hook and not job.get("status", {}).get("conditions"):
                    path = f"{own.path('Job', about['namespace'], about['name'])}/status"
                    answer = own.ask(
                        "PATCH", path, data=json.dumps({"status": _ended(well=well)}),
                        headers={"Content-Type": "application/merge-patch+json"},
                    )  # fmt: skip
                    if answer.ok:
                        done.append(f"{about['namespace']}/{about['name']}")

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield done
    finally:
        over.set()
        thread.join()
        session.close()


def _ended(*, well: bool) -> dict[str, Any]:
    """As the controller of Jobs leaves one whose pods have ended."""
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    is_so = {"status": "True", "lastProbeTime": at, "lastTransitionTime": at}
    if not well:
        conditions = [{"type": kind, **is_so} for kind in ("FailureTarget", "Failed")]
        return {"startTime": at, "failed": 4, "conditions": conditions}
    return {
        "startTime": at,
        "completionTime": at,
        "succeeded": 1,
        "conditions": [{"type": "SuccessCriteriaMet", **is_so}, {"type": "Complete", **is_so}],
    }


def _free_ports(count: int) -> list[int]:
    """Ports of the loopback that nobody uses now."""
    taken = [socket.socket() for _ in range(count)]
    for one in taken:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports


def _etcd_words(folder: Path, port: int, peers: int) -> list[str]:
    return [
        f"--data-dir={folder / 'etcd'}", "--unsafe-no-fsync",
        f"--listen-client-urls=http://127.0.0.1:{port}",
        f"--advertise-client-urls=http://127.0.0.1:{port}",
        f"--listen-peer-urls=http://127.0.0.1:{peers}",
        f"--initial-advertise-peer-urls=http://127.0.0.1:{peers}",
        f"--initial-cluster=default=http://127.0.0.1:{peers}",
    ]  # fmt: skip


def _apiserver_words(folder: Path, etcd: int, port: int) -> list[str]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    signs = folder / "service-accounts.pem"
    signs.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    tokens = folder / "tokens.csv"
    others = "".join(f"{name},{name},{name}\n" for name in (READER, LISTER))
    tokens.write_text(f"{TOKEN},admin,admin,system:masters\n{others}")
    return [
        f"--etcd-servers=http://127.0.0.1:{etcd}", f"--cert-dir={folder / 'certificates'}",
        "--bind-address=127.0.0.1", f"--secure-port={port}",
        # A service of the cluster cannot lead to an address of this machine alone.
        "--endpoint-reconciler-type=none",
        f"--service-account-key-file={signs}", f"--service-account-signing-key-file={signs}",
        "--service-account-issuer=https://kubernetes.default.svc", f"--token-auth-file={tokens}",
        "--authorization-mode=RBAC", "--service-cluster-ip-range=10.96.0.0/16",
        # Nobody makes the accounts that pods have by default.
        "--disable-admission-plugins=ServiceAccount",
    ]  # fmt: skip


@contextmanager
def _process(folder: Path, name: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [program(name), *words], cwd=folder, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _kubeconfig(folder: Path, url: str) -> Path:
    file = folder / "kubeconfig"
    said: Mapping[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "here", "cluster": {"server": url, "insecure-skip-tls-verify": True}}
        ],
        "users": [{"name": "admin", "user": {"token": TOKEN}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "admin"}}],
        "current-context": "here",
    }
    file.write_text(json.dumps(said))
    file.chmod(0o600)
    return file


def _wait_until_ready(cluster: Cluster, server: subprocess.Popen[bytes], folder: Path) -> None:
    until = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < until:
        assert server.poll() is None, (folder / "apiserver.log").read_text()[-3000:]
        try:
            if cluster.ask("GET", "readyz").ok and cluster.get("Namespace", "", "default"):
                return
        except requests.ConnectionError:
            pass
        time.sleep(0.2)
    raise AssertionError((folder / "apiserver.log").read_text()[-3000:])
