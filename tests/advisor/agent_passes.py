"""What the agent of a host reports about the policy that it pulled, through the service's door."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from advisor.decisions.documents import current_document
from advisor.decisions.reports import accept_report
from enforcers.contract import (
    AllocationReport,
    ComplianceReport,
    ControlOutcome,
    ControlOutcomes,
    EnforcementState,
    Measurement,
    Outcome,
    PolicyDocument,
    Setting,
)
from ingest.models import Host
from tests.advisor.agent_support import SUPPORT

EVERY = timedelta(minutes=1)
HELD = {Outcome.APPLIED, Outcome.UNCHANGED, Outcome.REPLACED, Outcome.DRIFTED}


def agent_pass(
    host: Host,
    *,
    at: datetime,
    outcome: Outcome = Outcome.UNCHANGED,
    reason: str = "as wanted",
    dry_run: bool = False,
    held_document: PolicyDocument | None = None,
    shown: Mapping[str, Setting] | None = None,
    rates: Mapping[str, float] | None = None,
    waits: bool = True,
) -> PolicyDocument:
    """The host reports this outcome for every allocation of the document that it holds.

    That is a fresh one unless another is given. By workload the kernel shows something else than
    what was applied, and rates were measured; all of them with a queue if it waits, else none.
    """
    document = held_document or current_document(host=host, now=at)
    held = outcome in HELD and not dry_run
    allocations = []
    for item in document.allocations:
        wanted = Setting(reservation=item.reservation, limit=item.limit, shares=item.shares)
        allocations.append(
            AllocationReport(
                id=item.id,
                workload=item.workload,
                resource=item.resource,
                desired=wanted,
                applied=wanted if held else None,
                read_back=(shown or {}).get(item.workload, wanted) if held else None,
                measured=_measured((rates or {}).get(item.workload), waits=waits),
                outcome=outcome,
                reason=reason,
                controls=ControlOutcomes.all_as(ControlOutcome(outcome=outcome, reason=reason)),
            )
        )
    report = ComplianceReport(
        host=host.name,
        revision=document.revision,
        reported_at=at,
        agent_version="0.1.0",
        state=EnforcementState.DRY_RUN if dry_run else EnforcementState.ENFORCING,
        refusal=None,
        reports_dropped=0,
        support=SUPPORT,
        allocations=tuple(allocations),
    )
    accept_report(host=host, report=report, now=at)
    return document


def _measured(rate: float | None, *, waits: bool) -> Measurement | None:
    if rate is None:
        return None
    return Measurement(
        rate=rate,
        window_s=60.0,
        sample_count=4,
        backlogged_samples=4 if waits else 0,
        backlog_bytes=0,
        drops=0,
        overlimits=0,
    )


def agent_works(
    host: Host,
    *,
    since: datetime,
    until: datetime,
    rates: Mapping[str, float] | None = None,
    waits: bool = True,
) -> None:
    """It applies what it pulled at `since`, and finds it unchanged every minute until `until`."""
    agent_pass(host, at=since, outcome=Outcome.APPLIED, rates=rates, waits=waits)
    for number in range(1, int((until - since) / EVERY) + 1):
        agent_pass(host, at=since + number * EVERY, rates=rates, waits=waits)
