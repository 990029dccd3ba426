"""All mechanisms."""

from collections.abc import Mapping
from typing import Any

from enforcers.mechanism import EnforcementMechanism, HostAccess
from enforcers.mechanisms.cgroup_io.mechanism import CgroupIo
from enforcers.mechanisms.qemu_throttle.mechanism import QemuThrottle
from enforcers.mechanisms.tc_htb.mechanism import TcHtb

Mechanisms = tuple[type[EnforcementMechanism[Any]], ...]

MECHANISMS: Mechanisms = (
    TcHtb,
    CgroupIo,
    QemuThrottle,
)


def build_mechanisms(
    host: HostAccess, configs: Mapping[str, Any], mechanisms: Mechanisms = MECHANISMS
) -> dict[str, EnforcementMechanism[Any]]:
    """One of each by name; one without a configuration may touch nothing."""
    return {kind.name: kind(host, configs.get(kind.name) or kind.Config()) for kind in mechanisms}
