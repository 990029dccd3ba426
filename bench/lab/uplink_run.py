"""One run of the laboratory on an uplink: calm, then an incident, then the policy that is advised.

    python -m bench.lab.uplink_run SEED --phase 60 --out FILE

Namespaces on this machine's kernel, real TCP, in real time. While no policy is in force a token
bucket stands for the speed of the link. The advice is the product's own, from the same windows
that it would have; the agent's enforcement builds the HTB tree. What is predicted is compared with
what each class of HTB sent. Needs root.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from advisor.advice.policy.decide.policy_answer import Recommendation
from advisor.core.observation import UplinkObservation
from bench.lab.advised import (
    WINDOW_S,
    advice_on,
    allocations_of,
    observed,
    predicted,
    window_end,
    without_advice,
    write_run,
)
from bench.lab.uplink_case import UplinkCase, uplink_case
from bench.testbed.network.host import CONGESTION_CONTROL, FRAMES, class_of
from enforcers.mechanisms.tc_htb.observed import HtbObserved
from tests.enforcers.policies import document, nothing, uplink, vnic
from tests.enforcers.rig import Rig, start_rig
from tests.host.network import SINK, NamespaceRunner, Network, network

SETTLE_S = 6.0
"""Of each phase so much is left out: connections open, and TCP finds its rate."""
FULL_RATIO = 0.9
KIND = "uplink"


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """What was seen in a phase: bits per second of each workload by window, and of the link."""

    rates: tuple[tuple[float, ...], ...]
    sent: tuple[float, ...]


def main() -> None:
    """Write what was predicted and measured of each workload."""
    write_run(__doc__, lambda seed, phase_s: run(uplink_case(seed), phase_s=phase_s))


def run(case: UplinkCase, *, phase_s: float) -> dict[str, Any]:
    """One case from the calm phase to the measured effect."""
    with _built(case) as (built, rig):
        _start(built, enumerate(case.loads))
        calm = _watched(built, phase_s)
        _start(built, case.extra)
        crowded = _watched(built, phase_s)
        advice = advice_of(case, calm, crowded)
        found: dict[str, Any] = {
            "seed": case.seed,
            "culprit": case.culprit,
            "capacity": case.link_bits_per_s,
            "calm": asdict(calm),
            "crowded": asdict(crowded),
        }
        if not isinstance(advice, Recommendation):
            return found | without_advice(advice)
        measured = _enforced(built, rig, case, advice, phase_s)
        # Without it there is no measurement: `_enforced` fails.
        found["in_force"] = True
        return found | predicted(advice, [load.kind for load in case.loads], measured)


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
    began_s = time.monotonic()
    at_s, before = _counters(built)
    for number in range(count):
        left_s = began_s + (number + 1) * WINDOW_S - time.monotonic()
        time.sleep(max(left_s, WINDOW_S / 2))
        now_s, now = _counters(built)
        per_s = 8 / (now_s - at_s)
        rates.append(tuple((now[f"p{n}"][0] - before[f"p{n}"][0]) * per_s for n in built.numbers))
        sent.append((now["up0"][1] - before["up0"][1]) * per_s)
        before, at_s = now, now_s
    return Windows(rates=tuple(rates), sent=tuple(sent))


def _counters(built: Network) -> tuple[float, dict[str, tuple[int, int]]]:
    """Bytes received and sent of the host's interfaces, and when that was, by one reader.

    On a busy machine it takes long until its answer is here.
    """
    text = built.runner.run(["cat", "/proc/uptime", "/proc/net/dev"])
    found = {}
    for line in text.splitlines():
        name, colon, numbers = line.partition(":")
        if colon:
            fields = numbers.split()
            found[name.strip()] = (int(fields[0]), int(fields[8]))
    return float(text.split(" ", 1)[0]), found


def advice_of(case: UplinkCase, calm: Windows, crowded: Windows) -> object:
    """The product's advice on these windows."""
    allocations = allocations_of(
        np.array(calm.rates),
        np.array(crowded.rates),
        tiers=case.tiers,
        reservations=case.reservations,
    )
    observations = [
        UplinkObservation(
            at=window_end(number),
            window_s=WINDOW_S,
            tx_bits_per_s=sent,
            capacity_bits_per_s=case.link_bits_per_s,
            allocations=observed(allocations, rates),
        )
        for number, (rates, sent) in enumerate(
            zip((*calm.rates, *crowded.rates), (*calm.sent, *crowded.sent), strict=True)
        )
    ]
    return advice_on(
        KIND,
        observations,
        allocations,
        threshold=FULL_RATIO,
        activity_floor=5.0,
        capacity=case.link_bits_per_s,
    )


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
