"""What people call the control groups of workloads, from the tree itself, `/proc` and files.

No daemon is asked. Only what lies at or below the groups that may be changed is looked at.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise

from enforcers.host_fs import HostFs
from enforcers.mechanisms.cgroup_io.located import (
    CONTAINER_LABEL,
    CONTAINER_NAME,
    KUBERNETES_POD,
    LIBVIRT_DOMAIN,
    PROXMOX_VMID,
    SYSTEMD_UNIT,
    Name,
)
from enforcers.reader.cgroup_names import Maker, Named, is_nobody, named
from enforcers.reader.containers import DOCKER, ContainerNames
from enforcers.reader.host_tree import HostTree
from enforcers.reader.processes import ProcessWatch

MOST_GROUPS = 10_000
_DEEPEST = 8
_UNITS = (".service", ".scope", ".slice")
_CONTAINERS = (Maker.DOCKER, Maker.PODMAN, Maker.LXC)


class GroupNames:
    """Remembers the names of containers as long as their files are unchanged."""

    def __init__(self, host_fs: HostFs) -> None:
        self._host_fs = host_fs
        self._containers = ContainerNames()

    def read(
        self, mount: str, subtrees: Collection[str], kinds: Collection[str]
    ) -> Mapping[str, frozenset[Name]]:
        """The names of these kinds of selectors, by the group's path below the mount."""
        tree = HostTree(str(self._host_fs.path("/")))
        self._containers.renew(tree)
        domains = _domains(tree) if LIBVIRT_DOMAIN in kinds else {}
        monitored = _monitored(tree) if CONTAINER_NAME in kinds else {}
        groups = dict(_walk(tree, mount, subtrees))
        return {
            path: frozenset(
                name
                for name in self._names(path, workload, tree, domains, monitored)
                if name[0] in kinds
            )
            for path, workload in groups.items()
        }

    def _names(
        self,
        path: str,
        workload: Named | None,
        tree: HostTree,
        domains: Mapping[str, str],
        monitored: Mapping[str, str],
    ) -> Iterator[Name]:
        leaf = path.rpartition("/")[2]
        if leaf.endswith(_UNITS):
            yield SYSTEMD_UNIT, leaf
        if workload is None:
            return
        facts = self._containers.facts(workload, tree)
        match workload.maker:
            case Maker.LIBVIRT:
                # A group's name lacks letters that a domain's may have; its process has all.
                yield LIBVIRT_DOMAIN, domains.get(path, workload.own)
            case Maker.PROXMOX_VM:
                yield PROXMOX_VMID, workload.own
            case Maker.KUBERNETES if "namespace" in facts:
                yield KUBERNETES_POD, f"{facts['namespace']}/{facts['name']}"
            case maker if maker in _CONTAINERS:
                if maker is Maker.LXC and workload.own.isdecimal():
                    # Proxmox numbers its containers and machines together.
                    yield PROXMOX_VMID, workload.own
                name = facts.get("name") or monitored.get(workload.own)
                if name is not None:
                    yield CONTAINER_NAME, name
                for label in _labels(workload, tree):
                    yield CONTAINER_LABEL, label
            case _:
                pass


def _walk(
    tree: HostTree, mount: str, subtrees: Collection[str]
) -> Iterator[tuple[str, Named | None]]:
    """The groups at and below the subtrees, with their workload; nothing below a workload.

    A link is no group.
    """
    left = [(subtree.rstrip("/"), 0) for subtree in sorted(subtrees, reverse=True)]
    for _ in range(MOST_GROUPS):
        if not left:
            return
        path, depth = left.pop()
        workload = named(path)
        yield path, workload
        if workload is None and depth < _DEEPEST:
            below = [name for name in tree.folders(mount + path) if not is_nobody(name)]
            left += [(f"{path}/{name}", depth + 1) for name in reversed(below)]


def _domains(tree: HostTree) -> dict[str, str]:
    """The names of QEMU guests by their control group, as their command lines say."""
    return {
        one.cgroup: one.guest.name
        for one in ProcessWatch().look(tree, turn=0)
        if one.guest.name is not None
    }


def _monitored(tree: HostTree) -> dict[str, str]:
    """The names of containers by id, as Podman starts their monitors: `conmon -c ID -n NAME`."""
    found = {}
    for pid in tree.names("/proc"):
        if pid.isdecimal() and tree.word(f"/proc/{pid}/comm") == "conmon":
            words = tree.text(f"/proc/{pid}/cmdline").split("\0")
            said = {key: value for key, value in pairwise(words) if key in ("-c", "-n")}
            if len(said) == 2:
                found[said["-c"]] = said["-n"]
    return found


def _labels(workload: Named, tree: HostTree) -> Iterator[str]:
    """Labels as KEY=VALUE; only Docker keeps them in a file."""
    if workload.maker is not Maker.DOCKER:
        return
    try:
        said = json.loads(tree.text(f"{DOCKER}/{workload.own}/config.v2.json") or "{}")
        labels = said["Config"]["Labels"].items()
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return
    yield from (f"{key}={value}" for key, value in labels)
