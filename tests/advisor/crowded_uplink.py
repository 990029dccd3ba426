"""An uplink that one workload fills."""

from __future__ import annotations

from datetime import timedelta

from advisor.models import Incident
from advisor.pipeline.detect import detect
from tests.advisor.samples import Phase, net_lines, send
from tests.advisor.scenario import MBIT, NOW, make_cluster

CALM = {"p1": 30 * MBIT, "p2": MBIT, "p3": MBIT}
FULL = {"p1": 10 * MBIT, "p2": MBIT, "p3": 83 * MBIT}


def crowded_uplink(*, calm: int = 120, full: int = 60) -> Incident:
    """After so many calm intervals of 10 s web-3 takes most of 94 Mbit/s for so many others."""
    cluster = make_cluster()
    phases = [
        Phase(intervals=calm, sent={"up0": 32 * MBIT}, received=CALM),
        Phase(intervals=full, sent={"up0": 94 * MBIT}, received=FULL),
    ]
    start = NOW - timedelta(seconds=10 * (calm + full))
    send(cluster.organisation, net_lines("h1", phases, start=start), now=NOW)
    detect(resource=cluster.uplink, now=NOW)
    return Incident.objects.get()
