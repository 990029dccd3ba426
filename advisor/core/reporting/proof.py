"""What a customer can be given: what was promised, whether it was kept, and who says so."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from advisor.core.reporting.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenPromise:
    """What was promised to a workload on a resource from `since` until `until`, in `unit`.

    `since` None is before the period, `until` None after it. `version` None is what was stated
    without a policy. `reservation` 0 is none, `limit` None is none.
    """

    workload: str
    resource: str
    host: str
    unit: str
    reservation: float
    limit: float | None
    since: datetime | None
    until: datetime | None
    version: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenVersion:
    """A version of a resource's policy that was the newest at some time of the period."""

    resource: str
    version: int
    since: datetime
    until: datetime | None
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenMeasuring:
    """By what rates on a host were counted; `agent` is the version of its agent, or empty."""

    host: str
    counters: tuple[str, ...]
    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A report with what it is judged by; `more_promises` are not listed."""

    report: Report
    promises: tuple[ProvenPromise, ...]
    more_promises: int
    versions: tuple[ProvenVersion, ...]
    measuring: tuple[ProvenMeasuring, ...]


def policy_digest(fields: Mapping[str, Any]) -> str:
    """SHA-256, in hexadecimal, of the fields as JSON: keys sorted, without spaces, in UTF-8."""
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
