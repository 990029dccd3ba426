"""A Kubernetes cluster as a source: what may be stated, what is kept, and what workloads get."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from accounts.actor import Actor
from accounts.models import AuditEntry, Organisation
from accounts.roles import Role
from advisor.decisions.found import keep
from advisor.decisions.found.keep import keep_inventory
from advisor.decisions.kubernetes import own_cluster
from advisor.decisions.sources import reading
from advisor.decisions.sources.problems import StatedSource
from advisor.decisions.sources.stating import (
    ask_trial,
    pause_source,
    remove_source,
    sources_of,
    state_source,
)
from advisor.decisions.teams import set_team
from advisor.decisions.workload_tiers import stated_workload
from advisor.errors import DecisionRefused
from advisor.models import (
    ClusterClaim,
    ClusterPod,
    ReadSource,
    VolumeClass,
    Workload,
    WorkloadRules,
)
from advisor.models.source import LONGEST_TOKEN, SourceKind
from advisor.queries.teams import owned_by
from ingest import facts as stored_facts
from tests.advisor.decisions.found_inventory import cgroup, disk, tell
from tests.advisor.kubernetes.small_cluster import (
    CLAIMS,
    CLASSES,
    PODS,
    TOKEN,
    UID,
    VOLUMES,
    SmallCluster,
    pod,
    small_cluster,
)
from tests.advisor.scenario import NOW
from tests.advisor.vcenter.certificates import own_certificate

pytestmark = pytest.mark.django_db

ADMIN = Actor(name="ann", role=Role.ADMIN)
MINUTE = timedelta(minutes=1)
TIER = "sluice.io/tier"
OWN = own_cluster.ADDRESS


@pytest.fixture
def acme(monkeypatch: pytest.MonkeyPatch) -> Organisation:
    # A busy machine would rest between two looks.
    monkeypatch.setattr(keep, "MOST_OF_TIME", 1e9)
    stored_facts.MEMORY.forget()
    return Organisation.objects.create(slug="acme", name="Acme")


@pytest.fixture
def cluster(settings: Settings) -> Iterator[SmallCluster]:
    """On this machine, which the installation lets sources reach."""
    settings.SOURCE_ADDRESSES = "any"
    with small_cluster() as running:
        yield running


def stating(organisation: Organisation, **changes: Any) -> ReadSource:
    said = {"name": "main", "address": "https://k.example.org:6443", "tier_label": TIER} | changes
    said.setdefault("password", TOKEN)
    stated = StatedSource(kind=SourceKind.KUBERNETES, **said)
    return state_source(organisation=organisation, stated=stated, actor=ADMIN, now=NOW)


def read(row: ReadSource, *, at: Any = NOW) -> ReadSource:
    reading.read_where_due(row.pk, now=at)
    return ReadSource.objects.get(pk=row.pk)


def pod_path(number: int) -> str:
    uid = UID.format(number).replace("-", "_")
    return f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid}.slice"


def sends(organisation: Organisation, *numbers: int, minutes: float = 0) -> None:
    """Control groups of these pods send samples for a minute, without names."""
    lines = [cgroup("node-1", pod_path(number)) for number in numbers]
    for at in (minutes, minutes + 1):
        tell(organisation, *lines, *disk("node-1", "sda"), minutes=at)


def tiers() -> dict[str, tuple[str, str]]:
    return {row.name: (row.tier, row.tier_reason) for row in Workload.objects.all()}


# --- What is stated


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"user": "ann"}, "has no user; give a token"),
        ({"password": ""}, "it needs a token"),
        ({"password": "two words"}, "no letters but those of ASCII, and no spaces"),
        ({"password": "tökén"}, "no letters but those of ASCII, and no spaces"),
        ({"password": "x" * (LONGEST_TOKEN + 1)}, "at most 10000 letters"),
        ({"tier_label": "sluice.io/"}, "is no name of a label"),
        ({"tier_label": "a b"}, "is no name of a label"),
        ({"address": "http://k.example.org"}, "would send the password unprotected"),
        ({"address": "https://k.example.org/?a=b"}, "is no address such as"),
        ({"address": "https://127.0.0.1:6443"}, "no address of another machine"),
        ({"address": OWN, "password": ""}, "SLUICE_CLUSTER_ORGANISATIONS names"),
    ],
)
def test_cluster_that_could_not_be_read_is_refused(
    acme: Organisation, changes: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(DecisionRefused, match=complaint):
        stating(acme, **changes)

    assert not ReadSource.objects.exists()


def test_token_may_be_as_long_as_those_of_service_accounts_and_stays(acme: Organisation) -> None:
    long = "e" * 1500
    stating(acme, password=f"{long}\n", address="https://k.example.org/k8s/clusters/c-1")

    changed = {"address": "https://k.example.org/k8s/clusters/c-1/", "every_min": 9}
    row = stating(acme, password="", **changed)

    assert (ReadSource.objects.get().password, row.every_min) == (long, 9)
    with pytest.raises(DecisionRefused, match="give the token again"):
        stating(acme, password="", address="https://elsewhere.example.org")
    entry = AuditEntry.objects.filter(organisation=acme).latest("number")
    assert (entry.details["kind"], entry.details["tier_label"]) == ("kubernetes", TIER)
    assert long not in str(entry.details)


def test_source_does_not_become_another_kind(acme: Organisation) -> None:
    stating(acme)
    vcenter = StatedSource(name="main", address="https://v.example.org", user="u", password="p")

    with pytest.raises(DecisionRefused, match="a source of another kind"):
        state_source(organisation=acme, stated=vcenter, actor=ADMIN, now=NOW)


# --- What is read


def test_what_a_cluster_has_is_kept_and_follows_it(
    acme: Organisation, cluster: SmallCluster
) -> None:
    cluster.lists[PODS] = [pod(1, "db-0", claims=["data-db-0"]), pod(2, "web"), pod(3, "old")]
    about = {"uid": "c-1", "namespace": "shop", "name": "data-db-0"}
    claim = {"metadata": about, "spec": {"volumeName": "pvc-1"}}
    cluster.lists[CLAIMS] = [{**claim, "status": {"capacity": {"storage": "1Gi"}}}]
    csi = {"csi": {"driver": "csi.example.net"}}
    cluster.lists[VOLUMES] = [{"metadata": {"name": "pvc-1"}, "spec": csi}]
    gold = {"metadata": {"name": "gold"}, "driverName": "csi.example.net"}
    cluster.lists[CLASSES] = [{**gold, "parameters": {"iops": "4000"}}]
    row = read(stating(acme, address=cluster.url))
    assert row.says == "3 pods and 1 claims read; not taken over: labels of 0 pods"
    assert (row.failures, row.read_at, row.kept_at) == (0, NOW, NOW)
    before = ClusterPod.objects.get(name="db-0").pk

    cluster.lists[PODS] = [pod(1, "db-0", claims=["data-db-0"]), pod(2, "web", labels={"a": "b"})]
    cluster.lists[CLAIMS] = [{**claim, "status": {"capacity": {"storage": "2Gi"}}}]
    read(row, at=row.next_at)

    pods = {one.name: one for one in ClusterPod.objects.all()}
    assert {name: one.labels for name, one in pods.items()} == {"db-0": {}, "web": {"a": "b"}}
    assert (pods["db-0"].pk, pods["db-0"].claims) == (before, ["data-db-0"])
    claimed = ClusterClaim.objects.get()
    assert (claimed.driver, claimed.size_bytes) == ("csi.example.net", 2 * 2**30)
    assert VolumeClass.objects.get().parameters == {"iops": "4000"}
    again = read(row, at=row.next_at + timedelta(hours=1))
    # Nothing differs, so nobody looks again because of it.
    assert again.kept_at == row.next_at


def test_clusters_of_organisations_are_kept_apart(
    acme: Organisation, cluster: SmallCluster
) -> None:
    other = Organisation.objects.create(slug="other", name="Other")
    cluster.lists[PODS] = [pod(1, "db-0")]
    for organisation in (acme, other):
        read(stating(organisation, address=cluster.url))

    cluster.lists[PODS] = []
    row = sources_of(acme).get()
    read(row, at=row.next_at)

    assert [one.organisation for one in ClusterPod.objects.all()] == [other]


@pytest.mark.parametrize(
    ("status", "says"),
    [(401, "refuses the token"), (403, "does not let the token list pods"), (503, "answers 503")],
)
def test_cluster_that_refuses_keeps_what_was_read_and_says_why(
    acme: Organisation, cluster: SmallCluster, status: int, says: str
) -> None:
    cluster.lists[PODS] = [pod(1, "db-0")]
    row = read(stating(acme, address=cluster.url))

    cluster.refuses[PODS] = [(status, {})]
    row = read(row, at=row.next_at)

    assert says in row.says
    assert row.failures == 1
    assert ClusterPod.objects.get().name == "db-0"


def test_cluster_that_answers_a_letter_at_a_time_is_cut_off(
    acme: Organisation, cluster: SmallCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "READ_LIMIT_S", 0.5)
    cluster.drips = True

    assert "did not finish within" in read(stating(acme, address=cluster.url)).says


def test_test_asks_for_the_right_to_list_and_reads_nothing(
    acme: Organisation, cluster: SmallCluster
) -> None:
    row = stating(acme, address=cluster.url)
    pause_source(row, actor=ADMIN, now=NOW)
    ask_trial(row, actor=ADMIN, now=NOW)

    row = read(row)

    assert (row.trial_worked, row.trial_says) == (True, "Kubernetes v1.36.1 lets pods be listed")
    assert [path for path, _ in cluster.asked] == ["/version", PODS]


def test_certificate_is_checked_before_the_token_is_sent(
    acme: Organisation, settings: Settings, tmp_path: Path
) -> None:
    settings.SOURCE_ADDRESSES = "any"
    authority, fingerprint = own_certificate(tmp_path / "server.pem")
    with small_cluster(tmp_path / "server.pem") as cluster:
        plain = read(stating(acme, name="plain", address=cluster.url)).says
        other = read(stating(acme, name="o", address=cluster.url, fingerprint="ab" * 32)).says
        assert cluster.tokens == []
        known = read(stating(acme, name="known", address=cluster.url, authority=authority))
        pinned = read(stating(acme, name="p", address=cluster.url, fingerprint=fingerprint))

    assert "is not trusted: self-signed certificate" in plain
    assert "another certificate than the one that is pinned" in other
    assert (known.failures, pinned.failures) == (0, 0)


# --- The server's own cluster


@pytest.fixture
def account(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A pod whose account may read; its cluster is one of the tests'."""
    settings.CLUSTER_ORGANISATIONS = ["acme"]
    settings.SOURCE_ADDRESSES = "public"
    authority, _ = own_certificate(tmp_path / "server.pem")
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "ca.crt").write_text(authority)
    monkeypatch.setattr(own_cluster, "ACCOUNT", tmp_path)
    with small_cluster(tmp_path / "server.pem") as cluster:
        monkeypatch.setattr(own_cluster, "ADDRESS", cluster.url)
        yield cluster


def test_own_cluster_is_read_by_the_account_of_the_pod(
    acme: Organisation, account: SmallCluster, settings: Settings
) -> None:
    # An address of this machine may be stated by its name in the cluster alone.
    settings.SOURCE_ADDRESSES = "any"
    row = stating(acme, address=account.url, password="")
    settings.SOURCE_ADDRESSES = "public"
    account.lists[PODS] = [pod(1, "db-0")]

    row = read(row)

    assert row.says.startswith("1 pods and 0 claims read")
    assert set(account.tokens) == {f"Bearer {TOKEN}"}


def test_own_account_serves_no_organisation_that_is_not_named_any_more(
    acme: Organisation, account: SmallCluster, settings: Settings
) -> None:
    settings.SOURCE_ADDRESSES = "any"
    row = stating(acme, address=account.url, password="")
    settings.CLUSTER_ORGANISATIONS = ["other"]

    assert "SLUICE_CLUSTER_ORGANISATIONS does not let acme read" in read(row).says
    assert account.asked == []


def test_own_account_that_is_not_there_is_told(
    acme: Organisation, account: SmallCluster, settings: Settings, tmp_path: Path
) -> None:
    settings.SOURCE_ADDRESSES = "any"
    row = stating(acme, address=account.url, password="")
    (tmp_path / "token").unlink()

    assert "clusterReader.enabled" in read(row).says


def test_own_account_goes_to_no_other_address(acme: Organisation, account: SmallCluster) -> None:
    with pytest.raises(DecisionRefused, match="it needs a token"):
        stating(acme, address="https://elsewhere.example.org", password="")


# --- What workloads get


def test_labels_become_tags_of_the_workloads_that_collectors_found(
    acme: Organisation, cluster: SmallCluster
) -> None:
    sends(acme, 1, 2)
    team = set_team(organisation=acme, name="shop", tags=["label.team=red"])
    cluster.lists[PODS] = [pod(1, "db-0", labels={"team": "red"}), pod(9, "unseen")]

    row = read(stating(acme, address=cluster.url))
    keep_inventory(acme, now=NOW + 3 * MINUTE)
    assert not owned_by(Workload.objects.all(), team).exists()
    row = read(stating(acme, address=cluster.url, takes_over=True))
    keep_inventory(acme, now=NOW + 4 * MINUTE)

    assert row.says == "2 pods and 0 claims read"
    (owned,) = owned_by(Workload.objects.all(), team)
    assert (owned.name, owned.kind) == ("shop/db-0", "pod")
    assert owned.tags == ["label.team=red", "namespace=shop"]
    assert Workload.objects.count() == 2


def test_tier_comes_from_the_label_unless_a_rule_or_a_person_states_one(
    acme: Organisation, cluster: SmallCluster
) -> None:
    names = ["labelled", "ruled", "stated", "wrong", "bare"]
    sends(acme, *range(len(names)))
    labels = [{TIER: "high"}, {TIER: "high"}, {TIER: "high"}, {TIER: "gold"}, {}]
    cluster.lists[PODS] = [
        pod(number, name, labels=one)
        for number, (name, one) in enumerate(zip(names, labels, strict=True))
    ]
    row = read(stating(acme, address=cluster.url, takes_over=True))
    WorkloadRules.objects.create(
        organisation=acme, text="tier: low where name = ruled", stated_at=NOW
    )
    keep_inventory(acme, now=NOW + 3 * MINUTE)
    stated_workload(acme, "shop/stated", "low")
    sends(acme, *range(len(names)), minutes=5)

    reason = f"label {TIER}=high of the pod, by source main"
    assert tiers() == {
        "shop/labelled": ("high", reason),
        "shop/ruled": ("low", "line 1: tier: low where name = ruled"),
        "shop/stated": ("low", ""),
        "shop/wrong": ("medium", ""),
        "shop/bare": ("medium", ""),
    }
    assert f"{TIER}=gold of 1 pods is no tier and is ignored" in row.says


@pytest.mark.parametrize("how", ["removed", "another label", "no label", "label changed"])
def test_tier_of_a_label_goes_with_it(acme: Organisation, cluster: SmallCluster, how: str) -> None:
    sends(acme, 1)
    cluster.lists[PODS] = [pod(1, "db-0", labels={TIER: "high"})]
    row = read(stating(acme, address=cluster.url, takes_over=True))
    keep_inventory(acme, now=NOW + 3 * MINUTE)
    assert tiers()["shop/db-0"][0] == "high"

    if how == "removed":
        remove_source(row, actor=ADMIN, now=NOW)
    elif how == "label changed":
        cluster.lists[PODS] = [pod(1, "db-0", labels={TIER: "low"})]
        read(row, at=row.next_at)
    else:
        label = "other.example.org/tier" if how == "another label" else ""
        stating(acme, address=cluster.url, takes_over=True, tier_label=label)
    keep_inventory(acme, now=NOW + 4 * MINUTE)

    (found,) = Workload.objects.all()
    assert found.tier == ("low" if how == "label changed" else "medium")
