"""What hosts say of their disks, NICs and guests, and what is found of it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from accounts.models import Organisation
from advisor.decisions.found.keep import keep_inventory
from advisor.models import Allocation, Resource
from tests.advisor.samples import send
from tests.advisor.scenario import NOW

WWN = "naa.6001405abcdef0123456789abcdef012"
OTHER = "naa.6001405fedcba9876543210fedcba987"


def tell(organisation: Organisation, *lines: str, minutes: float = 0) -> datetime:
    """Send these lines, and look at what is there then."""
    at = NOW + timedelta(minutes=minutes)
    stamp = int(at.timestamp()) * 1_000_000_000
    send(organisation, "\n".join(f"{line} {stamp}" for line in lines), now=at)
    keep_inventory(organisation, now=at)
    return at


def disk(host: str, name: str, **said: str) -> list[str]:
    lines = [f"diskio,host={host},name={name} reads=1i,writes=1i"]
    if said:
        fields = ",".join(f'{key}="{value}"' for key, value in said.items())
        lines.append(f"sluice_device,host={host},name={name} {fields}")
    return lines


def number(host: str, name: str, minor: int) -> str:
    return f"block_device,host={host},name={name} major=8i,minor={minor}i"


def cgroup(host: str, path: str, device: str = "8:0") -> str:
    return f"cgroup,host={host},path={path} io.stat.{device}.rios=1i,io.stat.{device}.wios=1i"


def guest(host: str, key: str, **said: str) -> str:
    fields = ",".join(f'{name.replace("__", ".")}="{value}"' for name, value in said.items())
    return f"sluice_workload,host={host},name={key} {fields}"


def nic(name: str, host: str = "h1", **said: str) -> list[str]:
    lines = [f"net,host={host},interface={name} bytes_sent=1i,bytes_recv=1i"]
    if said:
        fields = ",".join(f'{key}="{value}"' for key, value in said.items())
        lines.append(f"sluice_nic,host={host},name={name} {fields}")
    return lines


def attached(resources: Iterable[Resource] | None = None) -> dict[str, list[str]]:
    rows = Resource.objects.filter(kind="datastore") if resources is None else resources
    return {
        row.name: sorted(f"{at.host.name}:{at.device}" for at in row.attachments.all())
        for row in rows
        if row.vanished_at is None
    }


def allocations() -> set[tuple[str, str, str, str, str]]:
    return {
        (one.workload.name, one.resource.name, one.host.name, one.adapter_kind, one.vdisk)
        for one in Allocation.objects.filter(vanished_at=None)
    }
