"""The chart on a real API server: what it takes, installations, upgrades and what is left."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from tests.chart.cluster import Cluster, ending_hooks, running_cluster
from tests.chart.programs_here import CHART, VALUES
from tests.chart.rendering import helm, pods, rendered, run_helm
from tests.ingest.wire import eventually

pytestmark = [
    pytest.mark.chart,
    pytest.mark.slow,
    # The API server makes its certificate by itself.
    pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning"),
]

EXTERNAL, TRIAL = (CHART / "ci" / f"{name}-values.yaml" for name in ("external", "trial"))
OWN_KEYS = ("--set", "keys.existingSecret=", "--set", "signing.existingSecret=")
"""Keys that the chart makes."""
LISTED = (
    "ConfigMap", "DaemonSet", "Deployment", "HorizontalPodAutoscaler", "Ingress", "Job",
    "NetworkPolicy", "PodDisruptionBudget", "Secret", "Service", "StatefulSet",
)  # fmt: skip


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as found:
        monitors = yaml.safe_load((Path(__file__).parent / "service_monitors.yaml").read_text())
        assert found.create(monitors, "").status_code == requests.codes.created
        path = found.path("ServiceMonitor", "default")
        eventually(lambda: found.ask("GET", path).ok, what="a kind ServiceMonitor")
        yield found


@pytest.fixture
def namespace(cluster: Cluster, request: pytest.FixtureRequest) -> str:
    name = request.node.originalname.replace("_", "-")[:50].strip("-")
    cluster.make_namespace(name)
    return name


def install(cluster: Cluster, verb: str, namespace: str, *words: str | Path) -> str:
    place = ("--namespace", namespace)
    return helm(verb, "sluice", CHART, *place, *words, environment=cluster.environment)


def env_of(cluster: Cluster, namespace: str, name: str) -> dict[str, Any]:
    deployment = cluster.get("Deployment", namespace, name)
    assert deployment is not None
    (first, *_) = deployment["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one.get("value") for one in first["env"]}


def secret(cluster: Cluster, namespace: str, name: str) -> dict[str, str]:
    found = cluster.get("Secret", namespace, name)
    assert found is not None
    return {key: base64.b64decode(value).decode() for key, value in found["data"].items()}


def all_names(cluster: Cluster, namespace: str) -> set[str]:
    """Of all objects but what the API server makes itself, and Helm's own records."""
    found = {f"{kind}/{name}" for kind in LISTED for name in cluster.names(kind, namespace)}
    return {one for one in found if "sh.helm.release" not in one and "kube-root-ca" not in one}


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_api_server_takes_every_object_and_knows_every_field(
    cluster: Cluster, values: Path
) -> None:
    refused = {
        f"{one['kind']}/{one['metadata']['name']}": answer.json()["message"]
        for one in rendered(values, "--namespace", "default")
        if not (answer := cluster.create(one, "default", only_try=True)).ok
    }

    assert refused == {}


def test_api_server_refuses_a_field_that_it_does_not_know(cluster: Cluster) -> None:
    service = next(
        one for one in rendered(TRIAL, "--namespace", "default") if one["kind"] == "Service"
    )
    service["spec"]["portz"] = []

    answer = cluster.create(service, "default", only_try=True)

    assert "portz" in answer.json()["message"]


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_pods_keep_to_the_restricted_standard_but_the_agent(
    cluster: Cluster, values: Path
) -> None:
    space = f"restricted-{values.stem.removesuffix('-values')}"
    cluster.make_namespace(space, enforce="restricted")
    refused = {}
    for pod in pods(rendered(values, "--namespace", space)):
        one = {"apiVersion": "v1", "kind": "Pod", **pod.template}
        one["metadata"] = {"name": pod.name, **pod.template["metadata"]}
        # That of a Job and of others alike may be a pod of its own.
        answer = cluster.create(one, space, only_try=True)
        if not answer.ok:
            refused[pod.component] = answer.json()["message"]

    assert set(refused) <= {"agent"}, refused
    if "agent" in refused:
        assert "violates PodSecurity" in refused["agent"]


def test_release_is_installed_upgraded_rolled_back_and_removed(
    cluster: Cluster, namespace: str
) -> None:
    with ending_hooks(cluster) as done:
        install(cluster, "install", namespace, "--values", EXTERNAL, *OWN_KEYS)
        first = all_names(cluster, namespace)
        keys = secret(cluster, namespace, "sluice-keys")
        signing = secret(cluster, namespace, "sluice-signing")
        assert {"Deployment/sluice", "Deployment/sluice-ingest", "Ingress/sluice"} <= first
        assert "Job/sluice-migrations" not in first  # it has ended, and is taken away
        assert done == [f"{namespace}/sluice-migrations"]

        change = ("--set", "settings.SLUICE_LOG_LEVEL=DEBUG", "--set", "web.replicas=4")
        install(cluster, "upgrade", namespace, "--values", EXTERNAL, *OWN_KEYS, *change)
        assert env_of(cluster, namespace, "sluice")["SLUICE_LOG_LEVEL"] == "DEBUG"
        assert replicas(cluster, namespace, "sluice") == 4
        assert len(done) == 2
        assert secret(cluster, namespace, "sluice-keys") == keys

        helm("rollback", "sluice", "1", "--namespace", namespace, environment=cluster.environment)
        assert "SLUICE_LOG_LEVEL" not in env_of(cluster, namespace, "sluice")
        assert replicas(cluster, namespace, "sluice") == 2
        assert secret(cluster, namespace, "sluice-signing") == signing
        assert len(done) == 2  # a rollback migrates nothing

    helm("uninstall", "sluice", "--namespace", namespace, environment=cluster.environment)
    assert all_names(cluster, namespace) == {"Secret/sluice-keys", "Secret/sluice-signing"}
    assert secret(cluster, namespace, "sluice-keys") == keys

    with ending_hooks(cluster):
        install(cluster, "install", namespace, "--values", EXTERNAL, *OWN_KEYS)
    assert secret(cluster, namespace, "sluice-keys") == keys
    assert all_names(cluster, namespace) == first


def replicas(cluster: Cluster, namespace: str, name: str) -> int:
    deployment = cluster.get("Deployment", namespace, name)
    assert deployment is not None
    count: int = deployment["spec"]["replicas"]
    return count


def test_upgrade_whose_migrations_fail_changes_nothing(cluster: Cluster, namespace: str) -> None:
    with ending_hooks(cluster):
        install(cluster, "install", namespace, "--values", EXTERNAL)
    with ending_hooks(cluster, well=False):
        done = run_helm(
            "upgrade", "sluice", CHART, "--namespace", namespace, "--values", EXTERNAL,
            "--set", "web.replicas=5", environment=cluster.environment,
        )  # fmt: skip

    assert done.returncode != 0
    assert "pre-upgrade" in done.stderr
    assert replicas(cluster, namespace, "sluice") == 2


def test_trial_brings_its_servers_and_migrates_beside_them(
    cluster: Cluster, namespace: str
) -> None:
    install(cluster, "install", namespace, "--values", TRIAL)
    first = all_names(cluster, namespace)
    url = secret(cluster, namespace, "sluice-database")["web"]
    install(cluster, "upgrade", namespace, "--values", TRIAL, "--set", "scheduler.replicas=1")

    assert {"StatefulSet/sluice-database", "StatefulSet/sluice-queue"} <= first
    assert "Job/sluice-migrations-1" in first
    second = all_names(cluster, namespace)
    assert second == (first - {"Job/sluice-migrations-1"}) | {"Job/sluice-migrations-2"}
    # A new password would not be that of the database, whose folder is there.
    assert secret(cluster, namespace, "sluice-database")["web"] == url
    assert url.startswith("postgres://sluice_web:")


def test_two_releases_in_two_namespaces_know_nothing_of_each_other(cluster: Cluster) -> None:
    for name in ("north", "south"):
        cluster.make_namespace(name)
    with ending_hooks(cluster) as done:
        for name in ("north", "south"):
            install(cluster, "install", name, "--values", EXTERNAL, *OWN_KEYS)
        assert secret(cluster, "north", "sluice-keys") != secret(cluster, "south", "sluice-keys")

        before = cluster.get("Deployment", "south", "sluice")
        install(
            cluster, "upgrade", "north", "--values", EXTERNAL, *OWN_KEYS, "--set", "web.replicas=7"
        )
        assert sorted(done) == ["north/sluice-migrations"] * 2 + ["south/sluice-migrations"]

    helm("uninstall", "sluice", "--namespace", "north", environment=cluster.environment)
    assert cluster.get("Deployment", "north", "sluice") is None
    after = cluster.get("Deployment", "south", "sluice")
    assert before is not None
    assert after is not None
    assert json.dumps(after["spec"]) == json.dumps(before["spec"])
