"""From what a pass did to the report the service gets. Pure but for what it remembers."""

from dataclasses import replace
from datetime import datetime

from enforcers.contract import (
    Allocation,
    AllocationReport,
    ComplianceReport,
    EnforcementState,
    MechanismSupport,
    Outcome,
    Setting,
)
from enforcers.enforcement import Enforced, PassResult
from enforcers.meter import Meter, Reading
from enforcers.version import VERSION

_EVENTS = frozenset({Outcome.APPLIED, Outcome.DRIFTED})


class Reporter:
    """Measures between reports and keeps events until they have been reported."""

    def __init__(self, *, host: str, window_s: float) -> None:
        self._host = host
        self._meter = Meter(window_s)
        self._events: dict[str, tuple[Outcome, str]] = {}
        self._last: PassResult | None = None

    def take(self, result: PassResult, *, at_s: float) -> None:
        """Note the result of a pass, with its counter readings."""
        self._last = result
        ids = {item.allocation.id for item in result.enforced}
        self._meter.keep_only(ids)
        self._events = {key: event for key, event in self._events.items() if key in ids}
        for item in result.enforced:
            key = item.allocation.id
            if item.is_changed:
                # A window over two settings would describe neither.
                self._meter.forget(key)
            if item.seen.counters is not None:
                self._meter.add(key, Reading(at_s=at_s, counters=item.seen.counters))
            if item.outcome in _EVENTS:
                self._events[key] = (item.outcome, item.reason)
            elif item.outcome is not Outcome.UNCHANGED:
                self._events.pop(key, None)

    def report(
        self,
        *,
        now: datetime,
        revision: int | None,
        state: EnforcementState,
        refusal: str | None,
        reports_dropped: int,
        support: tuple[MechanismSupport, ...],
    ) -> ComplianceReport:
        """The report of what is known; events are reported once."""
        enforced = self._last.enforced if self._last else ()
        problems = [*([refusal] if refusal else []), *(self._last.problems if self._last else ())]
        report = ComplianceReport(
            host=self._host,
            revision=revision,
            reported_at=now,
            agent_version=VERSION,
            state=state,
            refusal="; ".join(problems) or None,
            reports_dropped=reports_dropped,
            support=support,
            allocations=tuple(self._allocation_report(item) for item in enforced),
        )
        self._events.clear()
        return report

    def _allocation_report(self, item: Enforced) -> AllocationReport:
        key = item.allocation.id
        plain = AllocationReport(
            id=key,
            workload=item.allocation.workload,
            resource=item.allocation.resource,
            desired=_desired(item.allocation),
            applied=item.applied,
            read_back=item.seen.setting,
            measured=self._meter.measure(key),
            outcome=item.outcome,
            reason=item.reason,
        )
        if item.outcome is Outcome.UNCHANGED and key in self._events:
            outcome, reason = self._events[key]
            return replace(plain, outcome=outcome, reason=reason)
        return plain


def _desired(allocation: Allocation) -> Setting:
    return Setting(
        reservation=allocation.reservation,
        limit=allocation.limit,
        shares=float(allocation.shares),
    )
