"""Named situations for the tests of pages: a small fleet, told as a story that ends now."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from advisor.advice.policy.recommend import recommend, recommend_all
from advisor.decisions.decide import reject
from advisor.decisions.enrolment import enroll
from advisor.models import (
    Allocation,
    Resource,
    ResourceKind,
    ResourceStatus,
    State,
    Tier,
)
from advisor.pipeline.detect import detect
from advisor.pipeline.groups import judge_all
from advisor.pipeline.look_outside import look_where_due, resources_to_look_at
from ingest.models import Host
from ingest.partitions import ensure_partitions
from tests.advisor.agent_support import state_support
from tests.advisor.judged_windows import judge, judged_window
from tests.web import agents
from tests.web.fleet import Fleet, empty_fleet
from tests.web.load import Curve, Noise, Recorder, during, steady, times, total

GBIT = 1e9
LOOKBACK = timedelta(hours=1)
"""So much of the past is judged window by window; what is older is stated."""
BACKUP_LASTS = timedelta(minutes=50)
CONGESTED_FOR = timedelta(minutes=42)


def noisy_neighbour(now: datetime, *, hours: float = 24.0) -> Fleet:
    """Since 42 minutes batch-3 takes most of nfs-07, and db-orders misses its reservation.

    With a whole day there was a backup ten hours ago as well, and advice that was rejected.
    """
    fleet = empty_fleet(now)
    for name in ("kvm-01", "kvm-02", "kvm-03", "kvm-04", "kvm-05"):
        fleet.add_host(name, last_sample_at=now - timedelta(seconds=6))
    story = _Story(fleet=fleet, since=now - timedelta(hours=hours))
    days = range((now.date() - story.since.date()).days + 1)
    ensure_partitions(story.since.date() + timedelta(days=day) for day in days)
    story.congested_datastore()
    story.calm_datastore()
    story.busy_uplink()
    story.discovered_devices()
    story.recorder.write()
    if hours > 12:
        story.decided_last_night()
    fleet.hosts["kvm-05"].last_sample_at = now - timedelta(minutes=25)
    fleet.hosts["kvm-05"].save()
    judge_from(now - LOOKBACK, fleet.resources.values())
    judge_all(organisation=fleet.organisation, now=now)
    _look_outside(fleet, now)
    story.reports()
    recommend_all(organisation=fleet.organisation, now=now)
    return fleet


def _look_outside(fleet: Fleet, now: datetime) -> None:
    for resource in resources_to_look_at(now=now).filter(organisation=fleet.organisation):
        look_where_due(resource=resource, now=now)


class _Story:
    def __init__(self, *, fleet: Fleet, since: datetime) -> None:
        self.fleet = fleet
        self.now = fleet.now
        self.since = since
        self.recorder = Recorder(since=since, until=fleet.now)
        self.backup = fleet.now - timedelta(hours=9, minutes=50)

    # --- Devices and what they did

    def congested_datastore(self) -> None:
        nfs = self.fleet.add_resource(
            "nfs-07", ResourceKind.DATASTORE, capacity=5200.0, threshold=15.0,
            attachments=(("kvm-01", "sdb"), ("kvm-02", "sdb"), ("kvm-03", "sdc")),
        )  # fmt: skip
        later = self.now + timedelta(hours=9)
        # So much that at any hour no window of it is below the threshold.
        batch = total(
            during(steady(3300, seed=3, size=0.03), start=self.now - CONGESTED_FOR, end=later),
            during(
                steady(3050, seed=4, size=0.06),
                start=self.backup,
                end=self.backup + BACKUP_LASTS,
            ),
        )
        curves = {
            "db-orders": _squeezed(steady(1650, seed=1, size=0.1), batch, 0.42),
            "web-shop": _squeezed(steady(720, seed=2, size=0.2, day=0.3), batch, 0.3),
            "mail-1": _squeezed(steady(310, seed=5), batch, 0.35),
            "report-2": _squeezed(steady(150, seed=6, size=0.5), batch, 0.2),
            "batch-3": batch,
        }
        self.fleet.add_allocation(nfs, "db-orders", "kvm-01", Tier.HIGH, reservation=1500.0)
        self.fleet.add_allocation(nfs, "web-shop", "kvm-02", Tier.MEDIUM, reservation=600.0)
        self.fleet.add_allocation(nfs, "mail-1", "kvm-02", Tier.MEDIUM)
        self.fleet.add_allocation(nfs, "report-2", "kvm-01", Tier.LOW)
        self.fleet.add_allocation(nfs, "batch-3", "kvm-03", Tier.LOW)
        latency = _queueing(total(*curves.values()), capacity=5200.0, base_ms=2.1, seed=7)
        for attachment in nfs.attachments.select_related("host"):
            allocations = Allocation.objects.filter(resource=nfs, host=attachment.host)
            names = allocations.values_list("workload__name", flat=True)
            on_host = total(*(curves[name] for name in names))
            self.recorder.disk(
                attachment.host, attachment.device, iops=on_host, latency_ms=latency
            )
            for allocation in allocations.select_related("workload"):
                self.recorder.cgroup(
                    attachment.host,
                    allocation.adapter,
                    attachment.device,
                    iops=curves[allocation.workload.name],
                )
                hungry = allocation.workload.name in ("db-orders", "web-shop", "batch-3")
                self.recorder.pressure(
                    attachment.host,
                    allocation.adapter,
                    waiting=_part(batch, 1e-4 if hungry else 5e-6),
                )
        self._history(nfs, latency, load=total(*curves.values()))

    def calm_datastore(self) -> None:
        san = self.fleet.add_resource(
            "san-02", ResourceKind.DATASTORE, capacity=9000.0, threshold=20.0,
            attachments=(("kvm-02", "sdd"), ("kvm-03", "sdd")),
        )  # fmt: skip
        iops = steady(1900, seed=11, size=0.35, day=0.5)
        latency = _queueing(total(iops, iops), capacity=9000.0, base_ms=2.6, seed=12)
        for name in ("kvm-02", "kvm-03"):
            self.recorder.disk(self.fleet.hosts[name], "sdd", iops=iops, latency_ms=latency)
        self._history(san, latency, load=total(iops, iops))

    def busy_uplink(self) -> None:
        up = self.fleet.add_resource(
            "kvm-02/eno1", ResourceKind.UPLINK, capacity=10 * GBIT, threshold=0.9,
            attachments=(("kvm-02", "eno1"),),
        )  # fmt: skip
        # Noise is at most 1.6 times its size: at any hour all is between 7.2 and 8.9 Gbit/s,
        # near the threshold of 9.0 and not above it.
        backup = during(
            steady(3.2 * GBIT, seed=23, size=0.04),
            start=self.now - timedelta(hours=5),
            end=self.now + timedelta(hours=3),
            outside=0.02,
        )
        web, mail = (
            steady(3.6 * GBIT, seed=21, size=0.07),
            steady(1.1 * GBIT, seed=22, size=0.1),
        )
        self.fleet.add_allocation(
            up, "web-shop", "kvm-02", Tier.HIGH, reservation=3 * GBIT, vnic="vnet3"
        )
        self.fleet.add_allocation(up, "mail-1", "kvm-02", Tier.MEDIUM, vnic="vnet5")
        self.fleet.add_allocation(up, "backup-7", "kvm-02", Tier.LOW, limit=4 * GBIT, vnic="vnet9")
        host = self.fleet.hosts["kvm-02"]
        for vnic, curve in (("vnet3", web), ("vnet5", mail), ("vnet9", backup)):
            self.recorder.net(host, vnic, sent=_part(curve, 0.1), received=curve)
        sent = total(web, mail, backup, steady(0.12 * GBIT, seed=24))
        self.recorder.net(host, "eno1", sent=sent, received=_part(sent, 0.22))
        self._history(up, _part(sent, 1 / (10 * GBIT)), load=sent)

    def discovered_devices(self) -> None:
        disk = self._discovered("kvm-04/nvme0n1", ResourceKind.DATASTORE, threshold=30.0)
        iops = steady(420, seed=31, size=0.6, day=0.5)
        latency = _queueing(iops, capacity=5000.0, base_ms=0.4, seed=32)
        self.recorder.disk(self.fleet.hosts["kvm-04"], "nvme0n1", iops=iops, latency_ms=latency)
        self._history(disk, latency, load=iops)
        self._discovered("kvm-04/eno1", ResourceKind.UPLINK, threshold=0.9)
        sent = steady(0.6 * GBIT, seed=33)
        self.recorder.net(self.fleet.hosts["kvm-04"], "eno1", sent=sent, received=_part(sent, 0.5))
        gone = self._discovered("kvm-05/sda", ResourceKind.DATASTORE, threshold=30.0)
        self._history(gone, steady(6.0, seed=34), load=iops)

    def _discovered(self, name: str, kind: ResourceKind, *, threshold: float) -> Resource:
        host, device = name.split("/")
        return self.fleet.add_resource(
            name, kind, capacity=None, threshold=threshold, attachments=((host, device),),
            discovered=True,
        )  # fmt: skip

    # --- What was concluded and decided

    def _history(self, resource: Resource, value: Curve, *, load: Curve) -> None:
        """What the detector concluded, minute by minute, until the hour that it looks at anew."""
        points = []
        state, since = State.UNKNOWN, self.since
        looked_at_night = self.backup + BACKUP_LASTS + timedelta(minutes=8)
        for at in times(self.since, self.now - LOOKBACK, 60):
            if not resource.discovered and looked_at_night - LOOKBACK <= at <= looked_at_night:
                continue
            current = value(at.timestamp())
            seen = State.CONGESTED if current >= resource.threshold else State.CLEAR
            if seen != state:
                state, since = seen, at
            points.append(
                judged_window(
                    at, seen, since=since, value=current,
                    threshold=resource.threshold, load=load(at.timestamp()),
                )
            )  # fmt: skip
        judge(resource, *points)

    def decided_last_night(self) -> None:
        """The backup was congestion too; the advice for it was turned down."""
        night = self.backup + BACKUP_LASTS + timedelta(minutes=8)
        Host.objects.filter(organisation=self.fleet.organisation).update(last_sample_at=night)
        for name in ("nfs-07", "san-02", "kvm-02/eno1"):
            resource = self.fleet.resources[name]
            judge_from(night - LOOKBACK, [resource])
            detect(resource=resource, now=night)
        _look_outside(self.fleet, night)
        advice = recommend(resource=self.fleet.resources["nfs-07"], now=night)
        assert not isinstance(advice, str), advice
        reject(
            recommendation=advice,
            user=self.fleet.people.owner,
            reason="The backup is agreed for this hour; it moves to san-02 next week.",
            now=night + timedelta(minutes=6),
        )
        for host in self.fleet.hosts.values():
            host.save()

    def reports(self) -> None:
        """Agents on three hosts hold a policy; that of kvm-01 fell silent, kvm-03 found drift."""
        for name in ("kvm-01", "kvm-02", "kvm-03"):
            enrolment = enroll(organisation=self.fleet.organisation, host_name=name)
            state_support(enrolment.host)
        decided = self.now - timedelta(hours=4, minutes=20)
        owner = self.fleet.people.owner
        agents.publish(
            self.fleet.resources["kvm-02/eno1"], by=owner, now=decided,
            entitlements={
                "web-shop": 5.8 * GBIT, "mail-1": 2.8 * GBIT, "backup-7": 1.4 * GBIT,
            },
        )  # fmt: skip
        hosts = self.fleet.hosts
        rates = {"web-shop": 3.61 * GBIT, "mail-1": 1.13 * GBIT, "backup-7": 3.24 * GBIT}
        for minutes in (3, 2, 1, 0):
            at = self.now - timedelta(minutes=minutes, seconds=8)
            agents.report(hosts["kvm-02"], now=at, rates=rates)
        agents.report(hosts["kvm-01"], now=self.now - timedelta(minutes=14), rates={})
        agents.report(
            hosts["kvm-03"],
            now=self.now - timedelta(seconds=11),
            rates={},
            support=agents.NO_CGROUP,
        )


def judge_from(at: datetime, resources: Iterable[Resource]) -> None:
    """The next look at these judges the windows that end after this time."""
    for one in resources:
        ResourceStatus.objects.update_or_create(resource=one, defaults={"judged_until": at})


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
