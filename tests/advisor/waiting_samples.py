"""What tells that workloads wait, as collectors send it: counters each ten seconds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

INTERVAL_S = 10


def steady_lines(head: str, per_s: Mapping[str, float], *, start: datetime, intervals: int) -> str:
    """Counters that all grow by so much a second from `start` on."""
    lines = []
    for step in range(intervals + 1):
        grown_s = step * INTERVAL_S
        fields = ",".join(f"{name}={round(rate * grown_s)}i" for name, rate in per_s.items())
        at = start + timedelta(seconds=grown_s)
        lines.append(f"{head} {fields} {int(at.timestamp())}000000000")
    return "\n".join(lines)
