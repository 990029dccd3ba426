"""How far a policy version has come: approved, published, applied."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from advisor.core.enumeration import clauses, listed
from advisor.models import (
    Allocation,
    Attachment,
    ComplianceRecord,
    Policy,
    PublishedDocument,
)
from advisor.models.workload import allocation_id
from enforcers.contract import Outcome
from ingest.models import Host

REPORT_GRACE = timedelta(minutes=3)
"""An agent without a report for this long is silent."""

HELD = (Outcome.APPLIED, Outcome.UNCHANGED, Outcome.REPLACED, Outcome.DRIFTED)
"""With one of these outcomes the kernel has the settings of the policy."""


class Link(StrEnum):
    """How far a policy has come on every host of its workloads."""

    APPROVED = "approved"
    PUBLISHED = "published"
    APPLIED = "applied"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyState:
    """The state; `gaps` has a reason per host without it, `allocations` are the applied ones."""

    link: Link
    hosts: tuple[str, ...]
    gaps: tuple[str, ...]
    allocations: frozenset[int]

    @property
    def is_applied(self) -> bool:
        return self.link is Link.APPLIED

    @property
    def gap(self) -> str:
        """What is missing; empty if nothing is."""
        return clauses(self.gaps)

    @property
    def text(self) -> str:
        """The state in a sentence without its end."""
        match self.link:
            case Link.APPLIED:
                return f"in force: applied on {listed(self.hosts)}" if self.hosts else "in force"
            case Link.PUBLISHED:
                return f"published, not applied{self._partly}: {self.gap}"
            case Link.APPROVED:
                return f"approved, not published{self._partly}: {self.gap}"

    @property
    def _partly(self) -> str:
        return " everywhere" if self.allocations else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Host:
    """One host of a policy: how far it came there, and why not further."""

    name: str
    link: Link
    gap: str
    allocations: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What was published to agents and what they reported; documents are by host."""

    records: Mapping[tuple[int | None, str], ComplianceRecord]
    documents: Mapping[int, PublishedDocument]
    now: datetime


def publishing_gap(policy: Policy) -> str:
    """Why a host of its workloads would get none of a policy; empty if every host gets its part.

    A host without an agent is not a gap: it gets its document when it is enrolled.
    """
    if not policy.allocations:
        return ""
    resource = policy.resource
    if policy.divided_capacity is None:
        return (
            f"the capacity of {resource.name} is not known, so nothing would be published; "
            f"set it with: sluice resource set {resource.name} --capacity RATE"
        )
    wanted = [item["allocation"] for item in policy.allocations]
    hosts = set(resource.allocations.filter(pk__in=wanted).values_list("host__name", flat=True))
    if not hosts:
        return f"none of its workloads has an allocation on {resource.name} any more"
    reaching = set(resource.attachments.values_list("host__name", flat=True))
    if cut_off := sorted(hosts - reaching):
        have = "has no device that reaches" if len(cut_off) == 1 else "have no device that reaches"
        return f"{listed(cut_off)} {have} {resource.name}, so nothing would be published there"
    return ""


def policy_state(policy: Policy, *, now: datetime) -> PolicyState:
    """The state of one version, the newest of its resource."""
    return policy_states([policy], now=now)[policy.pk]


def newest_policies(resources: Iterable[int]) -> list[Policy]:
    """The newest version of each resource that has one, by their keys."""
    rows = Policy.objects.filter(resource__in=list(resources)).select_related("resource")
    return list(rows.order_by("resource_id", "-version").distinct("resource_id"))


def policy_states(policies: Sequence[Policy], *, now: datetime) -> dict[int, PolicyState]:
    """The state of each, the newest of its resource, in a fixed number of queries.

    Why one is not published takes up to three more.
    """
    allocations = _allocations_by_host(policies)
    withdrawn = _withdrawn_hosts(policies)
    hosts = {host for found in allocations.values() for host in found}
    told = _Told(
        records=_newest_records(policies, now),
        documents=_newest_documents(hosts.union(*withdrawn.values())),
        now=now,
    )
    states = {}
    for policy in policies:
        if policy.allocations:
            on = [
                _on_host(policy, host, own, told) for host, own in allocations[policy.pk].items()
            ]
        else:
            on = [_without(host, told) for host in withdrawn[policy.resource_id]]
        states[policy.pk] = _state(policy, on)
    return states


def _allocations_by_host(policies: Sequence[Policy]) -> dict[int, dict[Host, list[Allocation]]]:
    wanted = {item["allocation"]: policy.pk for policy in policies for item in policy.allocations}
    found: dict[int, dict[Host, list[Allocation]]] = defaultdict(lambda: defaultdict(list))
    rows = Allocation.objects.filter(pk__in=wanted).select_related("host__enforcer", "workload")
    for allocation in rows.order_by("host__name", "workload__name", "pk"):
        found[wanted[allocation.pk]][allocation.host].append(allocation)
    return found


def _withdrawn_hosts(policies: Sequence[Policy]) -> dict[int, set[Host]]:
    """Hosts with an agent, by resource, where the newest version has no allocations."""
    empty = [policy.resource_id for policy in policies if not policy.allocations]
    found: dict[int, set[Host]] = defaultdict(set)
    rows = Attachment.objects.filter(resource__in=empty, host__enforcer__isnull=False)
    for row in rows.select_related("host__enforcer"):
        found[row.resource_id].add(row.host)
    return found


def _newest_records(
    policies: Sequence[Policy], now: datetime
) -> dict[tuple[int | None, str], ComplianceRecord]:
    """The newest fresh record by policy and allocation."""
    rows = ComplianceRecord.objects.filter(
        policy__in=policies, reported_at__gt=now - REPORT_GRACE
    ).order_by("policy_id", "allocation", "-reported_at")
    fields = ("policy_id", "allocation", "outcome", "reason", "applied")
    newest = rows.distinct("policy_id", "allocation").only(*fields)
    return {(row.policy_id, row.allocation): row for row in newest}


def _newest_documents(hosts: set[Host]) -> dict[int, PublishedDocument]:
    rows = PublishedDocument.objects.filter(host__in=hosts).order_by("host_id", "-revision")
    return {row.host_id: row for row in rows.distinct("host_id")}


def _state(policy: Policy, hosts: Sequence[_Host]) -> PolicyState:
    gaps = [one.gap for one in hosts if one.gap]
    links = {one.link for one in hosts}
    if policy.allocations and not hosts:
        gaps, links = [publishing_gap(policy)], {Link.APPROVED}
    return PolicyState(
        link=next((link for link in Link if link in links), Link.APPLIED),
        hosts=tuple(sorted(one.name for one in hosts if one.link is Link.APPLIED)),
        gaps=tuple(gaps),
        allocations=frozenset().union(*(one.allocations for one in hosts)),
    )


def _on_host(policy: Policy, host: Host, allocations: Sequence[Allocation], told: _Told) -> _Host:
    if not hasattr(host, "enforcer"):
        return _Host(name=host.name, link=Link.APPROVED, gap=f"{host.name} has no agent")
    if not _is_published(policy, told.documents.get(host.pk)):
        gap = publishing_gap(policy) or f"{host.name} has not been given it yet"
        return _Host(name=host.name, link=Link.APPROVED, gap=gap)
    found = [
        (allocation, told.records.get((policy.pk, allocation_id(allocation))))
        for allocation in allocations
    ]
    held = frozenset(allocation.pk for allocation, record in found if record and holds(record))
    gap = _report_gap(host, found, told.now) if len(held) < len(allocations) else ""
    link = Link.PUBLISHED if gap else Link.APPLIED
    return _Host(name=host.name, link=link, gap=gap, allocations=held)


def holds(record: ComplianceRecord) -> bool:
    """Whether the kernel had the policy's settings after that pass; a dry run applies none."""
    return record.outcome in HELD and record.applied is not None


def _is_published(policy: Policy, document: PublishedDocument | None) -> bool:
    items = document.content["allocations"] if document else ()
    return any(item["policy"] == policy.pk for item in items)


def _report_gap(
    host: Host, found: Sequence[tuple[Allocation, ComplianceRecord | None]], now: datetime
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
    for allocation, record in found:
        if record is not None and not holds(record):
            # In a dry run the outcome is hypothetical; the reason says so.
            outcome = "not applied" if record.outcome in HELD else record.outcome.replace("_", " ")
            return f"{allocation.workload.name} on {host.name} is {outcome}: {record.reason}"
    return f"the agent of {host.name} has not reported it applied yet"


def _without(host: Host, told: _Told) -> _Host:
    """The state on a host of a version without allocations."""
    document = told.documents.get(host.pk)
    held, published = host.enforcer.applied_revision, document.revision if document else None
    if held is None or published is None or held >= published:
        return _Host(name=host.name, link=Link.APPLIED, gap="")
    gap = f"the agent of {host.name} still holds revision {held}, {published} is published"
    return _Host(name=host.name, link=Link.PUBLISHED, gap=gap)
