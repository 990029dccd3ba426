"""Workloads that are pods, with what their cluster says of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ingest.core.identity.cgroup_path import CgroupKind, read_cgroup
from ingest.core.identity.facts import Kind
from ingest.core.identity.workloads import CGROUP, FoundWorkload

POD = "pod/"
"""How collectors begin the key of a pod; then comes its uid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPod:
    """A pod as its cluster shows it.

    `tier` is the one that its label gives, with the `reason`. `number` is that of its row.
    """

    number: int
    uid: str
    namespace: str
    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    tier: str | None = None
    reason: str = ""


class KnownPods:
    """Finds pods by their uid; where no collector tells one, by the name of one pod alone."""

    def __init__(self, pods: Iterable[KnownPod]) -> None:
        self._by_uid: dict[str, KnownPod] = {}
        self._by_name: dict[tuple[str, str], KnownPod | None] = {}
        for one in pods:
            self._by_uid[one.uid] = one
            name = (one.namespace, one.name)
            self._by_name[name] = None if name in self._by_name else one

    def of(self, workload: FoundWorkload) -> KnownPod | None:
        """The pod that a workload is; None if it is none, or of a cluster that is not read."""
        uids = uids_of(workload)
        if uids:
            return next((self._by_uid[uid] for uid in uids if uid in self._by_uid), None)
        name = pod_name(workload)
        return self._by_name.get(name) if name else None


def uids_of(workload: FoundWorkload) -> list[str]:
    """The uids by which collectors know a pod: of its control group, or of its key."""
    found = []
    for place in workload.places:
        if place.kind == Kind.WORKLOAD and place.subject.startswith(POD):
            found.append(place.subject.removeprefix(POD).lower())
        elif place.kind == CGROUP:
            cgroup = read_cgroup(place.subject)
            if cgroup is not None and cgroup.kind is CgroupKind.POD:
                found.append(cgroup.key)
    return list(dict.fromkeys(found))


def pod_name(workload: FoundWorkload) -> tuple[str, str] | None:
    """Namespace and name, where collectors tell both of a pod."""
    namespaces = [value for name, value in workload.attributes if name == "namespace"]
    if workload.kind != "pod" or workload.stated_name is None or len(namespaces) != 1:
        return None
    return namespaces[0], workload.stated_name


def with_pods(workloads: Iterable[FoundWorkload], pods: KnownPods) -> tuple[FoundWorkload, ...]:
    """The workloads; those that are known pods have their names and labels too.

    What a collector says of a label stands beside what the cluster says.
    """
    return tuple(one if (pod := pods.of(one)) is None else _with(one, pod) for one in workloads)


def _with(one: FoundWorkload, pod: KnownPod) -> FoundWorkload:
    labels = {(f"label.{name}", value) for name, value in pod.labels.items()}
    attributes = {*one.attributes, ("namespace", pod.namespace), *labels}
    named = replace(one, attributes=tuple(sorted(attributes)))
    if one.stated_name is not None:
        return named
    return replace(named, name=f"{pod.namespace}/{pod.name}", stated_name=pod.name)
