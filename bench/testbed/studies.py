"""The studies' experiments: which row repeats one on a real kernel, or why none does.

A row of this part is a row of another part of the same run, with what the study printed beside it,
and of that row's rung.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.fleet.rows import Row, not_measured

PART = "studies"
_NO_APPLICATION = (
    "its load is DVD Store, whose clients think between I/Os, on NFS, where no mechanism gives "
    "shares"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One experiment: what the study printed, and the part and row that repeat it, or why none.

    `replay` is its name in `sluice replay`, `row` how the row begins. The study's numbers are
    those of other hardware: what is alike is what the policy fixes.
    """

    replay: str
    detail: str = ""
    study: str
    part: str = ""
    row: str = ""
    why_not: str = ""

    @property
    def what(self) -> str:
        """Its name in the table."""
        return f"{self.replay}, {self.detail}" if self.detail else self.replay


EXPERIMENTS = (
    Experiment(
        replay="sioc-nfs-shares",
        study="20 % and 40 % of the load",
        why_not=_NO_APPLICATION,
    ),
    Experiment(
        replay="sioc-nfs-mixed-sizes",
        study="83 % of the orders alone, 65 % without control",
        why_not="the testbed's disks take the same time for requests of each size",
    ),
    Experiment(
        replay="sioc-nfs-idle-vm",
        detail="settled after its return",
        study="back in less than a minute (one VM of four; here all workloads of one host)",
        part="two-hosts",
        row="2 hosts: one was idle, settled after",
    ),
    Experiment(
        replay="sioc-nfs-day",
        study="83 % of the peak throughout, down to 71 % without control",
        why_not=_NO_APPLICATION,
    ),
    Experiment(
        replay="sioc-ssd-shares",
        study="6,000 of 20,000 IOPS, beside seven of 2,000: 3.0",
        part="shares",
        row="shares 3:1 x 7 from a stock host",
    ),
    Experiment(
        replay="sioc-ssd-limit",
        study="within 1 %",
        part="limit",
        row="limit 500, reads, workers: 1",
    ),
    Experiment(
        replay="sioc-ssd-reservation",
        study="all reservations met (30 % of the capacity; here 40 %)",
        part="reservation",
        row="reservation 800 of 2000, neighbours change, intervals that keep it",
    ),
    Experiment(
        replay="sioc-ssd-tiers",
        detail="off 4:2:1 by",
        study="4:2:1 (8 + 8 workloads without a reservation that bites; here 12 + 4)",
        part="two-hosts",
        row="2 hosts, 12 + 4 workloads, tiers 4:2:1 with reservations: off 4:2:1 by",
    ),
    Experiment(
        replay="sioc-ssd-forty-minutes",
        study="low tier at its limit of 1,000, medium one gives way to the high one",
        why_not="a schedule of 40 minutes with limits, tiers and requests of several sizes at "
        "once; limits, and who comes and goes, are measured one by one",
    ),
    Experiment(
        replay="sioc-ssd-uneven-hosts",
        detail="same class apart by",
        study='gaps within a class are "very small"',
        part="two-hosts",
        row="2 hosts, 12 + 4 workloads, tiers 4:2:1 with reservations: same class apart by",
    ),
    Experiment(
        replay="netioc-reservations",
        detail="step a, off ideal by",
        study="8.1 / 0.6 / 0.6 of 9.4 Gbit/s, ideal 8.13 / 0.63 / 0.63",
        part="study",
        row="NetIOC study, step a",
    ),
    Experiment(
        replay="netioc-reservations",
        detail="step b, off ideal by",
        study="8.4 / 0.9 of 9.4 Gbit/s, ideal 8.45 / 0.95; DRS moved a VM, which we do not",
        part="study",
        row="NetIOC study, step b",
    ),
    Experiment(
        replay="netioc-reservations",
        detail="step c, off ideal by",
        study="5.4 / 3.9 of 9.4 Gbit/s, ideal 5.45 / 3.95; DRS moved a VM, which we do not",
        part="study",
        row="NetIOC study, step c",
    ),
    Experiment(
        replay="netioc-traffic-classes",
        detail="below reservation",
        study="no VM below 500 of its 400 Mbit/s",
        part="kinds",
        row="12 workloads beside NFS and migration, below reservation",
    ),
    Experiment(
        replay="netioc-web-server",
        detail="beside unloaded",
        study="at most 15 % longer (a request of Olio; here a page of a small web server)",
        part="web-pair",
        row="NetIOC study, experiment 2",
    ),
    *(
        Experiment(
            replay="netioc-scheduler-cost",
            detail=f"workloads: {count}",
            study=f"{study} (of the whole host's CPU; here of a packet's own)",
            part="classify",
            row=f"CPU of a packet of a workload, {count} workloads, HTB beside pfifo",
        )
        for count, study in (
            (1, "4 to 5 % more CPU with fewer than 25 VMs"),
            (25, "4 to 5 % more CPU with fewer than 25 VMs"),
            (200, "12 % more CPU with 100 VMs; 4 to 5 us more latency, which no row measures"),
        )
    ),
    Experiment(
        replay="netioc-best-practices",
        study="reservations that do not fit are kept in proportion",
        why_not="reservations that do not fit are refused, by the service and by the agent",
    ),
    *(
        Experiment(
            replay="vdisk-limits-esx-5.5",
            detail=f"workers: {count}",
            study=study,
            part="limit",
            row=f"limit 500, reads, workers: {count}",
        )
        for count, study in (
            (1, "2,000 IOPS at a limit of 400"),
            (2, '"really slow", without a number'),
            (4, '"really slow", without a number'),
        )
    ),
    Experiment(
        replay="vdisk-limits-esx-5.0",
        detail="two disks, one limit",
        study="330 to 400 of 400 IOPS of both together",
        part="counted-limit",
        row="limit 500 over two disks that want all, their sum",
    ),
    Experiment(
        replay="vmfs-hosts-per-lun",
        study="a rule of thumb by queue depths",
        why_not="it is arithmetic on queue depths, and nothing of it is enforced",
    ),
)


def study_rows(measured: Sequence[Row]) -> list[Row]:
    """One row per experiment, in their order, out of the rows of the same run.

    Where a row was measured on several kernels, the first one counts.
    """
    return [replace(_row(one, measured), part=PART) for one in EXPERIMENTS]


def _row(experiment: Experiment, measured: Sequence[Row]) -> Row:
    study = f"study: {experiment.study}"
    if experiment.why_not:
        why = f"{study}; {experiment.why_not}; in simulation: sluice replay {experiment.replay}"
        return not_measured(experiment.what, "", "", why)
    found = next((row for row in measured if row.what.startswith(experiment.row)), None)
    if found is None:
        why = f"{study}; this run has no row of the part {experiment.part}"
        return not_measured(experiment.what, "", "", why)
    note = "; ".join(text for text in (study, f"row: {found.what}", found.note) if text)
    return replace(found, what=experiment.what, note=note)
