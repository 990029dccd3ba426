"""How far a policy version came on one host, and why not further."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from advisor.core.compliance import Verdict
from advisor.history.held_policies import Partial
from advisor.history.policy_reports import (
    ENOUGH_WINDOWS,
    HELD,
    REPORT_GRACE,
    Windows,
    is_applied,
    unlike,
)
from advisor.history.publishing_gap import publishing_gap
from advisor.models import ComplianceRecord, Policy, PublishedDocument
from advisor.models.workload import allocation_key
from ingest.models import Host


class Link(StrEnum):
    """The links of the chain, in their order; each holds only where those before it do."""

    APPROVED = "approved"
    PUBLISHED = "published"
    APPLIED = "applied"
    READ_BACK = "read back"
    MEASURED = "measured"


class Placed(NamedTuple):
    """An allocation on a host, and the name of its workload."""

    pk: int
    workload: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLink:
    """The last link that holds on a host, and what the next one lacks.

    `allocations` are those that are applied and shown by the kernel. `times` are those of the
    facts of the links. `is_contradicted`: it is in force, and was measured not to hold.
    """

    name: str
    link: Link
    gap: str
    allocations: frozenset[int] = frozenset()
    times: Mapping[Link, datetime] = field(default_factory=dict)
    is_contradicted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What was published to agents and what they reported; documents are by host.

    `partial` has the versions, by key, that only some hosts were given.
    """

    records: Mapping[tuple[int | None, str], ComplianceRecord]
    windows: Mapping[tuple[int | None, str], Windows]
    documents: Mapping[int, PublishedDocument]
    now: datetime
    partial: Mapping[int, Partial] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reported:
    """What is known of one allocation of the host; `name` says which in a sentence."""

    name: str
    allocation: int
    record: ComplianceRecord | None
    windows: Windows
    unlike: str

    @property
    def is_applied(self) -> bool:
        return self.record is not None and is_applied(self.record)

    @property
    def is_in_force(self) -> bool:
        return self.is_applied and not self.unlike


def link_on_host(
    policy: Policy, host: Host, allocations: Sequence[Placed], told: Told
) -> HostLink:
    """How far a version with these allocations on the host came there."""
    if not hasattr(host, "enforcer"):
        return HostLink(name=host.name, link=Link.APPROVED, gap=f"{host.name} has no agent")
    document = told.documents.get(host.pk)
    if document is None or not _has(document, policy):
        partial = told.partial.get(policy.pk)
        if partial is not None and host.pk not in partial.hosts:
            gap = partial.kept_text(host.name)
        else:
            gap = publishing_gap(policy) or f"{host.name} has not been given it yet"
        return HostLink(name=host.name, link=Link.APPROVED, gap=gap)
    found = [_reported(policy, host, allocation, told) for allocation in allocations]
    link, gap = _last_link(host, found, document, told.now)
    return HostLink(
        name=host.name,
        link=link,
        gap=gap,
        allocations=frozenset(one.allocation for one in found if one.is_in_force),
        times=_times(document, found),
        is_contradicted=link is Link.READ_BACK and any(one.windows.breaches for one in found),
    )


def withdrawn_on_host(host: Host, told: Told) -> HostLink:
    """How far a version without allocations came: there is nothing that could be measured."""
    enforcer, document = host.enforcer, told.documents.get(host.pk)
    held, published = enforcer.applied_revision, document.revision if document else None
    if held is None or published is None:
        return HostLink(name=host.name, link=Link.READ_BACK, gap="")
    if held < published:
        return HostLink(name=host.name, link=Link.PUBLISHED, gap=_behind(host, held, published))
    if enforcer.refusal:
        gap = f"the agent of {host.name} could not undo all: {enforcer.refusal}"
        return HostLink(name=host.name, link=Link.PUBLISHED, gap=gap)
    return HostLink(name=host.name, link=Link.READ_BACK, gap="")


def _has(document: PublishedDocument, policy: Policy) -> bool:
    return any(item["policy"] == policy.pk for item in document.content["allocations"])


def _reported(policy: Policy, host: Host, allocation: Placed, told: Told) -> _Reported:
    key = (policy.pk, allocation_key(allocation.pk))
    record = told.records.get(key)
    return _Reported(
        name=f"{allocation.workload} on {host.name}",
        allocation=allocation.pk,
        record=record,
        windows=told.windows.get(key, Windows()),
        unlike=unlike(record, policy.resource.unit) if record else "",
    )


def _last_link(
    host: Host, found: Sequence[_Reported], document: PublishedDocument, now: datetime
) -> tuple[Link, str]:
    """How far a published policy came, and what the next link lacks."""
    if not all(one.is_applied for one in found):
        return Link.PUBLISHED, _report_gap(host, found, document, now)
    different = next((one for one in found if one.unlike), None)
    if different is not None:
        return Link.APPLIED, f"{different.name}: {different.unlike}"
    gap = _measured_gap(host, found)
    return (Link.READ_BACK, gap) if gap else (Link.MEASURED, "")


def _report_gap(
    host: Host, found: Sequence[_Reported], document: PublishedDocument, now: datetime
) -> str:
    """Why it is not known that the host applied it."""
    enforcer = host.enforcer
    if enforcer.last_report_at is None:
        return f"the agent of {host.name} has not reported yet"
    if now - enforcer.last_report_at > REPORT_GRACE:
        at = f"{enforcer.last_report_at:%Y-%m-%d %H:%M}"
        return f"the agent of {host.name} is silent since {at} UTC"
    if enforcer.refusal:
        return f"the agent of {host.name} refuses it: {enforcer.refusal}"
    for one in found:
        if one.record is not None and not one.is_applied:
            # In a dry run the outcome is hypothetical; the reason says so.
            outcome = one.record.outcome
            words = "not applied" if outcome in HELD else outcome.replace("_", " ")
            return f"{one.name} is {words}: {one.record.reason}"
    held = enforcer.applied_revision
    if held is not None and held < document.revision:
        return _behind(host, held, document.revision)
    return f"the agent of {host.name} has not reported it applied yet"


def _behind(host: Host, held: int, published: int) -> str:
    return f"the agent of {host.name} still holds revision {held}, {published} is published"


def _measured_gap(host: Host, found: Sequence[_Reported]) -> str:
    """Why measurement does not show that it holds; empty if it does.

    Who wants nothing contradicts nothing, and shows nothing.
    """
    for one in found:
        if one.windows.breaches:
            return f"{one.name} {one.windows.breaches[0]}"
    for one in found:
        if one.windows.judged < ENOUGH_WINDOWS:
            record = one.record
            is_unknown = record is not None and record.verdict == Verdict.UNKNOWN
            why = f" ({record.verdict_reason})" if record is not None and is_unknown else ""
            said = f"{one.windows.judged} windows of {one.name} are judged"
            return f"{said}, {ENOUGH_WINDOWS} are needed{why}"
    if not any(one.windows.is_shown for one in found):
        return f"no workload on {host.name} wanted what it is entitled to"
    return ""


def _times(document: PublishedDocument, found: Sequence[_Reported]) -> dict[Link, datetime]:
    """Of what several allocations have, the oldest."""
    times = {Link.PUBLISHED: document.published_at}
    if reported := [one.record.reported_at for one in found if one.record is not None]:
        times |= dict.fromkeys((Link.APPLIED, Link.READ_BACK), min(reported))
    if judged := [one.windows.until for one in found if one.windows.until is not None]:
        times[Link.MEASURED] = min(judged)
    return times
