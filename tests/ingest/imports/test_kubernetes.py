"""A Kubernetes cluster is read by lists in pages, and says why where it is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ingest.core.source_errors import SourceError
from ingest.imports import kubernetes
from ingest.imports.connection import Way
from ingest.imports.kubernetes import Api, greet, read_live
from tests.advisor.kubernetes.small_cluster import (
    CLAIMS,
    CLASSES,
    DEPLOYMENTS,
    PODS,
    TOKEN,
    VOLUMES,
    SmallCluster,
    pod,
    small_cluster,
)


@pytest.fixture
def cluster() -> Iterator[SmallCluster]:
    with small_cluster() as running:
        yield running


def api(cluster: SmallCluster, token: str = TOKEN) -> Api:
    return Api(url=cluster.url, token=token)


def refused(cluster: SmallCluster, *, token: str = TOKEN) -> str:
    with pytest.raises(SourceError) as refusal:
        read_live(api(cluster, token), Way(limit_s=20.0))
    return str(refusal.value)


def test_lists_are_read_by_pages_and_each_object_once(cluster: SmallCluster) -> None:
    cluster.lists[PODS] = [pod(number, f"web-{number}") for number in range(1201)]

    found = read_live(api(cluster), Way())

    assert [one.name for one in found.pods] == [f"web-{number}" for number in range(1201)]
    queries = [query for path, query in cluster.asked if path == PODS]
    assert [query.get("continue") for query in queries] == [None, "500", "1000"]
    assert {query["limit"] for query in queries} == {"500"}
    # Pods that have ended use nothing.
    assert {query["fieldSelector"] for query in queries} == {
        "status.phase!=Succeeded,status.phase!=Failed"
    }


def test_token_is_sent_with_each_request_and_shown_by_nothing(cluster: SmallCluster) -> None:
    read_live(api(cluster), Way())

    assert set(cluster.tokens) == {f"Bearer {TOKEN}"}
    assert TOKEN not in repr(api(cluster))
    assert TOKEN not in refused(cluster, token=f"{TOKEN}-wrong")


def test_prefix_of_an_address_is_kept(cluster: SmallCluster) -> None:
    below = Api(url=f"{cluster.url}/k8s/clusters/c-1", token=TOKEN)

    with pytest.raises(SourceError, match="is it the API of a Kubernetes cluster"):
        read_live(below, Way())

    assert cluster.asked[0][0] == f"/k8s/clusters/c-1{PODS}"


def test_labels_of_deployments_come_by_the_name_of_the_owner(cluster: SmallCluster) -> None:
    owner = ("ReplicaSet", "web-5d8f")
    cluster.lists[PODS] = [
        pod(1, "web-5d8f-x", labels={"app": "web", "pod-template-hash": "5d8f"}, owner=owner)
    ]
    about = {"namespace": "shop", "name": "web", "labels": {"team": "red"}}
    cluster.lists[DEPLOYMENTS] = [{"metadata": about}]

    (found,) = read_live(api(cluster), Way()).pods

    assert found.owner == "Deployment/web"
    assert found.labels == {"app": "web", "team": "red"}


def test_list_whose_moment_is_gone_goes_on_where_the_cluster_says(cluster: SmallCluster) -> None:
    cluster.lists[PODS] = [pod(number, f"web-{number}") for number in range(600)]
    answers = [(200, {"metadata": {"continue": "500"}, "items": cluster.lists[PODS][:500]})]
    answers.append((410, {"reason": "Expired", "metadata": {"continue": "500"}}))
    cluster.refuses[PODS] = answers

    found = read_live(api(cluster), Way())

    assert len(found.pods) == 600
    assert [query.get("continue") for path, query in cluster.asked if path == PODS] == [
        None, "500", "500",
    ]  # fmt: skip


def test_list_whose_moment_is_gone_is_begun_again_where_nothing_is_said(
    cluster: SmallCluster,
) -> None:
    cluster.lists[PODS] = [pod(number, f"web-{number}") for number in range(600)]
    first = (200, {"metadata": {"continue": "500"}, "items": [*cluster.lists[PODS][:499], "?"]})
    cluster.refuses[PODS] = [first, (410, {"reason": "Expired"})]

    found = read_live(api(cluster), Way())

    assert len(found.pods) == 600
    # Of the beginning that was given up nothing is counted.
    assert found.unreadable == 0


@pytest.mark.parametrize("more", [{}, {"metadata": {"continue": "1"}}], ids=["anew", "go on"])
def test_list_that_is_always_gone_is_given_up(cluster: SmallCluster, more: Any) -> None:
    cluster.refuses[PODS] = [(410, {"reason": "Expired", **more})] * 50

    assert "changed 3 times while it was read" in refused(cluster)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (401, "refuses the token: it is wrong, or its time is over"),
        (403, "does not let the token list pods: pods is forbidden"),
        (404, "is it the API of a Kubernetes cluster?"),
        (429, "is busy, and asks to be read later"),
        (302, "answers 302 for pods"),
        (500, "answers 500 for pods: pods is forbidden"),
    ],
)
def test_refusal_is_told(cluster: SmallCluster, status: int, text: str) -> None:
    cluster.refuses[PODS] = [(status, {"message": "pods is forbidden"})]

    assert text in refused(cluster)


def test_claims_that_are_not_shown_end_the_read(cluster: SmallCluster) -> None:
    cluster.refuses[CLAIMS] = [(403, {})]

    assert "does not let the token list persistentvolumeclaims" in refused(cluster)


def test_what_else_is_not_shown_is_told(cluster: SmallCluster) -> None:
    for path in (VOLUMES, DEPLOYMENTS, CLASSES):
        cluster.refuses[path] = [(403, {})]

    assert read_live(api(cluster), Way()).unread == (
        "persistentvolumes are not shown (403)",
        "deployments are not shown (403)",
        "volumeattributesclasses are not shown (403)",
    )


def test_classes_are_read_by_the_version_of_the_api_that_has_them(cluster: SmallCluster) -> None:
    older = CLASSES.replace("/v1/", "/v1beta1/")
    said = {"metadata": {"name": "gold"}, "driverName": "csi.example.net"}

    assert read_live(api(cluster), Way()).classes == ()
    cluster.lists[older] = [said]
    (found,) = read_live(api(cluster), Way()).classes

    assert found.name == "gold"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"<html>log in</html>", "answers with no object"),
        (b"[]", "answers with no object"),
        (b'{"kind": "PodList"}', "is answered with no list"),
        (b'{"metadata": {}, "items": {"a": 1}}', "is answered with no list"),
        (b'{"metadata": {"continue": 7}, "items": []}', "pages that do not end"),
        (b'{"metadata": {"continue": "x"}, "items": []}', "pages that do not end"),
        (b"[" * 100_000, "answers with no object"),
    ],
)
def test_answer_that_is_no_list_is_told(cluster: SmallCluster, raw: bytes, text: str) -> None:
    cluster.raw = raw

    assert text in refused(cluster)


def test_empty_list_may_be_null_and_objects_of_another_shape_are_counted(
    cluster: SmallCluster,
) -> None:
    cluster.raw = json.dumps({"metadata": {}, "items": None}).encode()
    assert read_live(api(cluster), Way()).pods == ()

    cluster.raw = None
    cluster.lists[PODS] = [pod(1, "web"), "wrong", {"metadata": {}}]
    found = read_live(api(cluster), Way())

    assert (len(found.pods), found.unreadable) == (1, 2)


def test_list_and_answer_have_a_longest(
    cluster: SmallCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.lists[PODS] = [pod(number, f"web-{number}") for number in range(11)]
    monkeypatch.setattr(kubernetes, "MOST_OBJECTS", 10)
    assert "has more than 10 objects" in refused(cluster)

    monkeypatch.setattr(kubernetes, "MOST_ANSWER_BYTES", 100)
    assert "answers with more than 0 MiB" in refused(cluster)


def test_cluster_that_is_away_is_told() -> None:
    with small_cluster() as gone:
        pass

    assert "cannot be reached" in refused(gone)


def test_greeting_tells_the_version_once_pods_may_be_listed(cluster: SmallCluster) -> None:
    assert greet(api(cluster), Way()) == "Kubernetes v1.36.1"
    assert cluster.asked == [("/version", {}), (PODS, {"limit": "1"})]

    cluster.refuses[PODS] = [(403, {})]
    with pytest.raises(SourceError, match="does not let the token list pods"):
        greet(api(cluster), Way())
