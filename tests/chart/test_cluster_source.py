"""A source that is a Kubernetes cluster, against a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
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
from advisor.models import (
    ClassChange,
    ClusterClaim,
    ClusterPod,
    ReadSource,
    Recommendation,
    Resource,
    VolumeClass,
)
from advisor.models.source import SourceKind
from ingest.core.source_errors import StatusError
from ingest.imports import kubernetes
from ingest.imports.connection import Trust, Way
from ingest.imports.kubernetes import Api, changing_claims
from tests.advisor.scenario import NOW
from tests.chart.cluster import LISTER, READER, Cluster, running_cluster
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
    # From its cache it would go on with a list whose moment the store has forgotten.
    with running_cluster(tmp_path_factory.mktemp("cluster"), "--watch-cache=false") as found:
        for one in what_it_has():
            made(found, one)
        yield found


def what_it_has() -> Iterator[dict[str, Any]]:
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    for name, iops in {"gold": "4000", "silver": "2000"}.items():
        yield {
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass",
            "metadata": {"name": name}, "driverName": DRIVER, "parameters": {"iops": iops},
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
    (role,) = (
        one
        for block in page.split("```yaml\n")[1:]
        for one in yaml.safe_load_all(block.partition("```")[0])
        if one.get("kind") == "ClusterRole"
    )
    made(cluster, role)
    made(cluster, bound_to(role["metadata"]["name"], READER))
    return READER


def bound_to(role: str, user: str) -> dict[str, Any]:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": f"{role}-{user}"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }  # fmt: skip


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

    assert row.says.startswith("14 pods and ")
    pages = [query for path, query in asked if path == "/api/v1/pods"]
    assert [("continue" in query) for query in pages] == [False, True, True]
    pods = {one.name: one for one in ClusterPod.objects.all()}
    assert len(pods) == 14
    assert (pods["web-5d8f-x"].owner, pods["web-5d8f-x"].labels) == (
        "Deployment/web", {"app": "web", "team": "red"},
    )  # fmt: skip
    assert (pods["db-0"].claims, pods["db-0"].node) == (["data-db-0"], "node-1")
    claim = ClusterClaim.objects.get(name="data-db-0")
    assert (claim.volume, claim.driver, claim.labels) == ("pvc-1", DRIVER, {"keep": "long"})
    assert VolumeClass.objects.get(name="gold").parameters == {"iops": "4000"}


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
    statuses, forgotten = [], []
    get = kubernetes._Session.get

    def getting(self: Any, path: str, query: Any) -> Any:
        if "continue" in query and not forgotten:
            forgotten.append(query["continue"])
            forget_the_past(cluster)
        try:
            return get(self, path, query)
        except StatusError as error:
            statuses.append(error.status)
            raise

    monkeypatch.setattr(kubernetes._Session, "get", getting)
    by_pages_of(5, monkeypatch)

    row = read(stated(cluster, settings, reader))

    assert statuses == [410]
    assert row.says.startswith("14 pods and ")


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


@pytest.fixture(scope="module")
def changer(cluster: Cluster, reader: str) -> str:
    """The same user with the one more right that changes of classes need."""
    rule = {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["patch"]}
    kinds = "rbac.authorization.k8s.io/v1"
    made(
        cluster,
        {
            "apiVersion": kinds, "kind": "ClusterRole", "metadata": {"name": "changes"},
            "rules": [rule],
        },
    )  # fmt: skip
    made(cluster, bound_to("changes", reader))
    return reader


@pytest.fixture
def claim(cluster: Cluster, request: pytest.FixtureRequest) -> str:
    """A claim with the class silver, bound to a volume that has it."""
    name = request.node.originalname.replace("_", "-")[:50].strip("-")
    made(
        cluster,
        {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "volumeName": f"pvc-{name}",
                "storageClassName": "fast", "volumeAttributesClassName": "silver",
                "resources": {"requests": {"storage": "1Gi"}},
            },
        },
    )  # fmt: skip
    driver_says(cluster, name, phase="Bound", currentVolumeAttributesClassName="silver")
    return name


def driver_says(cluster: Cluster, name: str, **status: Any) -> None:
    """What the driver's controllers write, which no test has."""
    answer = cluster.ask(
        "PATCH", f"{cluster.path('PersistentVolumeClaim', 'shop', name)}/status",
        json={"status": status}, headers={"Content-Type": "application/merge-patch+json"},
    )  # fmt: skip
    assert answer.ok, answer.text


def spec_of(cluster: Cluster, name: str) -> dict[str, Any]:
    found = cluster.get("PersistentVolumeClaim", "shop", name)
    assert found is not None
    spec: dict[str, Any] = found["spec"]
    return spec


def reached(cluster: Cluster, token: str) -> tuple[Api, Way]:
    trust = Trust(authority=cluster.authority.read_text())
    return Api(url=cluster.url, token=token), Way(trust=trust)


def test_class_of_a_real_claim_is_tried_changed_and_changed_back(
    cluster: Cluster, changer: str, claim: str
) -> None:
    with changing_claims(*reached(cluster, changer)) as claims:
        before = claims.now("shop", claim)
        assert before is not None
        claims.ask_for(before, "gold", only_try=True)
        assert spec_of(cluster, claim)["volumeAttributesClassName"] == "silver"

        claims.ask_for(before, "gold", only_try=False)
        assert spec_of(cluster, claim)["volumeAttributesClassName"] == "gold"
        with pytest.raises(StatusError) as refusal:
            claims.ask_for(before, "silver", only_try=False)
        assert refusal.value.status == requests.codes.conflict

        after = claims.now("shop", claim)
        assert after is not None
        assert (after.asked_class, after.current_class) == ("gold", "silver")
        claims.ask_for(after, "silver", only_try=False)
    assert spec_of(cluster, claim)["volumeAttributesClassName"] == "silver"


def test_real_cluster_takes_no_class_away(cluster: Cluster, changer: str, claim: str) -> None:
    with changing_claims(*reached(cluster, changer)) as claims:
        now = claims.now("shop", claim)
        assert now is not None
        with pytest.raises(StatusError) as refusal:
            claims.ask_for(now, "", only_try=True)

    assert refusal.value.status == requests.codes.unprocessable_entity


def test_real_cluster_lets_nobody_change_a_class_without_the_right(
    cluster: Cluster, reader: str, claim: str
) -> None:
    made(cluster, bound_to("sluice-cluster-reader", LISTER))

    with changing_claims(*reached(cluster, LISTER)) as claims:
        now = claims.now("shop", claim)
        assert now is not None
        with pytest.raises(StatusError, match="does not let the token change claim"):
            claims.ask_for(now, "gold", only_try=True)


def test_approved_class_is_followed_on_a_real_cluster(
    cluster: Cluster, changer: str, claim: str, settings: Settings
) -> None:
    row = stated(cluster, settings, changer)
    found = cluster.get("PersistentVolumeClaim", "shop", claim)
    assert found is not None
    resource = Resource.objects.create(
        organisation=row.organisation, name="disk", kind="datastore", unit="iops",
        threshold=30.0, activity_floor=1.0,
    )  # fmt: skip
    advice = Recommendation.objects.create(
        organisation=row.organisation, resource=resource, topic="limit_check",
        kind="limit_check", summary="s", inputs="{}", answer="{}", created_at=NOW,
        expires_at=NOW,
    )  # fmt: skip
    ClassChange.objects.create(
        organisation=row.organisation, recommendation=advice, source=row, workload="db-0",
        uid=found["metadata"]["uid"], namespace="shop", name=claim, wanted="gold", asked_at=NOW,
        asked_by="ann", look_at=NOW,
    )  # fmt: skip

    read(row)
    change = ClassChange.objects.get()
    assert (change.state, change.former) == ("checking", "silver")
    driver_says(cluster, claim, currentVolumeAttributesClassName="gold")
    read_where_due(row.pk, now=NOW + timedelta(minutes=1))

    assert ClassChange.objects.get().state == "done"
