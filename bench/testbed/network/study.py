"""Steps a, b and c of the NetIOC study: three workloads, of which two move to another host.

The study's 7.5, 4.5 and 3 of 9.4 Gbit/s are 75, 45 and 30 of 94 Mbit/s here. What moved away is
silent, and has no allocation. Both hosts are measured, one after the other in the same place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bench.fleet.rows import Row
from bench.testbed.asked import Asked
from bench.testbed.network.host import LINK_MBPS, Host, class_of, host
from bench.testbed.network.part import Effort, Part
from tests.enforcers.policies import vnic
from tests.host.steady_rates import Rates, median_rates

TOLERANCE_RATIO = 0.02
# Each step has its hosts, and each host the reservations of its workloads in Mbit/s.
STEPS: Mapping[str, Sequence[Mapping[int, float]]] = {
    "a": ({1: 75.0, 2: 0.0, 3: 0.0},),
    "b": ({1: 75.0, 3: 0.0}, {2: 45.0}),
    "c": ({1: 75.0}, {2: 45.0, 3: 30.0}),
}


def ideal_mbps(reservations_mbps: Mapping[int, float]) -> dict[str, float]:
    """Each has its reservation and an equal part of what no reservation has."""
    spare = (LINK_MBPS - sum(reservations_mbps.values())) / len(reservations_mbps)
    return {f"vm{number}": own + spare for number, own in reservations_mbps.items()}


def off_ideal_ratio(rates: Rates, ideal_mbps: Mapping[str, float]) -> float:
    """By which part of the link the class that is furthest from its ideal differs from it."""
    return max(abs(rates.mbps[name] - ideal) for name, ideal in ideal_mbps.items()) / LINK_MBPS


def _asked(step: str) -> Asked:
    return Asked(
        what=f"NetIOC study, step {step} at 94 Mbit/s, off ideal by",
        unit="of the link",
        word="<=",
        bound=TOLERANCE_RATIO,
    )


def _measure(effort: Effort) -> list[Row]:
    with host(3) as built:
        return [_step(built, step, effort) for step in STEPS]


def _step(built: Host, step: str, effort: Effort) -> Row:
    apart: list[float] = []
    notes: list[str] = []
    parts: dict[str, float] = {}
    for reservations in STEPS[step]:
        built.listen()
        built.enforce(*(vnic(number, own * 1e6) for number, own in reservations.items()))
        built.let_send(*reservations)
        classids = {f"vm{number}": class_of(n) for n, number in enumerate(reservations)}
        built.settle()
        rates = median_rates(built.counters, classids, effort.window_s)
        ideal = ideal_mbps(reservations)
        apart.append(off_ideal_ratio(rates, ideal))
        parts |= {f"VM {n}": rates.mbps[f"vm{n}"] / LINK_MBPS for n in reservations}
        notes.append(f"{rates.text}, ideal {' / '.join(f'{one:.1f}' for one in ideal.values())}")
        built.silence()
        built.put_back()
    return replace(_asked(step).row(max(apart), "; other host: ".join(notes)), values=parts)


STUDY = Part(name="study", asked=[_asked(step) for step in STEPS], measure=_measure)
