"""A proof as it is written down, for who has a link to it and for print."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from advisor.core.quantity import format_rate
from advisor.core.reporting.proof import Proof, ProvenMeasuring, ProvenPromise, ProvenVersion
from advisor.core.reporting.words import (
    Line,
    ReportWords,
    minutes_text,
    moment_text,
    plain_name,
    words_of,
    workload_line,
)
from advisor.models import AdapterKind

MOST_LINES = 100
COUNTERS = {
    AdapterKind.CGROUP: "the kernel's counters of its control group",
    AdapterKind.VNIC: "the kernel's counters of its network interface",
    AdapterKind.VDISK: "the hypervisor's counters of its virtual disk",
    AdapterKind.MOUNT: "the client's counters of its mount",
}
MEANINGS = {
    "Promise kept": "Of the minutes in which as much as is reserved was wanted, the part in which "
    "at least 95 % of it was there.",
    "Lost": "Minutes of full service that incidents took; planned maintenance takes none.",
    "SHA-256": "Of the version as the database keeps it, which refuses to change a version: its "
    "resource, number, time, allocations, pools, capacity and whether it divides, as JSON with "
    "sorted keys and without spaces. Whoever runs Sluice can compute it again.",
    "Measured by": "Rates come from counters on the host, not from the workload itself. A minute "
    "without samples counts neither as kept nor as missed.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseLine:
    """A row of promises."""

    workload: str
    place: str
    reservation: str
    limit: str
    held: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionLine:
    resource: str
    version: str
    held: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuringLine:
    host: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenProof:
    """All that the page and the paper show; `lost` is over all its workloads, in minutes."""

    words: ReportWords
    lost: str
    measured: str
    lines: tuple[Line, ...]
    more_lines: int
    promises: tuple[PromiseLine, ...]
    more_promises: int
    versions: tuple[VersionLine, ...]
    measuring: tuple[MeasuringLine, ...]

    @property
    def title(self) -> str:
        """What a list of what was shared calls it."""
        return f"{self.words.title}, {self.words.days}"

    @property
    def meanings(self) -> list[tuple[str, str]]:
        return list(MEANINGS.items())


def written_proof(proof: Proof) -> WrittenProof:
    """The proof in words."""
    report = proof.report
    zone = ZoneInfo(report.period.zone)
    return WrittenProof(
        words=words_of(report),
        lost=minutes_text(report.lost_min),
        measured=minutes_text(report.minutes.measured),
        lines=tuple(map(workload_line, report.workloads[:MOST_LINES])),
        more_lines=max(len(report.workloads) - MOST_LINES, 0),
        promises=tuple(_promise(one, zone) for one in proof.promises),
        more_promises=proof.more_promises,
        versions=tuple(_version(one, zone) for one in proof.versions),
        measuring=tuple(map(_measuring, proof.measuring)),
    )


def _promise(one: ProvenPromise, zone: ZoneInfo) -> PromiseLine:
    return PromiseLine(
        workload=plain_name(one.workload),
        place=plain_name(f"{one.resource}, from {one.host}"),
        reservation=format_rate(one.reservation, one.unit) if one.reservation else "none",
        limit="none" if one.limit is None else format_rate(one.limit, one.unit),
        held=_held(one.since, one.until, zone),
        version="stated, no policy" if one.version is None else f"version {one.version}",
    )


def _held(since: datetime | None, until: datetime | None, zone: ZoneInfo) -> str:
    begin = "from the beginning" if since is None else f"from {moment_text(since, zone)}"
    return f"{begin} {'on' if until is None else f'to {moment_text(until, zone)}'}"


def _version(one: ProvenVersion, zone: ZoneInfo) -> VersionLine:
    return VersionLine(
        resource=plain_name(one.resource),
        version=f"{one.version}",
        held=_held(one.since, one.until, zone),
        sha256=one.sha256,
    )


def _measuring(one: ProvenMeasuring) -> MeasuringLine:
    counters = ", ".join(COUNTERS.get(AdapterKind(kind), kind) for kind in one.counters)
    agent = f"; agent {one.agent}" if one.agent else "; no agent of Sluice"
    return MeasuringLine(host=plain_name(one.host), by=counters + agent)
