"""A source that is a Kubernetes cluster, against a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import requests
import yaml
from pytest_django import Settings

from accounts.actor import Actor
from accounts.models import Organisation
from accounts.roles import Role
from advisor.decisions.sources.problems import StatedSource
from advisor.decisions.sources.reading import read_where_due
from advisor.decisions.sources.stating import ask_trial, state_source
from advisor.models import ClusterClaim, ClusterPod, ReadSource, VolumeClass
from advisor.models.source import SourceKind
from ingest.core.source_errors import StatusError
from ingest.imports import kubernetes
from tests.advisor.scenario import NOW
from tests.chart.cluster import READER, Cluster, running_cluster
from tests.chart.test_rendered import ROOT

pytestmark = [
    pytest.mark.chart,
    pytest.mark.slow,
    pytest.mark.django_db,
    # The API server makes its certificate by itself.
    pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning"),
]

DRIVER = "csi.example.net"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as found:
        for one in what_it_has():
            made(found, one)
        yield found


def what_it_has() -> Iterator[dict[str, Any]]:
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    yield {
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass",
        "metadata": {"name": "gold"}, "driverName": DRIVER, "parameters": {"iops": "4000"},
    }  # fmt: skip
    yield {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pvc-1"},
        "spec": {
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": DRIVER, "volumeHandle": "vol-1"},
        },
    }  # fmt: skip
    yield {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data-db-0", "namespace": "shop", "labels": {"keep": "long"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "volumeName": "pvc-1", "storageClassName": "fast",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }  # fmt: skip
    labels = {"app": "web", "pod-template-hash": "5d8f"}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers()}}
    yield {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"team": "red"}},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template},
    }  # fmt: skip
    owner = {
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d8f", "uid": "u-1",
        "controller": True,
    }  # fmt: skip
    yield pod("web-5d8f-x", labels=labels, ownerReferences=[owner])
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}
    yield pod("db-0", volumes=[claim], labels={"sluice.io/tier": "high"})
    for number in range(12):
        yield pod(f"more-{number}")


def containers() -> list[dict[str, Any]]:
    return [{"name": "one", "image": "example.net/one"}]


def pod(name: str, *, volumes: Any = (), **about: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", **about},
        "spec": {"containers": containers(), "volumes": list(volumes), "nodeName": "node-1"},
    }  # fmt: skip


def made(cluster: Cluster, one: dict[str, Any]) -> None:
    answer = cluster.create(one, one["metadata"].get("namespace", ""))
    assert answer.status_code == requests.codes.created, answer.text


@pytest.fixture(scope="module")
def reader(cluster: Cluster) -> str:
    """Who may do what the page says that the account of a source needs."""
    page = (ROOT / "docs/kubernetes.md").read_text()
    role, _ = (
        one
        for block in page.split("```yaml\n")[1:]
        for one in yaml.safe_load_all(block.partition("```")[0])
        if str(one.get("kind", "")).startswith("ClusterRole")
    )
    made(cluster, role)
    name = role["metadata"]["name"]
    about = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": READER}
    made(
        cluster,
        {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": name}, "roleRef": about, "subjects": [user],
        },
    )  # fmt: skip
    return READER


def stated(cluster: Cluster, settings: Settings, token: str) -> ReadSource:
    settings.SOURCE_ADDRESSES = "any"
    acme, _ = Organisation.objects.get_or_create(slug="acme", name="Acme")
    return state_source(
        organisation=acme,
        stated=StatedSource(
            kind=SourceKind.KUBERNETES,
            name="main",
            address=cluster.url,
            password=token,
            authority=cluster.authority.read_text(),
            takes_over=True,
            tier_label="sluice.io/tier",
        ),
        actor=Actor(name="ann", role=Role.ADMIN),
        now=NOW,
    )


def read(row: ReadSource) -> ReadSource:
    read_where_due(row.pk, now=NOW)
    return ReadSource.objects.get(pk=row.pk)


def test_real_cluster_is_read_by_the_role_of_the_page(
    cluster: Cluster, reader: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    get = kubernetes._Session.get
    monkeypatch.setattr(
        kubernetes._Session,
        "get",
        lambda self, path, query: asked.append((path, dict(query))) or get(self, path, query),
    )
    by_pages_of(5, monkeypatch)

    row = read(stated(cluster, settings, reader))

    assert row.says == "14 pods and 1 claims read"
    pages = [query for path, query in asked if path == "/api/v1/pods"]
    assert [("continue" in query) for query in pages] == [False, True, True]
    pods = {one.name: one for one in ClusterPod.objects.all()}
    assert len(pods) == 14
    assert (pods["web-5d8f-x"].owner, pods["web-5d8f-x"].labels) == (
        "Deployment/web", {"app": "web", "team": "red"},
    )  # fmt: skip
    assert (pods["db-0"].claims, pods["db-0"].node) == (["data-db-0"], "node-1")
    claim = ClusterClaim.objects.get()
    assert (claim.volume, claim.driver, claim.labels) == ("pvc-1", DRIVER, {"keep": "long"})
    assert VolumeClass.objects.get().parameters == {"iops": "4000"}


def test_real_cluster_greets_whom_it_lets_list(
    cluster: Cluster, reader: str, settings: Settings
) -> None:
    row = stated(cluster, settings, reader)
    ask_trial(row, actor=Actor(name="ann", role=Role.ADMIN), now=NOW)

    row = read(row)

    assert row.trial_worked
    assert row.trial_says.startswith("Kubernetes v1.")


def test_real_cluster_refuses_a_token_that_is_wrong(cluster: Cluster, settings: Settings) -> None:
    row = read(stated(cluster, settings, "nobody"))

    assert "refuses the token: it is wrong, or its time is over" in row.says
    assert not ClusterPod.objects.exists()


def test_list_of_a_real_cluster_goes_on_when_its_moment_is_gone(
    cluster: Cluster, reader: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses = []
    get = kubernetes._Session.get

    def getting(self: Any, path: str, query: Any) -> Any:
        if "continue" in query and not statuses:
            forget_the_past(cluster)
        try:
            found = get(self, path, query)
        except StatusError as error:
            statuses.append(error.status)
            raise
        return found

    monkeypatch.setattr(kubernetes._Session, "get", getting)
    by_pages_of(5, monkeypatch)

    row = read(stated(cluster, settings, reader))

    assert statuses == [410]
    assert row.says == "14 pods and 1 claims read"


def forget_the_past(cluster: Cluster) -> None:
    """As the API server does every five minutes: no list can be had as it was before."""
    made(cluster, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "later"}})
    kept = requests.post(f"{cluster.store}/v3/kv/range", json={"key": "AA=="}, timeout=10)
    revision = kept.json()["header"]["revision"]
    done = requests.post(
        f"{cluster.store}/v3/kv/compaction",
        json={"revision": revision, "physical": True},
        timeout=10,
    )
    assert done.ok, done.text


def by_pages_of(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes.read_live, "__kwdefaults__", {"page": count})
