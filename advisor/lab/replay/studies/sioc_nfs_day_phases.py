"""The day of seed 000's test 4: who is active when, and what a run did meanwhile."""

from math import inf

from advisor.lab.replay.studies.sioc_nfs_orders import VMS
from advisor.lab.replay.studies.sioc_nfs_shares import change_pct
from advisor.lab.simulation.cluster import Run
from advisor.lab.simulation.totals import Totals

PHASE_S = 300.0
SETTLED_S = 60.0

ACTIVE = {
    "VM 1": ((3 * PHASE_S, 6 * PHASE_S),),
    "VM 2": ((2 * PHASE_S, 5 * PHASE_S),),
    "VM 3": ((1 * PHASE_S, 4 * PHASE_S),),
    "VM 4": ((0.0, inf),),
}
PHASES = {
    0.0: "VM 4",
    1 * PHASE_S: "+ VM 3",
    2 * PHASE_S: "+ VM 2",
    3 * PHASE_S: "+ VM 1",
    4 * PHASE_S: "- VM 3",
    5 * PHASE_S: "- VM 2",
    6 * PHASE_S: "- VM 1",
}
PHASES_BESIDE = {0: (0, 6), 1: (1, 5), 2: (2, 4), 3: (3,)}
"""Which phases have so many order servers beside VM 4."""
COMPETITORS = {1: "one order server", 2: "two order servers", 3: "three order servers"}


def orders_per_s(run: Run, competitors: int) -> float:
    """Orders per second of VM 4 beside so many others."""
    parts = _during(run, "VM 4", competitors)
    return sum(part.transactions_per_s for part in parts) / len(parts)


def loss_pct(run: Run, competitors: int) -> float:
    """Change of VM 4's orders per second against VM 4 alone; a loss is below 0."""
    return change_pct(orders_per_s(run, 0), orders_per_s(run, competitors))


def latency_ms(run: Run, competitors: int) -> float:
    """Mean latency of the I/Os of all VMs while so many order servers are beside VM 4."""
    parts = (part for vm in VMS for part in _during(run, vm, competitors))
    mean_ms = sum(parts, Totals()).device_latency_ms
    if mean_ms is None:
        raise ValueError("no I/O was done in a phase in which VM 4 is active")
    return mean_ms


def _during(run: Run, vm: str, competitors: int) -> list[Totals]:
    """What a VM did in the phases with so many order servers, each after it has settled."""
    return [
        run.of(vm, phase * PHASE_S + SETTLED_S, (phase + 1) * PHASE_S)
        for phase in PHASES_BESIDE[competitors]
    ]
