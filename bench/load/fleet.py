"""The hosts of the load: what they send, and what is stated of them in the database.

A host sends ten series: two disks, two interfaces, five control groups and its TCP. The five are
workloads of its first disk, which is a datastore with a policy; so its agent has five allocations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accounts.models import Organisation
    from advisor.models import Allocation
    from ingest.core.catalogue import Measurement
    from ingest.core.mapping import SeriesKey

WORKLOADS = 5
SERIES = 10
DISK, DISK_NUMBER = "sda", "8:0"
_TOLD_EACH = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class HostKeys:
    """A host's name and the secrets of its agent."""

    name: str
    token: str = field(repr=False)
    report_key: bytes = field(repr=False)


def host_name(number: int) -> str:
    return f"load-{number:04}"


def path_of(workload: int) -> str:
    return f"/machine.slice/w{workload}.scope"


def body(host: str, number: int, at_s: int) -> bytes:
    """The lines of the host with this number at this second; counters grow evenly."""
    # Hosts do differently much, and each disk enough to be judged.
    ios, sent = 200 + number % 50, 1_000_000 + 1_000 * (number % 100)
    done, at = at_s * ios, f" {at_s}000000000"
    lines = [
        f"diskio,host={host},name={disk} reads={done}i,writes={done}i,read_bytes={done * 4096}i,"
        f"write_bytes={done * 4096}i,read_time={done * 2 % 2**32}i,write_time={done % 2**32}i,"
        f"io_time={at_s * 400 % 2**32}i,weighted_io_time={done * 3 % 2**32}i,iops_in_progress=1i"
        for disk in (DISK, "sdb")
    ]
    lines += [
        f"net,host={host},interface={card} bytes_sent={at_s * sent}i,bytes_recv={at_s * sent}i,"
        f"packets_sent={at_s * 900}i,packets_recv={at_s * 900}i,drop_in=0i,drop_out=0i,"
        f"err_in=0i,err_out=0i{speed}"
        for card, speed in (("eno1", ",speed=10000i"), ("vnet0", ""))
    ]
    part = done // WORKLOADS
    prefix = f"io.stat.{DISK_NUMBER}"
    lines += [
        f"cgroup,host={host},path={path_of(workload)} {prefix}.rios={part}i,{prefix}.wios={part}i,"
        f"{prefix}.rbytes={part * 4096}i,{prefix}.wbytes={part * 4096}i"
        for workload in range(WORKLOADS)
    ]
    lines.append(f"nstat,host={host},name=snmp TcpOutSegs={at_s * 900}i,TcpRetransSegs={at_s}i")
    return "".join(line + at + "\n" for line in lines).encode()


def fill(hosts: int, say: Callable[[str], None]) -> tuple[str, list[HostKeys]]:
    """Enrol the hosts and put a policy on each; gives the token of samples, and their keys."""
    from accounts.models import Organisation, Scope, Token
    from advisor.decisions.enrolment import enroll
    from advisor.models import Enforcer
    from enforcers.canonical_json import to_plain
    from tests.advisor.agent_support import SUPPORT

    organisation = Organisation.objects.get()
    _, secret = Token.objects.issue(organisation=organisation, scope=Scope.INGEST, name="load")
    keys = []
    for number in range(hosts):
        name = host_name(number)
        made = enroll(organisation=organisation, host_name=name)
        report_key = bytes.fromhex(made.report_key.rpartition(":")[2])
        keys.append(HostKeys(name=name, token=made.token, report_key=report_key))
        if (number + 1) % _TOLD_EACH == 0:
            say(f"{number + 1} hosts are enrolled")
    Enforcer.objects.update(support=to_plain(SUPPORT))
    say(f"{_state(organisation)} allocations have a policy")
    return secret, keys


def _state(organisation: Organisation) -> int:
    """A datastore of each host's first disk, with a policy for each of its workloads."""
    from advisor.core.allocation import ReservationMode
    from advisor.core.resource import Unit
    from advisor.models import AdapterKind, Allocation, Attachment, Policy, Resource, Workload
    from ingest.core.catalogue import BLOCK_DEVICE
    from ingest.models import Host
    from ingest.series_rows import series_ids

    hosts = list(Host.objects.filter(organisation=organisation).order_by("name"))
    series_ids(organisation, _device_numbers(BLOCK_DEVICE, (host.name for host in hosts)))
    stores = Resource.objects.bulk_create(
        Resource(
            organisation=organisation, name=f"{host.name} {DISK}", kind="datastore",
            unit=Unit.IOPS, mode=ReservationMode.FLOOR, capacity=5000.0, threshold=20.0,
            activity_floor=10.0,
        )
        for host in hosts
    )  # fmt: skip
    Attachment.objects.bulk_create(
        Attachment(resource=store, host=host, device=DISK)
        for store, host in zip(stores, hosts, strict=True)
    )
    pairs = [(store, host, place) for store, host in zip(stores, hosts, strict=True)
             for place in range(WORKLOADS)]  # fmt: skip
    workloads = Workload.objects.bulk_create(
        Workload(organisation=organisation, name=f"{host.name} w{place}")
        for _, host, place in pairs
    )
    allocations = Allocation.objects.bulk_create(
        Allocation(
            resource=store, workload=workload, host=host, adapter_kind=AdapterKind.CGROUP,
            adapter=path_of(place), size_bytes=40e9,
        )
        for (store, host, place), workload in zip(pairs, workloads, strict=True)
    )  # fmt: skip
    own: dict[int, list[dict[str, object]]] = {}
    for one in allocations:
        own.setdefault(one.resource_id, []).append(_terms(one))
    Policy.objects.bulk_create(
        Policy(organisation=organisation, resource=store, version=1, allocations=own[store.pk],
               created_at=datetime.now(UTC))
        for store in stores
    )  # fmt: skip
    return len(allocations)


def _terms(one: Allocation) -> dict[str, object]:
    return {
        "allocation": one.pk, "workload": one.workload.name, "reservation": 0.0, "limit": 1000.0,
        "shares": 1000, "entitlement": 500.0,
    }  # fmt: skip


def _device_numbers(table: Measurement, hosts: Iterable[str]) -> list[SeriesKey]:
    """What says of each host which disk has which number."""
    from ingest.core.mapping import SeriesKey

    return [
        SeriesKey(table=table, host=host, subject=DISK, tags=(("host", host), ("name", DISK)))
        for host in hosts
    ]
