"""All mechanisms by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from enforcers.contract import Mechanism
from enforcers.host_fs import HostFs
from enforcers.mechanism import EnforcementMechanism
from enforcers.mechanisms.cgroup_io.mechanism import CgroupIo
from enforcers.mechanisms.tc_htb.mechanism import TcHtb
from enforcers.runner import Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAccess:
    """The host as mechanisms reach it, and what of it they may touch."""

    runner: Runner
    host_fs: HostFs
    interfaces: frozenset[str] = frozenset()
    cgroup_subtrees: frozenset[str] = frozenset()
    io_devices: frozenset[str] = frozenset()


CONSTRUCTORS: Mapping[Mechanism, Callable[[HostAccess], EnforcementMechanism[Any]]] = {
    Mechanism.TC_HTB: lambda host: TcHtb(
        runner=host.runner, host_fs=host.host_fs, interfaces=host.interfaces
    ),
    Mechanism.CGROUP_IO: lambda host: CgroupIo(
        host_fs=host.host_fs, subtrees=host.cgroup_subtrees, devices=host.io_devices
    ),
}


def build_mechanisms(host: HostAccess) -> dict[Mechanism, EnforcementMechanism[Any]]:
    """One of each."""
    return {name: construct(host) for name, construct in CONSTRUCTORS.items()}
