"""Samples as Telegraf sends them, for scenarios with known rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from accounts.models import Organisation, Scope, Token
from ingest.core.line_protocol import Precision
from ingest.write import WriteResult, store

INTERVAL_S = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """So many intervals in which each interface carries these bits per second.

    Packets are of 1500 bytes, `dropped` of them a second instead of being sent.
    """

    intervals: int
    sent: Mapping[str, float]
    received: Mapping[str, float]
    dropped: Mapping[str, float] = field(default_factory=dict)


def net_lines(host: str, phases: Sequence[Phase], *, start: datetime) -> str:
    """Counters of all interfaces, one line per interface and interval."""
    names = sorted({name for phase in phases for name in (*phase.sent, *phase.received)})
    counters = {name: [1000, 2000, 0] for name in names}
    lines, at = [], start
    for interval in range(sum(phase.intervals for phase in phases) + 1):
        for name in names:
            sent, received, dropped = counters[name]
            stamp = int(at.timestamp()) * 1_000_000_000
            lines.append(
                f"net,host={host},interface={name} "
                f"bytes_sent={sent}i,bytes_recv={received}i,"
                f"packets_sent={sent // 1500}i,packets_recv={received // 1500}i,"
                f"drop_in=0i,drop_out={dropped}i,err_in=0i,err_out=0i {stamp}"
            )
        phase = phase_of(phases, interval)
        for name in names:
            counters[name][0] += round(phase.sent.get(name, 0.0) * INTERVAL_S / 8)
            counters[name][1] += round(phase.received.get(name, 0.0) * INTERVAL_S / 8)
            counters[name][2] += round(phase.dropped.get(name, 0.0) * INTERVAL_S)
        at += timedelta(seconds=INTERVAL_S)
    return "\n".join(lines)


def tcp_lines(
    host: str, *, segments_per_s: float, again_per_s: float, intervals: int, start: datetime
) -> str:
    """TCP of a host: segments sent, and those sent again."""
    return "\n".join(
        f"nstat,host={host},name=snmp TcpOutSegs={round(segments_per_s * INTERVAL_S * step)}i,"
        f"TcpRetransSegs={round(again_per_s * INTERVAL_S * step)}i "
        f"{int((start + timedelta(seconds=INTERVAL_S * step)).timestamp()) * 1_000_000_000}"
        for step in range(intervals + 1)
    )


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
