"""One allocation of a policy on its host, as lists show it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from advisor.history.enforced_state import Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class EnforcedRow:
    """One allocation of a policy on its host.

    `wanted` is the version that the host is to have, `applied` the one that its agent took the
    kernel to have in its newest report, `shown` the one that the kernel showed then; None is none.
    `since` is when its state began, to within a report; with `is_longer` it was before that.
    """

    allocation: int
    workload_pk: int
    workload: str
    host_pk: int
    host: str
    resource_pk: int
    resource: str
    device: str
    standing: Standing
    outcome: str
    by_control: str
    wanted: int
    applied: int | None
    shown: int | None
    decided_at: datetime
    last_report_at: datetime | None
    since: datetime | None = None
    is_longer: bool = False
