"""What Helm makes of the chart."""

from __future__ import annotations

import copy
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.chart.programs_here import CHART, program

Object = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """The template of an object's pods."""

    name: str
    template: Object

    @property
    def containers(self) -> list[Object]:
        spec = self.template["spec"]
        return [*spec.get("initContainers", []), *spec["containers"]]

    @property
    def component(self) -> str:
        labels: Mapping[str, str] = self.template["metadata"]["labels"]
        return labels["app.kubernetes.io/component"]


def helm(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> str:
    """What Helm prints. Raises AssertionError with what it said if it fails."""
    done = run_helm(*arguments, environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_helm(
    *arguments: str | Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program("helm"), *arguments],
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **(environment or {})},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def rendered(values: Path | None, *more: str) -> list[Object]:
    """The objects of a release `sluice` in the namespace `storage`."""
    files: Sequence[str | Path] = ("--values", values) if values else ()
    text = helm("template", "sluice", CHART, "--namespace", "storage", *files, *more)
    return [one for one in yaml.safe_load_all(text) if one]


def pods(objects: Sequence[Object]) -> Iterator[Pod]:
    """Of each object that makes pods; those of a StatefulSet have its claims as volumes."""
    for one in objects:
        if template := copy.deepcopy(one.get("spec", {}).get("template")):
            claims = [
                claim["metadata"]["name"] for claim in one["spec"].get("volumeClaimTemplates", [])
            ]
            template["spec"].setdefault("volumes", []).extend(
                {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims
            )
            yield Pod(name=one["metadata"]["name"], template=template)


def pod_of(objects: Sequence[Object], component: str) -> Pod:
    """The one of a component."""
    (found,) = (pod for pod in pods(objects) if pod.component == component)
    return found


def secrets_in(pod: Pod, container: Object) -> set[tuple[str, str]]:
    """Secret and key of each file that the container is given."""
    mounted = {mount["name"] for mount in container.get("volumeMounts", [])}
    return {
        (name, item["key"])
        for volume in pod.template["spec"].get("volumes", [])
        if volume["name"] in mounted
        for name, items in _sources(volume)
        for item in items
    }


def _sources(volume: Object) -> Iterator[tuple[str, list[Object]]]:
    if secret := volume.get("secret"):
        yield secret["secretName"], secret.get("items", [{"key": "*"}])
    for source in volume.get("projected", {}).get("sources", []):
        yield source["secret"]["name"], source["secret"]["items"]
