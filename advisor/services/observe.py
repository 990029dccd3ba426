"""Samples of a resource's devices and adapters, cut into the windows the detector works on."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from advisor.core.observation import (
    ClaimObservation,
    DatastoreObservation,
    HostLatency,
    Observation,
    UplinkObservation,
)
from advisor.models import AdapterKind, Attachment, Claim, Policy, Resource, Unit
from advisor.services.tiers import shares_of
from advisor.services.windows import Span, last_window_end, mean_rate
from ingest import queries
from ingest.core.rates import CgroupRates, DiskRates

AT_LIMIT = 0.95
"""A rate this near to an enforced limit is held back by it, not by the resource."""

PRESSURE_OF_BACKLOG = 0.05
"""A workload that waits for I/O this part of the time wants more than it gets."""


def observations(*, resource: Resource, since: datetime, until: datetime) -> list[Observation]:
    """One observation for each window of the resource that ends in (since, until].

    A window in which no host sent samples is left out: absence is for the detector to judge.
    """
    span = Span(since=since, until=until, window_s=resource.window_s)
    claims = _claims_by_window(resource, span)
    attachments = list(resource.attachments.select_related("host"))
    if resource.is_uplink:
        return _uplink_windows(resource, attachments[0], claims, span)
    return _datastore_windows(resource, attachments, claims, span)


ClaimsByWindow = dict[datetime, list[ClaimObservation]]


def _uplink_windows(
    resource: Resource, attachment: Attachment, claims: ClaimsByWindow, span: Span
) -> list[Observation]:
    rates = queries.net_rates(
        host=attachment.host,
        interface=attachment.device,
        since=span.read_since,
        until=span.read_until,
    )
    return [
        UplinkObservation(
            at=at,
            window_s=resource.window_s,
            tx_bits_per_s=mean_rate(found, [item.sent_bits_per_s for item in found]),
            capacity_bits_per_s=resource.capacity,
            drops=sum(item.drops_per_s * item.seconds for item in found),
            claims=tuple(claims.get(at, ())),
        )
        for at, found in span.group(rates).items()
    ]


def _datastore_windows(
    resource: Resource, attachments: list[Attachment], claims: ClaimsByWindow, span: Span
) -> list[Observation]:
    hosts: dict[datetime, list[HostLatency]] = defaultdict(list)
    for attachment in attachments:
        rates = queries.disk_rates(
            host=attachment.host,
            device=attachment.device,
            since=span.read_since,
            until=span.read_until,
        )
        for at, found in span.group(rates).items():
            hosts[at].append(_host_latency(attachment.host.name, found))
    return [
        DatastoreObservation(
            at=at,
            window_s=resource.window_s,
            hosts=tuple(hosts[at]),
            claims=tuple(claims.get(at, ())),
        )
        for at in sorted(hosts)
    ]


def _host_latency(host: str, rates: list[DiskRates]) -> HostLatency:
    counts = [(item.read_iops + item.write_iops) * item.seconds for item in rates]
    total = sum(counts)
    waited = sum(
        item.latency_ms * count
        for item, count in zip(rates, counts, strict=True)
        if item.latency_ms is not None
    )
    moved = sum(
        item.mean_io_bytes * count
        for item, count in zip(rates, counts, strict=True)
        if item.mean_io_bytes is not None
    )
    return HostLatency(
        host=host,
        latency_ms=waited / total if total else None,
        io_count=total,
        mean_io_bytes=moved / total if total else None,
    )


def _claims_by_window(resource: Resource, span: Span) -> ClaimsByWindow:
    result: ClaimsByWindow = defaultdict(list)
    claims = resource.claims.select_related("workload", "host")
    enforced = _enforced_limits(resource)
    for claim in claims.order_by("workload__name", "pk"):
        for found in claim_windows(claim, span=span):
            limit = _limit_at(found.at, claim, enforced)
            result[found.at].append(
                ClaimObservation(
                    workload=claim.workload.name,
                    rate=found.rate,
                    reservation=claim.reservation,
                    limit=claim.limit,
                    shares=shares_of(claim),
                    backlogged=found.backlogged,
                    throttled=limit is not None and found.rate >= AT_LIMIT * limit,
                    mean_io_bytes=found.mean_io_bytes,
                )
            )
    return result


EnforcedLimits = list[tuple[datetime, dict[int, float | None]]]


def _enforced_limits(resource: Resource) -> EnforcedLimits:
    """Limits by claim, each from the time on at which its policy version was in force."""
    versions = Policy.objects.filter(resource=resource).order_by("version")
    return [
        (created_at, {item["claim"]: item["limit"] for item in allocations})
        for created_at, allocations in versions.values_list("created_at", "allocations")
    ]


def _limit_at(at: datetime, claim: Claim, enforced: EnforcedLimits) -> float | None:
    in_force = [limits for created_at, limits in enforced if created_at < at]
    return in_force[-1].get(claim.pk) if in_force else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimWindow:
    """What one claim got in the window ending at `at`, in the resource's unit.

    `backlogged` says whether more was wanted; None means that nobody can tell. `mean_io_bytes` is
    None on an uplink, and where no I/O was done.
    """

    at: datetime
    rate: float
    backlogged: bool | None = None
    mean_io_bytes: float | None = None


def claim_windows(claim: Claim, *, span: Span, max_points: int | None = None) -> list[ClaimWindow]:
    """The windows in which the claim's adapter was measured, in order of time.

    What a workload sends is what its vNIC receives on the host's side. With `max_points` a long
    span is read at about so many times, with exact means between them.
    """
    if claim.adapter_kind == AdapterKind.VNIC:
        received = queries.net_rates(
            host=claim.host,
            interface=claim.adapter,
            since=span.read_since,
            until=span.read_until,
            max_points=max_points,
        )
        return [
            ClaimWindow(at=at, rate=mean_rate(found, [one.received_bits_per_s for one in found]))
            for at, found in span.group(received).items()
        ]
    return _cgroup_windows(claim, span, max_points)


def _cgroup_windows(claim: Claim, span: Span, max_points: int | None) -> list[ClaimWindow]:
    device = _only_device(claim)
    if device is None:
        return []
    rates = queries.cgroup_rates(
        host=claim.host,
        path=claim.adapter,
        device=device,
        since=span.read_since,
        until=span.read_until,
        max_points=max_points,
    )
    unit = claim.resource.unit
    return [
        ClaimWindow(
            at=at,
            rate=mean_rate(found, [_in_unit(item, unit) for item in found]),
            backlogged=_backlogged(found),
            mean_io_bytes=_mean_io_bytes(found),
        )
        for at, found in span.group(rates).items()
    ]


def _mean_io_bytes(rates: list[CgroupRates]) -> float | None:
    ios = sum((item.read_iops + item.write_iops) * item.seconds for item in rates)
    moved = sum((item.read_bytes_per_s + item.write_bytes_per_s) * item.seconds for item in rates)
    return moved / ios if ios > 0 else None


def _only_device(claim: Claim) -> str | None:
    """The one device (`major:minor`) that the cgroup does I/O on; None if that is ambiguous."""
    devices = {
        seen.device
        for seen in queries.subjects(
            organisation=claim.resource.organisation, measurement="cgroup"
        )
        if seen.host == claim.host and seen.subject == claim.adapter
    }
    return devices.pop() if len(devices) == 1 else None


def _in_unit(rates: CgroupRates, unit: str) -> float:
    if unit == Unit.IOPS:
        return rates.read_iops + rates.write_iops
    return rates.read_bytes_per_s + rates.write_bytes_per_s


def _backlogged(rates: list[CgroupRates]) -> bool | None:
    pressures = [
        item.some_pressure_ratio for item in rates if item.some_pressure_ratio is not None
    ]
    if not pressures:
        return None
    return max(pressures) >= PRESSURE_OF_BACKLOG


def whole_windows(resource: Resource, *, now: datetime) -> datetime:
    """The end of the last window that can no longer change, however late hosts send.

    Telegraf sends once per flush interval, so a window is whole when every host that still
    sends has samples after its end, and in any case after `GRACE`.
    """
    newest = [
        queries.latest_sample_at(attachment.host)
        for attachment in resource.attachments.select_related("host")
    ]
    alive = [at for at in newest if at is not None and at > now - GRACE]
    reached = min(alive, default=now - GRACE)
    return last_window_end(reached, resource.window_s)


GRACE = timedelta(seconds=60)
"""Samples later than this do not change what was concluded."""
