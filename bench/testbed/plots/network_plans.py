"""Panels of the study of networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from advisor.core.allocation import Allocation
from bench.testbed.network.host import LINK_MBPS
from bench.testbed.network.kinds import RESERVATIONS_MBPS
from bench.testbed.network.study import STEPS
from bench.testbed.plots.plan import SOLVER, Place, Plan, ideal_parts, printed
from bench.testbed.plots.sheet import Bar


def _steps() -> list[Place]:
    name = "netioc-reservations"
    link = printed(name, "bandwidth of all VMs on one host")
    places = []
    for step, hosts in STEPS.items():
        for reservations in hosts:
            allocations = {
                f"VM {n}": Allocation(reservation=own) for n, own in reservations.items()
            }
            for vm, ideal in ideal_parts(LINK_MBPS, allocations).items():
                own = printed(name, f"bandwidth of {{vm}}, step {step}", vm) / link
                bar = Bar(label=f"step {step}, {vm}", study=own, mark=ideal)
                places.append(Place(bar=bar, what=f"{name}, step {step}, off ideal by", value=vm))
    return places


def _kinds() -> list[Place]:
    name = "netioc-traffic-classes"
    least = printed(name, "bandwidth of a VM, least of all VMs and seconds, as observed")
    link = printed("netioc-reservations", "bandwidth of all VMs on one host") * 1000
    places = []
    for kind, reserved in RESERVATIONS_MBPS.items():
        bar = Bar(label=kind, mark=reserved / LINK_MBPS)
        if kind.startswith("vm"):
            bar = replace(bar, study=least / link, printed="at least")
        places.append(Place(bar=bar, what=f"{name}, below reservation", value=kind))
    return places


def _web_server() -> list[Place]:
    what = "response time beside competing traffic, increase, reservation enforced"
    most = 1 + printed("netioc-web-server", what) / 100
    only = "printed only in figure 4"
    bars = (
        Bar(label="one queue for all", printed=only),
        Bar(label="without a reservation", printed=only),
        Bar(label="with a reservation", study=most, printed="at most"),
    )
    row = "netioc-web-server, beside unloaded"
    return [Place(bar=bar, what=row, value=bar.label) for bar in bars]


def _scheduler_cost() -> list[Place]:
    name, what = "netioc-scheduler-cost", "CPU utilisation against the default scheduler, {load}"
    # The study's load, and how many workloads are beside it here.
    loads = {"below 25 VMs, least": 1, "below 25 VMs, most": 25, "100 VMs": 200}
    return [
        Place(
            bar=Bar(label=f"{load}; ours: {count}", study=1 + printed(name, what, load) / 100),
            what=f"{name}, workloads: {count}",
        )
        for load, count in loads.items()
    ]


NETWORK_PLANS: Mapping[str, Plan] = {
    "netioc-reservations": Plan(
        unit="part of the link",
        source="steps a to c of the text, figure 2; for step b the study prints VM 2 for VM 3",
        places=_steps(),
        mark_text=SOLVER,
    ),
    "netioc-traffic-classes": Plan(
        unit="part of the link",
        source="text of experiment 1, figure 3; the study reserves nothing for NFS and migration",
        places=_kinds(),
        mark_text="what is reserved",
    ),
    "netioc-web-server": Plan(
        unit="response time beside that without other traffic, logarithmic",
        source="text of experiment 2, figure 4",
        places=_web_server(),
        is_logarithmic=True,
    ),
    "netioc-scheduler-cost": Plan(
        unit="CPU beside that of the default scheduler",
        source="text of experiment 3, figure 5",
        places=_scheduler_cost(),
    ),
    "netioc-best-practices": Plan(
        unit="",
        source="text; no number is published to set beside ours",
    ),
}
"""By the experiment's name in `sluice replay`."""
