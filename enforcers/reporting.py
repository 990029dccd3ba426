"""From what a pass did to the report the service gets. Pure but for what it remembers."""

from datetime import datetime

from enforcers.contract import (
    Allocation,
    AllocationReport,
    ComplianceReport,
    ControlKind,
    ControlOutcome,
    ControlOutcomes,
    EnforcementState,
    Measurement,
    MechanismSupport,
    Outcome,
    Setting,
)
from enforcers.enforcement import PassResult
from enforcers.meter import Meter, Reading
from enforcers.results import Enforced
from enforcers.version import VERSION

_EVENTS = frozenset({Outcome.APPLIED, Outcome.REPLACED, Outcome.DRIFTED})


class Reporter:
    """Measures between reports and keeps events until they have been reported."""

    def __init__(self, *, host: str, window_s: float) -> None:
        self._host = host
        self._meter = Meter(window_s)
        self._events: dict[tuple[str, ControlKind], ControlOutcome] = {}
        self._last: PassResult | None = None

    def take(self, result: PassResult, *, at_s: float) -> None:
        """Note the result of a pass, with its counter readings."""
        self._last = result
        ids = {item.allocation.id for item in result.enforced}
        self._meter.keep_only(ids)
        self._events = {key: event for key, event in self._events.items() if key[0] in ids}
        for item in result.enforced:
            key = item.allocation.id
            if item.is_changed:
                # A window over two settings would describe neither.
                self._meter.forget(key)
            if item.seen.counters is not None:
                self._meter.add(key, Reading(at_s=at_s, counters=item.seen.counters))
            for kind, found in item.controls.by_kind().items():
                if found.outcome in _EVENTS:
                    self._events[key, kind] = found
                elif found.outcome is not Outcome.UNCHANGED:
                    self._events.pop((key, kind), None)

    def measured(self) -> dict[str, Measurement]:
        """What is measured by now, by allocation."""
        return self._meter.measure_all()

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
        controls = self._with_events(item)
        total = controls.sum()
        return AllocationReport(
            id=key,
            workload=item.allocation.workload,
            resource=item.allocation.resource,
            desired=_desired(item.allocation),
            applied=item.applied,
            read_back=item.seen.setting,
            measured=self._meter.measure(key),
            outcome=total.outcome,
            reason=total.reason,
            controls=controls,
        )

    def _with_events(self, item: Enforced) -> ControlOutcomes:
        """The controls after the last pass, and what was done since the last report."""
        return ControlOutcomes.of(
            {
                kind: self._events.get((item.allocation.id, kind), found)
                if found.outcome is Outcome.UNCHANGED
                else found
                for kind, found in item.controls.by_kind().items()
            }
        )


def _desired(allocation: Allocation) -> Setting:
    return Setting(
        reservation=allocation.reservation,
        limit=allocation.limit,
        shares=float(allocation.shares),
    )
