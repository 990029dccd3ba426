"""Hosts for pages: their samples, the state of their agent, and what it can enforce."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, Min, OuterRef, QuerySet, Subquery
from django.db.models.functions import JSONObject

from advisor.core.duration import duration_text
from advisor.core.freshness import sample_gap
from advisor.core.join_checklist import CLOCK_TOLERANCE
from advisor.core.quantity import format_rate
from advisor.history.policy_reports import REPORT_GRACE
from advisor.history.shared_names import is_shared, shared_sentence
from advisor.models import ComplianceRecord, Enforcer, PublishedDocument
from advisor.queries.scope import Scope
from enforcers.contract import POOL, CorrectedModel, MechanismSupport, Outcome, read_support
from ingest.models import Host


class AgentState(StrEnum):
    """What the service knows about the agent of a host."""

    NOT_ENROLLED = "not_enrolled"
    WAITING = "waiting"
    SILENT = "silent"
    FAILING = "failing"
    BEHIND = "behind"
    DRY_RUN = "dry_run"
    ENFORCING = "enforcing"
    IDLE = "idle"


NEEDS_CARE = frozenset({AgentState.SILENT, AgentState.FAILING, AgentState.BEHIND})

_BAD_OUTCOMES = frozenset(
    {
        Outcome.DRIFTED,
        Outcome.GUESSED_MODEL,
        Outcome.INEFFECTIVE,
        Outcome.UNSUPPORTED,
        Outcome.FAILED,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostHealth:
    """One host: its samples, its agent, and what is wrong with either."""

    pk: int
    name: str
    last_sample_at: datetime | None
    is_measured: bool
    sample_reason: str
    agent_state: AgentState
    agent_reason: str
    agent_version: str
    last_report_at: datetime | None
    last_pull_at: datetime | None
    published_revision: int | None
    applied_revision: int | None
    allocation_count: int
    drift_count: int
    mechanisms: tuple[MechanismSupport, ...]
    corrected: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def agent_needs_care(self) -> bool:
        return self.agent_state in NEEDS_CARE

    @property
    def needs_care(self) -> bool:
        return self.agent_needs_care or bool(self.sample_reason)

    @property
    def care_reason(self) -> str:
        """What is wrong, in a sentence; empty if nothing is."""
        return self.agent_reason if self.agent_needs_care else self.sample_reason


class Sender(NamedTuple):
    """What is known of the samples of a host, as its row says it."""

    pk: int
    name: str
    last_sample_at: datetime | None
    heard_at: datetime | None
    shared_at: datetime | None


def sample_trouble(host: Host | Sender, *, now: datetime) -> str:
    """What is wrong with the samples of a host; empty if nothing."""
    last_sample_at = host.last_sample_at
    if host.heard_at is None and last_sample_at is not None:
        # Its samples are of imported files; nobody waits for the next one.
        return ""
    gap = sample_gap(last_sample_at, now=now)
    if gap:
        return (
            f"{gap.capitalize()}; check that Telegraf runs there and reaches this service, "
            "and that the host's clock is not behind."
        )
    if is_shared(host.shared_at, at=now):
        return shared_sentence([host.name])
    if last_sample_at is not None and last_sample_at - now > CLOCK_TOLERANCE:
        return (
            f"Its clock is {duration_text(last_sample_at - now)} ahead; set it right: until then "
            "its samples are compared with those of other hosts at wrong times."
        )
    return ""


def other_case(host: Host, names: Iterable[str]) -> list[str]:
    """The hosts of these names that are called the same but for capital letters.

    Collectors disagree about them; which of two names is right, nobody can tell from outside.
    """
    folded = host.name.casefold()
    return sorted(name for name in names if name != host.name and name.casefold() == folded)


def host_healths(scope: Scope, *, now: datetime, host_pk: int | None = None) -> list[HostHealth]:
    """Every host of the organisation by name, or only the one asked for."""
    hosts = scope.rows(Host) if host_pk is None else scope.rows(Host).filter(pk=host_pk)
    found = Enforcer.objects.filter(host__in=hosts).order_by()
    enforcers = {one.host_id: one for one in found}
    published = _newest_documents(hosts)
    newest = _newest_records(enforcers)
    senders = [Sender(*row) for row in hosts.order_by("name").values_list(*Sender._fields)]
    return [
        _health(
            host,
            enforcers.get(host.pk),
            document=published.get(host.pk),
            records=newest.get(host.pk, ()),
            now=now,
        )
        for host in senders
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    """What was published for a host; `left_out` is what of it is not enforced."""

    revision: int
    left_out: tuple[str, ...]


def _newest_documents(hosts: QuerySet[Host]) -> dict[int, _Document]:
    rows = PublishedDocument.objects.filter(host__in=hosts).order_by("host_id", "-revision")
    newest = rows.distinct("host_id").values_list("host_id", "revision", "content__left_out")
    return {
        host: _Document(
            revision=revision,
            left_out=tuple(
                f"{item['what']} is not enforced: {item['reason']}" for item in left_out or ()
            ),
        )
        for host, revision, left_out in newest
    }


class _Said(NamedTuple):
    """What the newest report of a host says of so many allocations, the first reason of theirs."""

    outcome: str
    reason: str
    allocations: int


def _newest_records(enforcers: Mapping[int, Enforcer]) -> dict[int, list[_Said]]:
    """What each host's newest report says, if it is about the revision that the host holds.

    It is found by the index of host and time, since there are millions of reports, and added up
    in the database, since there are thousands of allocations.
    """
    own = ComplianceRecord.objects.filter(host=OuterRef("host"))
    of_host = ComplianceRecord.objects.filter(host=OuterRef(OuterRef("host")))
    newest = of_host.order_by("-reported_at")
    rows = own.filter(reported_at=Subquery(newest.values("reported_at")[:1])).order_by()
    added = rows.values("revision", "outcome").annotate(total=Count("pk"), first=Min("reason"))
    # Of several outcomes the same one is told each time.
    added = added.order_by("outcome")
    said = JSONObject(revision="revision", outcome="outcome", allocations="total", reason="first")
    found: dict[int, list[_Said]] = defaultdict(list)
    hosts = Enforcer.objects.filter(host__in=list(enforcers)).order_by()
    reports = hosts.annotate(said=ArraySubquery(added.values(said=said)))
    for host, told in reports.values_list("host_id", "said"):
        for one in told:
            if one.pop("revision") == enforcers[host].applied_revision:
                found[host].append(_Said(**one))
    return found


def _health(
    host: Sender,
    enforcer: Enforcer | None,
    *,
    document: _Document | None,
    records: Sequence[_Said],
    now: datetime,
) -> HostHealth:
    drifted = [row for row in records if row.outcome in _BAD_OUTCOMES]
    published = document.revision if document else None
    left_out = document.left_out if document else ()
    support = read_support(enforcer.support if enforcer else [])
    state, reason = _agent_state(enforcer, published, drifted, has_rows=bool(records), now=now)
    if left_out and state in {AgentState.ENFORCING, AgentState.IDLE}:
        state, reason = AgentState.FAILING, f"{left_out[0]}."
    return HostHealth(
        pk=host.pk,
        name=host.name,
        last_sample_at=host.last_sample_at,
        is_measured=not sample_gap(host.last_sample_at, now=now),
        sample_reason=sample_trouble(host, now=now),
        agent_state=state,
        agent_reason=reason,
        agent_version=enforcer.agent_version if enforcer else "",
        last_report_at=enforcer.last_report_at if enforcer else None,
        last_pull_at=enforcer.last_pull_at if enforcer else None,
        published_revision=published,
        applied_revision=enforcer.applied_revision if enforcer else None,
        allocation_count=sum(one.allocations for one in records),
        drift_count=sum(one.allocations for one in drifted),
        mechanisms=tuple(map(_with_selectors, support)),
        corrected=tuple(_correction(one) for item in support for one in item.corrected or ()),
        left_out=left_out,
    )


def _agent_state(
    enforcer: Enforcer | None,
    published: int | None,
    drifted: list[_Said],
    *,
    has_rows: bool,
    now: datetime,
) -> tuple[AgentState, str]:
    if enforcer is None:
        return AgentState.NOT_ENROLLED, "No agent is enrolled: monitoring only."
    if enforcer.last_report_at is None:
        return AgentState.WAITING, "The agent is enrolled and has not reported yet."
    if now - enforcer.last_report_at > REPORT_GRACE:
        return AgentState.SILENT, (
            "The agent does not report; check that sluice-enforcer runs there. "
            f"Without a new lease it restores what it found after {enforcer.lease_s} s."
        )
    if enforcer.refusal:
        return AgentState.FAILING, f"The agent refuses the newest policy: {enforcer.refusal}"
    if drifted:
        return AgentState.FAILING, _drift_sentence(drifted)
    if published is not None and (enforcer.applied_revision or 0) < published:
        held = enforcer.applied_revision
        return AgentState.BEHIND, (
            f"The agent holds {f'revision {held}' if held else 'no revision'}; "
            f"revision {published} is published."
        )
    if enforcer.dry_run:
        return AgentState.DRY_RUN, "Dry run: the agent plans and reports, and changes nothing."
    if has_rows:
        return AgentState.ENFORCING, "Everything is as the policy says."
    return AgentState.IDLE, "No policy concerns this host."


def _drift_sentence(drifted: list[_Said]) -> str:
    first, total = drifted[0], sum(one.allocations for one in drifted)
    count = f"{total} allocations are" if total > 1 else "1 allocation is"
    outcome = first.outcome.replace("_", " ")
    return f"{count} {outcome}: {first.reason or 'the agent gave no reason'}"


def _correction(found: CorrectedModel) -> str:
    """That a device does less than is stated, in a sentence for its host's page."""
    unit = str(found.unit)
    stated, real, model = (
        format_rate(value, unit) for value in (found.stated, found.real, found.model)
    )
    took = duration_text(timedelta(seconds=found.after_s))
    return (
        f"{found.device}: stated capacity {stated}, measured {real} under full load. "
        f"The agent corrected its model after {took} and uses {model}; set the capacity to "
        "the measured one."
    )


def _with_selectors(support: MechanismSupport) -> MechanismSupport:
    """Without the word by which a mechanism says that it holds pools: no workload has it."""
    return replace(support, selectors=tuple(one for one in support.selectors if one != POOL))
