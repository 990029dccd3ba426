"""The three phases of seed 000's test 3, and what a run did in each."""

from advisor.core.window import PERIOD_S
from advisor.lab.simulation.cluster import Run

PHASE_S = 300.0
SETTLED_S = 60.0
LOW = ("VM 1", "VM 2", "VM 3")
DEPTHS = {"host 1": 10.0, "host 2": 15.0}
SETTLED_PART = 0.1
BUCKET_S = 2.0
"""Orders are drawn over 10 s as in the seed, windows over the 4 s for which they stand."""
ORDERS_S = 10.0

PHASES = {0.0: "all active", PHASE_S: "VM 4 idle", 2 * PHASE_S: "VM 4 active again"}


def orders_per_s(run: Run, vm: str, phase: int) -> float:
    """Orders per second of a VM in a phase, after its first minute."""
    begin = phase * PHASE_S
    return run.of(vm, begin + SETTLED_S, begin + PHASE_S).transactions_per_s


def iops(run: Run, vm: str, phase: int) -> float:
    """I/Os per second of a VM in a phase, after its first minute."""
    begin = phase * PHASE_S
    return run.of(vm, begin + SETTLED_S, begin + PHASE_S).iops


def depth(run: Run, host: str, phase: int) -> float:
    """Mean window of a host in a phase, after its first minute."""
    begin = phase * PHASE_S
    return run.window(host, begin + SETTLED_S, begin + PHASE_S)


def back_after_s(run: Run) -> float:
    """Seconds of phase 3 until the windows are back; they may not have been by its end."""
    times = [time for time in run.times_s if time > 2 * PHASE_S]
    rest = {host: depth(run, host, 0) for host in DEPTHS}
    for time in times:
        soon = min(time + SETTLED_S / 2, 3 * PHASE_S)
        means = {host: run.window(host, time - PERIOD_S, soon) for host in DEPTHS}
        if all(abs(means[host] / rest[host] - 1) <= SETTLED_PART for host in DEPTHS):
            return time - 2 * PHASE_S
    return PHASE_S
