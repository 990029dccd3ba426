"""Panels of the studies of storage."""

from __future__ import annotations

from collections.abc import Mapping

from advisor.core.allocation import Allocation
from bench.testbed.plots.plan import (
    LIMIT_TEXT,
    SOLVER,
    Place,
    Plan,
    ideal_parts,
    one_place,
    printed,
)
from bench.testbed.plots.sheet import Bar
from bench.testbed.storage import LIMIT, RESERVATION, SHARES


def _shares() -> list[Place]:
    name = "sioc-ssd-shares"
    part = printed(name, "part of a host's IOPS for the VM with 3000 shares, {pattern}") / 100
    allocations = {f"{n}": Allocation(shares=own) for n, own in enumerate(SHARES)}
    first, *others = ideal_parts(1.0, allocations).values()
    bars = {
        "first": Bar(label="three times the shares", study=part, mark=first),
        "others": Bar(
            label="each of the seven others",
            study=(1 - part) / len(others),
            printed="of what is left",
            mark=others[0],
        ),
    }
    return [Place(bar=bar, what=name, value=value) for value, bar in bars.items()]


def _tiers() -> list[Place]:
    name = "sioc-ssd-tiers"
    shares = {"high": 4.0, "medium": 2.0, "low": 1.0}
    ideal = ideal_parts(1.0, {tier: Allocation(shares=own) for tier, own in shares.items()})
    return [
        Place(
            bar=Bar(
                label=f"{tier} : low, {count} workloads",
                study=printed(name, f"IOPS of a {tier} VM against a low one, {{pattern}}"),
                mark=ideal[tier] / ideal["low"],
            ),
            what=f"{name}, off 4:2:1 by",
            value=f"{tier} of {count}",
        )
        for count in (12, 4)
        for tier in ("high", "medium")
    ]


def _nfs_shares() -> list[Place]:
    name, vms = "sioc-nfs-shares", ("VM 1", "VM 2", "VM 3", "VM 4")
    ideal = ideal_parts(1.0, {vm: Allocation(shares=2000 if vm == "VM 4" else 1000) for vm in vms})
    loads = {vm: printed(name, "load of {vm}, with SIOC", vm) / 100 for vm in vms}
    return [
        Place(bar=Bar(label=vm, study=load, mark=ideal[vm]), what=name)
        for vm, load in loads.items()
    ]


def _nfs_mixed_sizes() -> list[Place]:
    name = "sioc-nfs-mixed-sizes"
    return [
        Place(
            bar=Bar(label=how, study=printed(name, f"orders beside Iometer, {how}") / 100),
            what=name,
        )
        for how in ("default", "with SIOC")
    ]


def _nfs_day() -> list[Place]:
    name, three = "sioc-nfs-day", "three order servers"
    lost = printed(name, "throughput of VM 4 beside {beside}, default, change", three)
    kept = printed(name, "throughput of VM 4 beside {beside}, with SIOC")
    return [
        Place(bar=Bar(label="default", study=1 + lost / 100), what=name),
        Place(bar=Bar(label="with SIOC", study=kept / 100), what=name),
    ]


def _old_limit() -> list[Place]:
    name = "vdisk-limits-esx-5.0"
    least, most = (
        printed(name, f"limited throughput, {which} of a second, {{workers}}")
        for which in ("least", "most")
    )
    bar = Bar(
        label="two disks together", study=least / most, printed="of a second, at least", mark=1.0
    )
    what = f"{name}, two disks, one limit"
    return [Place(bar=bar, what=what, of=LIMIT)]


def _new_limit() -> list[Place]:
    name = "vdisk-limits-esx-5.5"
    seen, wanted = (
        printed(name, f"limited throughput as {how}, {{workers}}", "1 worker")
        for how in ("observed", "expected")
    )
    bars = {
        1: Bar(label="1 worker", study=seen / wanted, mark=1.0),
        **{
            count: Bar(label=f"{count} workers", printed="printed only in a screenshot", mark=1.0)
            for count in (2, 4)
        },
    }
    return [
        Place(bar=bar, what=f"{name}, workers: {count}", of=LIMIT) for count, bar in bars.items()
    ]


STORAGE_PLANS: Mapping[str, Plan] = {
    "sioc-nfs-shares": Plan(
        unit="part of the load",
        source="text of test 1, figure 4",
        places=_nfs_shares(),
        mark_text=SOLVER,
    ),
    "sioc-nfs-mixed-sizes": Plan(
        unit="orders, part of those alone",
        source="text of test 2, figure 6",
        places=_nfs_mixed_sizes(),
    ),
    "sioc-nfs-idle-vm": Plan(
        unit="seconds until the parts are back",
        source="text of test 3, phase 3",
        places=one_place(
            Bar(
                label="back after idling",
                study=printed(
                    "sioc-nfs-idle-vm", "time until both queue depths are back, phase 3"
                ),
                printed="at most",
            ),
            "sioc-nfs-idle-vm, settled after its return",
        ),
    ),
    "sioc-nfs-day": Plan(
        unit="part of the peak, beside three others",
        source="text of test 4, figures 12 and 13",
        places=_nfs_day(),
    ),
    "sioc-ssd-shares": Plan(
        unit="part of the disk's IOPS",
        source="text of test 1, share, figure 2",
        places=_shares(),
        mark_text=SOLVER,
    ),
    "sioc-ssd-limit": Plan(
        unit="part of the limit",
        source="text of test 1, limit, figure 3: less than 1 % apart",
        places=one_place(
            Bar(label="1 worker, reads", study=1.0, mark=1.0), "sioc-ssd-limit", LIMIT
        ),
        mark_text=LIMIT_TEXT,
    ),
    "sioc-ssd-reservation": Plan(
        unit="part of the reservations (ours: intervals) that are met",
        source="text of test 1, reservation, table 7, figure 4: all are met",
        places=one_place(
            Bar(label="reservation met", study=1.0, printed="all,"), "sioc-ssd-reservation"
        ),
        course="sioc-ssd-reservation",
        course_title="the reserved workload while neighbours come and go; gaps: it pauses",
        bound=RESERVATION,
    ),
    "sioc-ssd-tiers": Plan(
        unit="IOPS beside those of a low one",
        source="text of test 2, figure 5",
        places=_tiers(),
        mark_text=SOLVER,
    ),
    "sioc-ssd-forty-minutes": Plan(
        unit="part of the limit",
        source="text of test 3, table 1, figure 6",
        places=one_place(
            Bar(label="low VM alone", study=1.0, printed="held to its limit,", mark=1.0),
            "sioc-ssd-forty-minutes",
        ),
        mark_text=LIMIT_TEXT,
    ),
    "sioc-ssd-uneven-hosts": Plan(
        unit="difference within a class, part of its mean",
        source="text of test 4, figure 7; no number is published to set beside ours",
        places=one_place(
            Bar(label="12 and 4 workloads", printed="in words only"),
            "sioc-ssd-uneven-hosts, same class apart by",
        ),
    ),
    "vmfs-hosts-per-lun": Plan(
        unit="commands at the LUN with 8 hosts",
        source="text beside figure 2",
        places=one_place(
            Bar(
                label="8 hosts",
                study=printed(
                    "vmfs-hosts-per-lun", "commands outstanding at the LUN with 8 hosts"
                ),
            ),
            "vmfs-hosts-per-lun",
        ),
    ),
    "vdisk-limits-esx-5.0": Plan(
        unit="part of the limit",
        source="text of ESX 5.0: 330 to 400 of 400 IOPS; ours is the mean",
        places=_old_limit(),
        mark_text=LIMIT_TEXT,
    ),
    "vdisk-limits-esx-5.5": Plan(
        unit="part of the limit",
        source="text of ESX 5.5: 2,000 IOPS at a limit of 400",
        places=_new_limit(),
        mark_text=LIMIT_TEXT,
    ),
}
"""By the experiment's name in `sluice replay`."""
