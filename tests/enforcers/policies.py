"""Policies for tests: workloads vm1, vm2, ... behind vNICs p1, p2, ... on the uplink up0."""

from datetime import UTC, datetime, timedelta
from typing import Any

from enforcers.contract import (
    HOST_TRAFFIC,
    Allocation,
    PolicyDocument,
    Pool,
    ReservationMode,
    ResourceKind,
    ResourceSpec,
    Selector,
    Unit,
    sign,
)
from enforcers.mechanism import Desired

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
KEY = b"0123456789abcdef" * 2
LINK = 94_000_000.0


def uplink(**change: Any) -> ResourceSpec:
    """The uplink up0 with 94 Mbit/s, reservations additive."""
    values: dict[str, Any] = {
        "name": "uplink0",
        "kind": ResourceKind.UPLINK,
        "device": "up0",
        "capacity": LINK,
        "unit": Unit.BITS_PER_S,
        "mode": ReservationMode.ADDITIVE,
        "mechanism": "tc_htb",
    }
    return ResourceSpec(**{**values, **change})


def datastore(**change: Any) -> ResourceSpec:
    """The datastore on 8:0 with 2000 IOPS."""
    values: dict[str, Any] = {
        "name": "ds1",
        "kind": ResourceKind.DATASTORE,
        "device": "8:0",
        "capacity": 2000.0,
        "unit": Unit.IOPS,
        "mode": ReservationMode.FLOOR,
        "mechanism": "cgroup_io",
    }
    return ResourceSpec(**{**values, **change})


def vnic(number: int, reservation: float = 0.0, **change: Any) -> Allocation:
    """What workload number N has on the uplink."""
    values: dict[str, Any] = {
        "id": f"net-{number}",
        "workload": f"vm{number}",
        "resource": "uplink0",
        "selector": Selector(kind="vnic", value=f"p{number}"),
        "reservation": reservation,
        "limit": None,
        "shares": 100,
        "entitlement": 0.0,
    }
    return Allocation(**{**values, **change})


def host_traffic(reservation: float = 9.4e6, **change: Any) -> Allocation:
    """What the host's own traffic has on the uplink: by default its part of 94 Mbit/s."""
    values = {
        "id": "host-1",
        "workload": "h1 itself",
        "selector": Selector(kind=HOST_TRAFFIC, value="up0"),
    }
    return vnic(0, reservation, **{**values, **change})


def host_kind(kind: str, reservation: float = 0.0, **change: Any) -> Allocation:
    """What one kind of the host's own traffic has on the uplink."""
    values = {
        "id": f"kind-{kind}",
        "workload": f"{kind} of h1",
        "selector": Selector(kind="host_kind", value=kind),
    }
    return vnic(0, reservation, **{**values, **change})


def group(path: str, **change: Any) -> Allocation:
    """What the workload in a control group has on the datastore."""
    values: dict[str, Any] = {
        "id": f"io{path}",
        "workload": path.rpartition("/")[2],
        "resource": "ds1",
        "selector": Selector(kind="cgroup", value=path),
        "reservation": 0.0,
        "limit": None,
        "shares": 100,
        "entitlement": 0.0,
    }
    return Allocation(**{**values, **change})


def pool(**change: Any) -> Pool:
    """A pool on the uplink that is told by nothing but its terms."""
    values: dict[str, Any] = {
        "id": "pool-1",
        "name": "web",
        "resource": "uplink0",
        "reservation": 20e6,
        "limit": 40e6,
        "shares": None,
    }
    return Pool(**{**values, **change})


def member(number: int, reservation: float = 0.0, **change: Any) -> Allocation:
    """What workload number N has on the uplink as one of the pool."""
    return vnic(number, reservation, **{"pool": "pool-1", **change})


def desired(spec: ResourceSpec, *allocations: Allocation, pools: tuple[Pool, ...] = ()) -> Desired:
    """What one device shall enforce."""
    return Desired(device=spec.device, spec=spec, allocations=allocations, pools=pools)


def nothing(device: str) -> Desired:
    """As it was found."""
    return Desired(device=device, spec=None, allocations=())


def document(*allocations: Allocation, revision: int = 1, **change: Any) -> PolicyDocument:
    """A signed document of host h1, issued at noon for 15 minutes, with the resources used."""
    specs = {"uplink0": uplink(), "ds1": datastore()}
    used = {item.resource for item in allocations}
    values: dict[str, Any] = {
        "host": "h1",
        "revision": revision,
        "issued_at": NOON,
        "expires_at": NOON + timedelta(minutes=15),
        "dry_run": False,
        "resources": tuple(specs[name] for name in sorted(used)),
        "allocations": allocations,
    }
    return sign(PolicyDocument(**{**values, **change}), KEY)
