"""What an agent reports of the document that it fetched, signed as it signs: cheaply."""

from __future__ import annotations

from datetime import UTC, datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from enforcers.contract import (
    Allocation,
    AllocationReport,
    ComplianceReport,
    ControlOutcome,
    ControlOutcomes,
    EnforcementState,
    Measurement,
    Outcome,
    PolicyDocument,
    Setting,
    encode_report,
)
from enforcers.version import VERSION
from enforcers.wire_signatures import report_message

REPORT_S = 30.0
_PLACE = datetime(2001, 2, 3, 4, 5, 6, 789123, UTC)
"""Stands in the prepared text for the time of a report."""


class Reports:
    """The reports of one host: the text is made once for each revision, its time put in."""

    def __init__(self, host: str, key: bytes) -> None:
        self._host = host
        self._key = Ed25519PrivateKey.from_private_bytes(key)
        self._revision: int | None = None
        self._text = b""

    def report(self, document: PolicyDocument, at: datetime) -> tuple[bytes, str]:
        """The body and the header with its signature; later ones have later times."""
        if self._revision != document.revision or not self._text:
            self._revision = document.revision
            self._text = encode_report(report_of(self._host, document, _PLACE))
        body = self._text.replace(_written(_PLACE), _written(at))
        number = int(at.timestamp() * 1_000_000)
        signature = self._key.sign(report_message(body, number=number))
        return body, f"number={number}, ed25519={signature.hex()}"


def report_of(host: str, document: PolicyDocument, at: datetime) -> ComplianceReport:
    """All is as it was wanted."""
    from tests.advisor.agent_support import SUPPORT

    return ComplianceReport(
        host=host,
        revision=document.revision,
        reported_at=at,
        agent_version=VERSION,
        state=EnforcementState.ENFORCING,
        refusal=None,
        reports_dropped=0,
        # An agent that supports nothing would be sent nothing.
        support=SUPPORT,
        allocations=tuple(map(_report_of, document.allocations)),
    )


def _report_of(item: Allocation) -> AllocationReport:
    wanted = Setting(reservation=item.reservation, limit=item.limit, shares=item.shares)
    unchanged = ControlOutcome(outcome=Outcome.UNCHANGED, reason="as wanted")
    measured = Measurement(
        rate=50.0, window_s=REPORT_S, sample_count=3, backlogged_samples=None,
        backlog_bytes=None, drops=None, overlimits=None,
    )  # fmt: skip
    return AllocationReport(
        id=item.id,
        workload=item.workload,
        resource=item.resource,
        desired=wanted,
        applied=wanted,
        read_back=wanted,
        measured=measured,
        outcome=unchanged.outcome,
        reason=unchanged.reason,
        controls=ControlOutcomes.all_as(unchanged),
    )


def _written(at: datetime) -> bytes:
    """The time as the contract writes it."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z").encode()
