"""The names that people gave to containers and pods, from the files of who made them."""

import json
from typing import Any

from enforcers.reader.cgroup_names import Maker, Named
from enforcers.reader.host_tree import HostTree

DOCKER = "/var/lib/docker/containers"
PODMAN = "/var/lib/containers/storage/overlay-containers/containers.json"
# The kubelet's folder of a pod's logs is called NAMESPACE_NAME_UID.
POD_LOGS = "/var/log/pods"
LXC = "/var/lib/lxc"


class ContainerNames:
    """Remembers each name as long as its file is unchanged."""

    def __init__(self) -> None:
        self._docker: dict[str, tuple[int | None, dict[str, str]]] = {}
        self._podman: tuple[int | None, dict[str, str]] = (None, {})
        self._pods: dict[str, dict[str, str]] = {}

    def renew(self, tree: HostTree) -> None:
        """Look at the folders again, once a pass."""
        self._pods = dict(_pod(name) for name in tree.names(POD_LOGS) if name.count("_") >= 2)
        changed_at = tree.changed_at_ns(PODMAN)
        if changed_at != self._podman[0]:
            self._podman = (changed_at, _podman_names(tree))

    def facts(self, workload: Named, tree: HostTree) -> dict[str, str]:
        """What is known of a container or pod; empty where nothing can be read."""
        own = workload.own
        match workload.maker:
            case Maker.DOCKER:
                return self._docker_facts(own, tree)
            case Maker.PODMAN:
                name = self._podman[1].get(own)
                return {"name": name} if name else {}
            case Maker.KUBERNETES:
                return {"uuid": own, **self._pods.get(own, {})}
            case Maker.LXC:
                return {"name": _lxc_name(own, tree) or own}
            case _:
                return {}

    def keep_only(self, own_names: set[str]) -> None:
        """Forget containers that are gone."""
        self._docker = {key: held for key, held in self._docker.items() if key in own_names}

    def _docker_facts(self, own: str, tree: HostTree) -> dict[str, str]:
        path = f"{DOCKER}/{own}/config.v2.json"
        changed_at = tree.changed_at_ns(path)
        if changed_at is None:
            # Names what is in the way, once, if it is not just gone.
            tree.names(DOCKER)
            return {}
        held = self._docker.get(own)
        if held is None or held[0] != changed_at:
            name = _parsed(tree.text(path)).get("Name")
            facts = {"name": name.removeprefix("/")} if isinstance(name, str) and name else {}
            held = self._docker[own] = (changed_at, facts)
        return held[1]


def _pod(folder: str) -> tuple[str, dict[str, str]]:
    namespace, rest = folder.split("_", 1)
    name, uid = rest.rsplit("_", 1)
    return uid, {"name": name, "namespace": namespace}


def _podman_names(tree: HostTree) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        listed = json.loads(tree.text(PODMAN) or "[]")
    except (ValueError, RecursionError):
        tree.note(PODMAN, "is not JSON")
        return found
    for item in listed if isinstance(listed, list) else []:
        names = item.get("names") if isinstance(item, dict) else None
        if isinstance(names, list) and names and isinstance(item.get("id"), str):
            found[item["id"]] = str(names[0])
    return found


def _lxc_name(own: str, tree: HostTree) -> str | None:
    for line in tree.lines(f"{LXC}/{own}/config"):
        key, _, value = line.partition("=")
        if key.strip() == "lxc.uts.name":
            return value.strip() or None
    return None


def _parsed(text: str) -> dict[str, Any]:
    """A JSON object; empty where it is none, or half written."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
