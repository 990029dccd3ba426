"""One run of the laboratory on an uplink: calm, then an incident, then the policy that is advised.

    python -m bench.lab.uplink_run SEED --phase 60 --out FILE

Namespaces on this machine's kernel, real TCP, in real time. While no policy is in force a token
bucket stands for the speed of the link. The advice is the product's own, from the same windows
that it would have; the agent's enforcement builds the HTB tree. What is predicted is compared with
what each class of HTB sent. Needs root.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from advisor.advice.policy.decide.host_traffic import HostTraffic
from advisor.advice.policy.decide.policy_advice import advise
from advisor.advice.policy.decide.policy_answer import Recommendation
from advisor.advice.policy.decide.policy_inputs import (
    AdviceAllocation,
    AdviceInputs,
    summarize_rates,
)
from advisor.core.detection.congestion import DetectorSettings, detect
from advisor.core.detection.incident import fold_incidents
from advisor.core.detection.observed import readings_of
from advisor.core.detection.threshold import FixedThreshold
from advisor.core.observation import AllocationObservation, UplinkObservation
from advisor.resource_kinds.registry import traits_of
from bench.lab.uplink_case import UplinkCase, uplink_case
from bench.testbed.network.host import CONGESTION_CONTROL, FRAMES, class_of
from enforcers.mechanisms.tc_htb.observed import HtbObserved
from tests.enforcers.policies import document, nothing, uplink, vnic
from tests.enforcers.rig import Rig, start_rig
from tests.host.network import SINK, NamespaceRunner, Network, network

WINDOW_S = 2.0
SETTLE_S = 6.0
"""Of each phase so much is left out: connections open, and TCP finds its rate."""
FULL_RATIO = 0.9
BEGAN_AT = datetime(2026, 1, 1, tzinfo=UTC)
KIND = "uplink"


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """What was seen in a phase: bits per second of each workload by window, and of the link."""

    rates: tuple[tuple[float, ...], ...]
    sent: tuple[float, ...]


def main() -> None:
    """Write what was predicted and measured of each workload."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("--phase", type=float, default=60.0, help="seconds of each phase")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    found = run(uplink_case(asked.seed), phase_s=asked.phase)
    asked.out.write_text(json.dumps(found) + "\n")


def run(case: UplinkCase, *, phase_s: float) -> dict[str, Any]:
    """One case from the calm phase to the measured effect."""
    with _built(case) as (built, rig):
        _start(built, enumerate(case.loads))
        calm = _watched(built, phase_s)
        _start(built, case.extra)
        crowded = _watched(built, phase_s)
        advice = advice_of(case, calm, crowded)
        found: dict[str, Any] = {"seed": case.seed, "culprit": case.culprit}
        if not isinstance(advice, Recommendation):
            return found | {"advice": None, "why": str(getattr(advice, "summary", advice))}
        measured = _enforced(built, rig, case, advice, phase_s)
        return found | {
            "advice": advice.summary,
            "lead": _lead(advice),
            "link": case.link_bits_per_s,
            "workloads": [
                {
                    "workload": row.workload,
                    "load": case.loads[place].kind,
                    "before": row.measured,
                    "predicted": row.predicted_after,
                    "low": None if row.interval is None else row.interval.low,
                    "high": None if row.interval is None else row.interval.high,
                    "unsure": row.unsure,
                    "measured": measured[place],
                }
                for place, row in enumerate(advice.allocations)
            ],
        }


def _lead(advice: Recommendation) -> str:
    """Whose gain the sentence tells: "...: w1 gets" or "for w1 ...: it gets"."""
    lead = advice.summary.rsplit(": ", 1)[1].split(" ", 1)[0]
    return advice.summary.split(" for ", 1)[1].split(" ", 1)[0] if lead == "it" else lead


@contextmanager
def _built(case: UplinkCase) -> Iterator[tuple[Network, Rig]]:
    with (
        TemporaryDirectory(prefix="sluice-lab-") as folder,
        network(len(case.loads)) as built,
    ):
        for interface in ("up0", *(f"p{number}" for number in built.numbers)):
            built.runner.run(["ip", "link", "set", interface, *FRAMES])
        for name in built.names:
            NamespaceRunner(name).run(["tee", CONGESTION_CONTROL], stdin="reno")
        speed = f"rate {case.link_bits_per_s:.0f}bit burst 8k latency 100ms"
        built.runner.run(["tc", "qdisc", "add", "dev", "up0", "root", "tbf", *speed.split()])
        built.start(built.sink, SINK)
        yield built, start_rig(Path(folder), built.runner)


def _start(built: Network, loads: Any) -> None:
    for place, load in loads:
        built.start(built.workload(place + 1), load.code)


def _watched(built: Network, phase_s: float) -> Windows:
    """The windows of a phase, by the counters that an agent reads."""
    time.sleep(SETTLE_S)
    rates, sent = [], []
    count = int((phase_s - SETTLE_S) / WINDOW_S)
    before, at_s = _counters(built), time.monotonic()
    for _ in range(count):
        time.sleep(max(at_s + WINDOW_S - time.monotonic(), 0.0))
        now, now_s = _counters(built), time.monotonic()
        per_s = 8 / (now_s - at_s)
        rates.append(tuple((now[f"p{n}"][0] - before[f"p{n}"][0]) * per_s for n in built.numbers))
        sent.append((now["up0"][1] - before["up0"][1]) * per_s)
        before, at_s = now, now_s
    return Windows(rates=tuple(rates), sent=tuple(sent))


def _counters(built: Network) -> dict[str, tuple[int, int]]:
    """Bytes received and sent of the host's interfaces."""
    text = built.runner.run(["cat", "/proc/net/dev"])
    found = {}
    for line in text.splitlines():
        name, colon, numbers = line.partition(":")
        if colon:
            fields = numbers.split()
            found[name.strip()] = (int(fields[0]), int(fields[8]))
    return found


def advice_of(case: UplinkCase, calm: Windows, crowded: Windows) -> object:
    """The product's advice on these windows."""
    traits = traits_of(KIND)
    mode = traits.modes[0]
    allocations = _allocations(case, calm, crowded)
    observations = tuple(
        UplinkObservation(
            at=_at(number),
            window_s=WINDOW_S,
            tx_bits_per_s=sent,
            capacity_bits_per_s=case.link_bits_per_s,
            allocations=tuple(
                AllocationObservation(
                    workload=one.workload,
                    rate=rate,
                    reservation=one.reservation,
                    shares=float(one.stated_shares),
                    usual_rate=None if one.usual is None else one.usual.mean,
                )
                for one, rate in zip(allocations, rates, strict=True)
            ),
        )
        for number, (rates, sent) in enumerate(
            zip((*calm.rates, *crowded.rates), (*calm.sent, *crowded.sent), strict=True)
        )
    )
    points = detect(
        readings_of(observations),
        settings=DetectorSettings(activity_floor=5.0),
        threshold=FixedThreshold(value=FULL_RATIO),
    ).points
    incidents = fold_incidents(points, observations, mode)
    if not incidents:
        return "no incident"
    host_part = traits.host_part
    return advise(
        AdviceInputs(
            resource="lab",
            kind=KIND,
            unit=traits.units[0],
            mode=mode,
            capacity=case.link_bits_per_s,
            reservable=None,
            began_at=incidents[-1].started_at,
            ended_at=_at(len(observations) - 1),
            allocations=allocations,
            incident=incidents[-1],
            samples_needed=min(len(crowded.rates), 20),
            host_traffic=None
            if host_part is None
            else HostTraffic(reservation=host_part(case.link_bits_per_s), demand=0.0),
        )
    )


def _at(number: int) -> datetime:
    return BEGAN_AT + timedelta(seconds=WINDOW_S * (number + 1))


def _allocations(
    case: UplinkCase, calm: Windows, crowded: Windows
) -> tuple[AdviceAllocation, ...]:
    found = []
    for place, (usual, rates) in enumerate(
        zip(zip(*calm.rates, strict=True), zip(*crowded.rates, strict=True), strict=True)
    ):
        found.append(
            AdviceAllocation(
                allocation=place,
                workload=f"vm{place + 1}",
                host="h1",
                tier=case.tiers[place],
                reservation=case.reservations[place],
                usual=summarize_rates(usual, span_days=1.0),
                congested=summarize_rates(rates, span_days=1.0),
                calm_rates=tuple(usual),
                congested_rates=tuple(rates),
            )
        )
    return tuple(found)


def _enforced(
    built: Network, rig: Rig, case: UplinkCase, advice: Recommendation, phase_s: float
) -> Sequence[float]:
    """Bits per second that each class sent under the policy."""
    built.runner.run(["tc", "qdisc", "del", "dev", "up0", "root"])
    wanted = document(
        *(
            vnic(
                place + 1,
                row.reservation,
                limit=row.limit,
                shares=row.shares,
                entitlement=row.entitlement,
            )
            for place, row in enumerate(advice.allocations)
        )
    )
    spec = uplink(capacity=case.link_bits_per_s)
    wanted = replace(wanted, resources=(spec,))
    result = rig.enforcement.run(wanted, previous=None, now_s=time.monotonic())
    if result.has_failed or not result.is_in_force:
        raise RuntimeError(f"not enforced: {result.problems or result.enforced}")
    time.sleep(SETTLE_S)
    before, began_s = _sent(rig, len(advice.allocations)), time.monotonic()
    time.sleep(phase_s - SETTLE_S)
    after, took_s = _sent(rig, len(advice.allocations)), time.monotonic() - began_s
    return [(late - early) * 8 / took_s for early, late in zip(before, after, strict=True)]


def _sent(rig: Rig, count: int) -> list[int]:
    observed = rig.mechanisms["tc_htb"].observe(nothing("up0"), rig.ledger.entries())
    assert isinstance(observed, HtbObserved)
    return [observed.counters[class_of(place)].sent_bytes for place in range(count)]


if __name__ == "__main__":
    main()
