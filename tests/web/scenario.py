"""Named situations for the tests of pages: a small fleet, told as a story that ends now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser

from advisor.models import (
    AdapterKind,
    Attachment,
    Claim,
    Episode,
    Mode,
    Resource,
    ResourceKind,
    State,
    StatePoint,
    Tier,
    Unit,
    Workload,
)
from advisor.services.detect import LOOKBACK, detect_all
from ingest.models import Host, Membership, Organisation, Role
from tests.web.load import Curve, Noise, Recorder, during, steady, times, total

PASSWORD = "correct horse battery"
MBIT = 1e6
GBIT = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """The owner and the operator decide, the viewer only reads, the outsider is a stranger."""

    owner: AbstractBaseUser
    operator: AbstractBaseUser
    viewer: AbstractBaseUser
    outsider: AbstractBaseUser


@dataclass(slots=True, kw_only=True)
class Fleet:
    """One organisation with its people, hosts and resources by name."""

    now: datetime
    organisation: Organisation
    people: People
    hosts: dict[str, Host]
    resources: dict[str, Resource]


def empty_fleet(now: datetime) -> Fleet:
    """An organisation with people and nothing else: what a new user sees."""
    organisation = Organisation.objects.create(slug="northgate", name="Northgate Cloud")
    other = Organisation.objects.create(slug="lakeside", name="Lakeside Labs")
    people = People(
        owner=_member("owner", organisation, Role.ADMIN),
        operator=_member("operator", organisation, Role.OPERATOR),
        viewer=_member("viewer", organisation, Role.VIEWER),
        outsider=_member("outsider", other, Role.ADMIN),
    )
    return Fleet(now=now, organisation=organisation, people=people, hosts={}, resources={})


def _member(name: str, organisation: Organisation, role: Role) -> AbstractBaseUser:
    user = get_user_model().objects.create_user(username=name, password=PASSWORD)
    Membership.objects.create(organisation=organisation, user=user, role=role)
    return user


def noisy_neighbour(now: datetime, *, hours: float = 24.0) -> Fleet:
    """Since 42 minutes batch-3 takes most of nfs-07, and db-orders misses its reservation."""
    fleet = empty_fleet(now)
    for name in ("kvm-01", "kvm-02", "kvm-03", "kvm-04"):
        _host(fleet, name, last_sample_at=now - timedelta(seconds=6))
    _host(fleet, "kvm-05", last_sample_at=now - timedelta(minutes=25))
    story = _Story(fleet=fleet, since=now - timedelta(hours=hours))
    story.congested_datastore()
    story.calm_datastore()
    story.busy_uplink()
    story.discovered_devices()
    story.recorder.write()
    detect_all(organisation=fleet.organisation, now=now)
    return fleet


def _host(fleet: Fleet, name: str, *, last_sample_at: datetime) -> Host:
    host = Host.objects.create(
        organisation=fleet.organisation, name=name, last_sample_at=last_sample_at
    )
    fleet.hosts[name] = host
    return host


class _Story:
    def __init__(self, *, fleet: Fleet, since: datetime) -> None:
        self.fleet = fleet
        self.now = fleet.now
        self.since = since
        self.recorder = Recorder(since=since, until=fleet.now)
        self.began = fleet.now - timedelta(minutes=42)

    # --- nfs-07

    def congested_datastore(self) -> None:
        nfs = self._resource(
            "nfs-07", ResourceKind.DATASTORE, capacity=5200.0, threshold=15.0,
            attachments=(("kvm-01", "sdb"), ("kvm-02", "sdb"), ("kvm-03", "sdc")),
        )  # fmt: skip
        backup = self.now - timedelta(hours=9, minutes=50)
        batch = total(
            during(steady(3150, seed=3), start=self.began, end=self.now + timedelta(hours=9)),
            during(steady(2600, seed=4), start=backup, end=backup + timedelta(minutes=50)),
        )
        curves = {
            "db-orders": _squeezed(steady(1650, seed=1), batch, 0.42),
            "web-shop": _squeezed(steady(720, seed=2), batch, 0.3),
            "mail-1": _squeezed(steady(310, seed=5), batch, 0.35),
            "report-2": _squeezed(steady(150, seed=6, size=0.5), batch, 0.2),
            "batch-3": batch,
        }
        self._claim(nfs, "db-orders", "kvm-01", Tier.HIGH, reservation=1500.0)
        self._claim(nfs, "web-shop", "kvm-02", Tier.MEDIUM, reservation=600.0)
        self._claim(nfs, "mail-1", "kvm-02", Tier.MEDIUM)
        self._claim(nfs, "report-2", "kvm-01", Tier.LOW)
        self._claim(nfs, "batch-3", "kvm-03", Tier.LOW)
        latency = _queueing(total(*curves.values()), capacity=5200.0, base_ms=2.1, seed=7)
        on_host = {
            "kvm-01": total(curves["db-orders"], curves["report-2"]),
            "kvm-02": total(curves["web-shop"], curves["mail-1"]),
            "kvm-03": curves["batch-3"],
        }
        for name, device in (("kvm-01", "sdb"), ("kvm-02", "sdb"), ("kvm-03", "sdc")):
            self.recorder.disk(
                self.fleet.hosts[name], device, iops=on_host[name], latency_ms=latency
            )
        for claim in Claim.objects.filter(resource=nfs).select_related("workload", "host"):
            device = nfs.attachments.get(host=claim.host).device
            self.recorder.cgroup(
                claim.host, claim.adapter, device, iops=curves[claim.workload.name]
            )
        self._history(nfs, latency, load=total(*curves.values()))
        self._night_episode(nfs, backup)

    def calm_datastore(self) -> None:
        san = self._resource(
            "san-02", ResourceKind.DATASTORE, capacity=9000.0, threshold=20.0,
            attachments=(("kvm-02", "sdd"), ("kvm-03", "sdd")),
        )  # fmt: skip
        iops = steady(1900, seed=11, size=0.35)
        latency = _queueing(total(iops, iops), capacity=9000.0, base_ms=2.6, seed=12)
        for name in ("kvm-02", "kvm-03"):
            self.recorder.disk(self.fleet.hosts[name], "sdd", iops=iops, latency_ms=latency)
        self._history(san, latency, load=total(iops, iops))

    # --- Uplinks

    def busy_uplink(self) -> None:
        up = self._resource(
            "kvm-02/eno1", ResourceKind.UPLINK, capacity=10 * GBIT, threshold=0.9,
            attachments=(("kvm-02", "eno1"),),
        )  # fmt: skip
        curves = {
            "web-shop": steady(3.9 * GBIT, seed=21, size=0.18),
            "mail-1": steady(1.1 * GBIT, seed=22, size=0.3),
            "backup-7": during(
                steady(3.6 * GBIT, seed=23, size=0.1),
                start=self.now - timedelta(hours=5),
                end=self.now + timedelta(hours=3),
                outside=0.02,
            ),
        }
        self._claim(up, "web-shop", "kvm-02", Tier.HIGH, reservation=4 * GBIT, vnic="vnet3")
        self._claim(up, "mail-1", "kvm-02", Tier.MEDIUM, vnic="vnet5")
        self._claim(up, "backup-7", "kvm-02", Tier.LOW, limit=4 * GBIT, vnic="vnet9")
        host = self.fleet.hosts["kvm-02"]
        for (name, curve), vnic in zip(curves.items(), ("vnet3", "vnet5", "vnet9"), strict=True):
            del name
            self.recorder.net(host, vnic, sent=_part(curve, 0.1), received=curve)
        sent = total(*curves.values(), steady(0.12 * GBIT, seed=24))
        self.recorder.net(host, "eno1", sent=sent, received=_part(sent, 0.22))
        self._history(up, _part(sent, 1 / (10 * GBIT)), load=sent)

    def discovered_devices(self) -> None:
        disk = self._resource(
            "kvm-04/nvme0n1", ResourceKind.DATASTORE, capacity=None, threshold=30.0,
            attachments=(("kvm-04", "nvme0n1"),), discovered=True,
        )  # fmt: skip
        iops = steady(420, seed=31, size=0.6)
        latency = _queueing(iops, capacity=5000.0, base_ms=0.4, seed=32)
        self.recorder.disk(self.fleet.hosts["kvm-04"], "nvme0n1", iops=iops, latency_ms=latency)
        self._history(disk, latency, load=iops)
        self._resource(
            "kvm-04/eno1", ResourceKind.UPLINK, capacity=None, threshold=0.9,
            attachments=(("kvm-04", "eno1"),), discovered=True,
        )  # fmt: skip
        sent = steady(0.6 * GBIT, seed=33)
        self.recorder.net(self.fleet.hosts["kvm-04"], "eno1", sent=sent, received=_part(sent, 0.5))
        gone = self._resource(
            "kvm-05/sda", ResourceKind.DATASTORE, capacity=None, threshold=30.0,
            attachments=(("kvm-05", "sda"),), discovered=True,
        )  # fmt: skip
        self._history(gone, steady(6.0, seed=34), load=iops)

    # --- Rows

    def _resource(
        self,
        name: str,
        kind: ResourceKind,
        *,
        capacity: float | None,
        threshold: float,
        attachments: tuple[tuple[str, str], ...],
        discovered: bool = False,
    ) -> Resource:
        is_uplink = kind == ResourceKind.UPLINK
        resource = Resource.objects.create(
            organisation=self.fleet.organisation,
            name=name,
            kind=kind,
            unit=Unit.BITS_PER_S if is_uplink else Unit.IOPS,
            capacity=capacity,
            mode=Mode.ADDITIVE if is_uplink else Mode.FLOOR,
            threshold=threshold,
            activity_floor=10.0,
            discovered=discovered,
        )
        for host, device in attachments:
            Attachment.objects.create(
                resource=resource, host=self.fleet.hosts[host], device=device
            )
        self.fleet.resources[name] = resource
        return resource

    def _claim(
        self,
        resource: Resource,
        workload: str,
        host: str,
        tier: Tier,
        *,
        reservation: float = 0.0,
        limit: float | None = None,
        vnic: str | None = None,
    ) -> Claim:
        row, _ = Workload.objects.get_or_create(
            organisation=self.fleet.organisation, name=workload, defaults={"tier": tier}
        )
        return Claim.objects.create(
            resource=resource,
            workload=row,
            host=self.fleet.hosts[host],
            adapter_kind=AdapterKind.VNIC if vnic else AdapterKind.CGROUP,
            adapter=vnic or f"/machine.slice/{workload}.scope",
            reservation=reservation,
            limit=limit,
        )

    def _history(self, resource: Resource, value: Curve, *, load: Curve) -> None:
        """What the detector concluded, minute by minute, until the hour that it looks at anew."""
        points = []
        state, since = State.UNKNOWN, self.since
        for at in times(self.since, self.now - LOOKBACK, 60):
            current = value(at.timestamp())
            seen = State.CONGESTED if current >= resource.threshold else State.CLEAR
            if seen != state:
                state, since = seen, at
            points.append(
                StatePoint(
                    resource=resource, at=at, since=since, state=seen, value=current,
                    threshold=resource.threshold, load=load(at.timestamp()),
                )
            )  # fmt: skip
        StatePoint.objects.bulk_create(points)

    def _night_episode(self, resource: Resource, started_at: datetime) -> None:
        if started_at <= self.since:
            return
        Episode.objects.create(
            organisation=self.fleet.organisation, resource=resource, started_at=started_at,
            ended_at=started_at + timedelta(minutes=50), peak_value=27.4, threshold=15.0,
            victims=[
                {"workload": "db-orders", "rate": 1010.0, "entitlement": 1560.0,
                 "reservation": 1500.0, "shortfall_ratio": 0.353},
            ],
            aggressors=[
                {"workload": "batch-3", "rate": 2610.0, "entitlement": 1120.0,
                 "part_ratio": 0.56, "excess_ratio": 1.0},
            ],
        )  # fmt: skip


def _squeezed(curve: Curve, by: Curve, part: float) -> Curve:
    """What is left of a demand while the neighbour presses."""
    return lambda at_s: curve(at_s) * (1 - part * min(1.0, by(at_s) / 2400))


def _part(curve: Curve, part: float) -> Curve:
    return lambda at_s: curve(at_s) * part


def _queueing(iops: Curve, *, capacity: float, base_ms: float, seed: int) -> Curve:
    """Latency that rises like a queue's as the rate nears the capacity."""
    noise = Noise(seed=seed, size=0.12)

    def latency(at_s: float) -> float:
        busy = min(0.955, iops(at_s) / capacity)
        return base_ms * (1 + 0.8 * busy / (1 - busy)) * noise(at_s)

    return latency
