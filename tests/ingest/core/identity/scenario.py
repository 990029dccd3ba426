"""Facts in few words: `disk("kvm-01", "sdb", wwn="0x5000…")`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from ingest.core.identity.datastores import FoundDatastore, find_storage
from ingest.core.identity.facts import Facts, Kind, Place
from ingest.core.identity.grouping import NOTHING_STATED, Stated
from ingest.core.identity.machines import machines_of
from ingest.core.identity.workloads import CGROUP, FoundWorkload, find_workloads
from ingest.core.mapping import Fact

WWN = "0x6001405abcdef0123456789abcdef012"
OTHER_WWN = "0x6001405fedcba9876543210fedcba987"


def about(kind: Kind, host: str, subject: str, **values: str | Iterable[str]) -> list[Fact]:
    """Facts of one subject; a name may have several values."""
    return [
        Fact(host=host, kind=kind, subject=subject, name=name.replace("__", "."), value=value)
        for name, given in values.items()
        for value in ([given] if isinstance(given, str) else given)
    ]


def disk(host: str, device: str, **values: str | Iterable[str]) -> list[Fact]:
    return about(Kind.DEVICE, host, device, **values)


def mount(host: str, path: str, server: str, export: str, address: str = "") -> list[Fact]:
    known = {"address": address} if address else {}
    return about(Kind.MOUNT, host, path, server=server, export=export, fstype="nfs4", **known)


def workload(host: str, key: str, **values: str | Iterable[str]) -> list[Fact]:
    return about(Kind.WORKLOAD, host, key, **values)


def host(name: str, **values: str) -> list[Fact]:
    return about(Kind.HOST, name, "", **values)


def datastores(*facts: list[Fact], stated: Stated = NOTHING_STATED) -> list[FoundDatastore]:
    return list(find_storage(Facts.of(chain(*facts)), stated).datastores)


def shared(*facts: list[Fact], stated: Stated = NOTHING_STATED) -> list[set[str]]:
    """The datastores, each as its places in words: `kvm-01:sdb`."""
    return [{str(place) for place in one.places} for one in datastores(*facts, stated=stated)]


def workloads(*facts: list[Fact], cgroups: Iterable[tuple[str, str]] = ()) -> list[FoundWorkload]:
    """The workloads of these facts and of cgroups (host, path) that send samples."""
    every = list(chain(*facts))
    seen = {Place(one.host, one.kind, one.subject) for one in every}
    seen |= {Place(host, CGROUP, path) for host, path in cgroups}
    known = Facts.of(every, seen)
    return list(find_workloads(known, machines_of(known)))
