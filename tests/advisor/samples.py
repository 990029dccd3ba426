"""Samples as Telegraf sends them, for scenarios with known rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ingest.core.line_protocol import Precision
from ingest.models import Organisation, Scope, Token
from ingest.write import WriteResult, store

INTERVAL_S = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """So many intervals in which each interface carries these bits per second."""

    intervals: int
    sent: Mapping[str, float]
    received: Mapping[str, float]


def net_lines(host: str, phases: Sequence[Phase], *, start: datetime) -> str:
    """Counters of all interfaces, one line per interface and interval."""
    names = sorted({name for phase in phases for name in (*phase.sent, *phase.received)})
    counters = {name: [1000, 2000] for name in names}
    lines, at = [], start
    for interval in range(sum(phase.intervals for phase in phases) + 1):
        for name in names:
            sent, received = counters[name]
            stamp = int(at.timestamp()) * 1_000_000_000
            lines.append(
                f"net,host={host},interface={name} "
                f"bytes_sent={sent}i,bytes_recv={received}i,packets_sent=0i,packets_recv=0i,"
                f"drop_in=0i,drop_out=0i,err_in=0i,err_out=0i {stamp}"
            )
        phase = phase_of(phases, interval)
        for name in names:
            counters[name][0] += round(phase.sent.get(name, 0.0) * INTERVAL_S / 8)
            counters[name][1] += round(phase.received.get(name, 0.0) * INTERVAL_S / 8)
        at += timedelta(seconds=INTERVAL_S)
    return "\n".join(lines)


def phase_of(phases: Sequence[Phase], interval: int) -> Phase:
    """The phase that an interval belongs to; the last one for those after it."""
    for phase in phases:
        if interval < phase.intervals:
            return phase
        interval -= phase.intervals
    return phases[-1]


def send(organisation: Organisation, lines: str, *, now: datetime) -> WriteResult:
    """Store the lines as a host of the organisation would have sent them."""
    token, _ = Token.objects.issue(organisation=organisation, scope=Scope.INGEST, name="telegraf")
    return store(
        lines.encode(), token=token, precision=Precision.NS, now=now, retention=timedelta(days=30)
    )
