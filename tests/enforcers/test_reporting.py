"""What passes did between two reports is told once, control by control."""

from dataclasses import replace

from enforcers.contract import (
    AllocationReport,
    ControlOutcome,
    ControlOutcomes,
    EnforcementState,
    Outcome,
)
from enforcers.enforcement import PassResult
from enforcers.mechanism import Seen
from enforcers.reporting import Reporter
from enforcers.results import Enforced
from tests.enforcers.policies import NOON, group

FINE = ControlOutcome(outcome=Outcome.UNCHANGED, reason="as wanted")
SHORT = ControlOutcome(outcome=Outcome.UNSUPPORTED, reason="no reservation here")
DRIFTED = ControlOutcome(outcome=Outcome.DRIFTED, reason="somebody set riops=1")
FAILED = ControlOutcome(outcome=Outcome.FAILED, reason="EIO")


def done(limit: ControlOutcome) -> PassResult:
    """A pass over one allocation whose reservation cannot be had."""
    item = Enforced(
        allocation=group("/machine.slice/vm1", limit=500.0, reservation=100.0),
        applied=None,
        seen=Seen(setting=None, counters=None),
        controls=ControlOutcomes(reservation=SHORT, limit=limit, shares=FINE),
        is_changed=limit.outcome is Outcome.DRIFTED,
    )
    return PassResult(enforced=(item,), problems=(), is_changed=item.is_changed, is_in_force=True)


def told(reporter: Reporter) -> AllocationReport:
    (found,) = reporter.report(
        now=NOON,
        revision=1,
        state=EnforcementState.ENFORCING,
        refusal=None,
        reports_dropped=0,
        support=(),
    ).allocations
    return found


def test_drift_of_the_limit_is_told_once_beside_a_reservation_that_cannot_be_had() -> None:
    reporter = Reporter(host="h1", window_s=60.0)
    reporter.take(done(DRIFTED), at_s=0.0)
    reporter.take(done(FINE), at_s=10.0)

    first, second = told(reporter), told(reporter)

    held = ControlOutcomes(reservation=SHORT, limit=FINE, shares=FINE)
    assert first.controls == replace(held, limit=DRIFTED)
    assert second.controls == held
    # The sum is the gravest.
    assert (first.outcome, first.reason) == (Outcome.UNSUPPORTED, "no reservation here")


def test_what_failed_later_is_told_instead_of_what_was_put_right() -> None:
    reporter = Reporter(host="h1", window_s=60.0)
    for limit in (DRIFTED, FAILED, FINE):
        reporter.take(done(limit), at_s=0.0)

    found = told(reporter).controls

    assert found is not None
    assert found.limit == FINE
