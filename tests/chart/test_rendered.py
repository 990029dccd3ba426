"""The chart and the product say the same, and no process has more than its work needs."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
import yaml

from config.queues import MOVES, QUEUES
from ingest.admission import SAMPLE_PATHS
from tests.chart.programs_here import CHART, VALUES
from tests.chart.rendering import Object, Pod, pod_of, pods, rendered, secrets_in

pytestmark = [pytest.mark.chart]

ROOT = Path(__file__).resolve().parents[2]
EVERYTHING = CHART / "ci" / "everything-values.yaml"
EXTERNAL = CHART / "ci" / "external-values.yaml"
OF_OTHERS = {"database", "queue"}
"""Components whose images are not the product's."""
OF_CONTAINERS = {"POD_NAME", "POD_ADDRESS", "DJANGO_SETTINGS_MODULE", "CELERY_SKIP_CHECKS"}


@pytest.fixture(scope="module")
def everything() -> list[Object]:
    return rendered(EVERYTHING)


@pytest.fixture(scope="module")
def external() -> list[Object]:
    return rendered(EXTERNAL)


def server_pods(objects: list[Object]) -> list[Pod]:
    return [pod for pod in pods(objects) if pod.component not in {*OF_OTHERS, "agent"}]


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_every_container_is_closed_and_bounded(values: Path) -> None:
    for pod in pods(rendered(values)):
        spec = pod.template["spec"]
        assert spec["automountServiceAccountToken"] is False, pod.name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod.containers:
            security = container["securityContext"]
            assert security["readOnlyRootFilesystem"] is True, pod.name
            assert security["allowPrivilegeEscalation"] is False
            assert security["capabilities"]["drop"] == ["ALL"]
            assert set(container["resources"]) == {"requests", "limits"}
            assert "memory" in container["resources"]["limits"]


def test_agent_alone_has_namespaces_and_capabilities_of_the_host(everything: list[Object]) -> None:
    for pod in pods(everything):
        spec = pod.template["spec"]
        if pod.component == "agent":
            (agent,) = spec["containers"]
            added = agent["securityContext"]["capabilities"]["add"]
            assert (spec["hostNetwork"], spec["hostPID"]) == (True, True)
            assert added == [*capabilities_of_the_unit(), "SYS_ADMIN"]
        else:
            assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
            assert spec["securityContext"]["runAsNonRoot"] is True
            assert not any("hostPath" in volume for volume in spec.get("volumes", []))


def capabilities_of_the_unit() -> list[str]:
    unit = (ROOT / "enforcers" / "debian" / "sluice-enforcer.service").read_text()
    (line,) = re.findall(r"^CapabilityBoundingSet=(.*)$", unit, re.MULTILINE)
    return [word.removeprefix("CAP_") for word in line.split()]


def test_each_queue_has_a_worker(everything: list[Object], external: list[Object]) -> None:
    def queues(objects: list[Object]) -> dict[str, int]:
        found = {}
        for pod in pods(objects):
            if pod.component.startswith("worker-"):
                (worker,) = pod.containers
                words = dict(word.partition("=")[::2] for word in worker["args"])
                found[words["--queues"]] = int(words["--concurrency"])
        return found

    assert queues(everything) == {queue.name: queue.slots for queue in QUEUES}
    # No command moves workloads there.
    assert queues(external) == {q.name: q.slots for q in QUEUES if q.name != MOVES}


def test_paths_of_samples_lead_to_the_servers_of_samples(external: list[Object]) -> None:
    (ingress,) = (one for one in external if one["kind"] == "Ingress")
    (rule,) = ingress["spec"]["rules"]

    led = {
        (path["path"], path["pathType"], path["backend"]["service"]["name"])
        for path in rule["http"]["paths"]
    }

    assert led == {
        *((path, "Exact", "sluice-ingest") for path in SAMPLE_PATHS),
        ("/", "Prefix", "sluice"),
    }


def test_programs_are_modules_of_the_product(everything: list[Object]) -> None:
    found = {
        container["command"][2]
        for pod in server_pods(everything)
        for container in pod.containers
        if container["command"][1:2] == ["-m"]
    }

    assert found == {"appliance.web_server", "appliance.signer", "celery", "django"}
    assert all(importlib.util.find_spec(module) for module in found)


def test_settings_in_the_environment_are_documented(everything: list[Object]) -> None:
    page = (ROOT / "docs/settings.md").read_text()
    documented = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))

    given = {
        one["name"]
        for pod in server_pods(everything)
        for container in pod.containers
        for one in container.get("env", [])
    }

    settings = {name for name in given - OF_CONTAINERS if not name.startswith("PYTHON")}
    assert {name for name in settings if name.removesuffix("_FILE") not in documented} == {
        "SLUICE_ALIVE_FILE"  # its name ends so by itself
    }
    assert "SLUICE_ALIVE_FILE" in documented


def test_each_process_has_the_secrets_of_its_work_alone(external: list[Object]) -> None:
    database, queue = "sluice-postgresql", ("sluice-valkey", "url")
    keys = {("sluice-own-keys", "secret-key"), ("sluice-own-keys", "encryption-keys")}
    signing = ("sluice-own-signing", "signing-keys")
    has = {
        (pod.component, container["name"]): secrets_in(pod, container)
        for pod in pods(external)
        for container in pod.containers
    }

    assert has["web", "web"] == {(database, "web"), queue, *keys}
    assert has["web", "signer"] == {signing}
    assert has["ingest", "ingest"] == {(database, "ingest"), queue}
    assert has["worker-advise", "worker"] == {(database, "worker"), queue, *keys}
    assert has["scheduler", "scheduler"] == {queue}
    roles = {(database, role) for role in ("owner", "web", "worker", "ingest")}
    assert has["migrations", "migrations"] == {*roles, queue, *keys, signing}


def test_web_server_and_signer_share_a_socket_and_a_user(external: list[Object]) -> None:
    pod = pod_of(external, "web")
    web, signer = pod.containers

    shared = {m["mountPath"] for m in web["volumeMounts"]} & {
        m["mountPath"] for m in signer["volumeMounts"] if m["name"] == "run"
    }
    (asked,) = (e["value"] for e in web["env"] if e["name"] == "SLUICE_SIGNER")
    assert shared == {"/run/sluice"}
    assert signer["args"] == [f"--socket={asked}"]
    assert "securityContext" in pod.template["spec"]
    assert not any("runAsUser" in container["securityContext"] for container in pod.containers)


def test_page_has_the_role_that_the_chart_gives_its_reader(everything: list[Object]) -> None:
    page = (ROOT / "docs/kubernetes.md").read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)

    roles = [
        one
        for block in blocks
        for one in yaml.safe_load_all(block)
        if one.get("kind") == "ClusterRole"
    ]

    (own,) = (one for one in everything if one["kind"] == "ClusterRole")
    assert [one["rules"] for one in roles] == [own["rules"]]
    assert {verb for rule in own["rules"] for verb in rule["verbs"]} == {"list"}


def test_files_of_the_environment_are_mounted(everything: list[Object]) -> None:
    for pod in server_pods(everything):
        files = {
            f"/etc/sluice/{item['path']}"
            for volume in pod.template["spec"].get("volumes", [])
            for source in [volume, *volume.get("projected", {}).get("sources", [])]
            for item in (source.get("secret") or {}).get("items", [])
        }
        for container in pod.containers:
            for one in container.get("env", []):
                if one["name"].endswith("_FILE") and one["name"] != "SLUICE_ALIVE_FILE":
                    assert one["value"] in files, (pod.name, one["name"])


@pytest.mark.parametrize("values", VALUES, ids=lambda path: path.stem)
def test_no_variable_is_given_twice(values: Path) -> None:
    for pod in pods(rendered(values)):
        for container in pod.containers:
            names = [one["name"] for one in container.get("env", [])]
            assert len(names) == len(set(names)), (pod.name, container["name"])
