"""Which control group an allocation means that names a workload. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from enforcers.contract import Allocation, Outcome, Selector
from enforcers.mechanism import Note

CGROUP = "cgroup"
SYSTEMD_UNIT = "systemd_unit"
LIBVIRT_DOMAIN = "libvirt_domain"
PROXMOX_VMID = "proxmox_vmid"
CONTAINER_NAME = "container_name"
CONTAINER_LABEL = "container_label"
KUBERNETES_POD = "kubernetes_pod"
NAMING = (
    SYSTEMD_UNIT,
    LIBVIRT_DOMAIN,
    PROXMOX_VMID,
    CONTAINER_NAME,
    CONTAINER_LABEL,
    KUBERNETES_POD,
)
"""The kinds of selectors that are looked up in each pass."""
_MOST_TOLD = 3

Name = tuple[str, str]
"""The kind and value of a selector."""


def places(
    allocations: Iterable[Allocation],
    names: Mapping[str, frozenset[Name]],
    subtrees: Collection[str],
) -> dict[str, str | Note]:
    """By allocation that names a workload: its group's path, or why there is not just one."""
    found: dict[Name, list[str]] = {}
    for path in sorted(names):
        for name in names[path]:
            found.setdefault(name, []).append(path)
    return {
        item.id: _place(item.selector, found, subtrees)
        for item in allocations
        if item.selector.kind in NAMING
    }


def located(
    allocations: Iterable[Allocation], known: Mapping[str, str | Note]
) -> list[Allocation]:
    """The allocations with the paths of their groups; without those whose group is not known."""
    found = []
    for item in allocations:
        place = known.get(item.id)
        if isinstance(place, str):
            found.append(replace(item, selector=Selector(kind=CGROUP, value=place)))
        elif place is None:
            found.append(item)
    return found


def _place(
    selector: Selector, found: Mapping[Name, list[str]], subtrees: Collection[str]
) -> str | Note:
    paths = found.get((selector.kind, selector.value), [])
    if len(paths) == 1:
        return paths[0]
    what = f"{selector.kind} {selector.value!r}"
    if not paths:
        below = ", ".join(sorted(subtrees)) or "none"
        reason = f"no control group of {what} is at or below cgroup_io.subtrees (now: {below})"
    else:
        told = ", ".join(paths[:_MOST_TOLD])
        more = "" if len(paths) <= _MOST_TOLD else ", ..."
        reason = f"{len(paths)} control groups are {what}: {told}{more}; name one of them alone"
    return Note(outcome=Outcome.FAILED, reason=reason)
