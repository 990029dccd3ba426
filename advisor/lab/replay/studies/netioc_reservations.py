"""Seed 002, steps a to c: three VMs get network reservations one after the other, and move."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from statistics import fmean

from advisor.core.admission import UPLINK_RESERVABLE_RATIO, reservable_in_pool
from advisor.core.placement.host_inputs import HostPlacementAdvice
from advisor.core.placement.host_placement import HostPlacementAnswer
from advisor.lab.replay.experiment import Experiment, Replay
from advisor.lab.replay.figure import Figure, over_time
from advisor.lab.replay.finding import (
    LIMIT,
    NONE,
    TENTH,
    Finding,
    Relation,
    calibrated,
    compare,
    not_modelled,
)
from advisor.lab.replay.studies.netioc_steps import (
    BUCKET_S,
    GIGA,
    HOSTS,
    LINE_BITS_PER_S,
    PREMISES,
    PRINTED,
    PRINTED_PLACES,
    RESERVED,
    STEP_S,
    VMS,
    Step,
    after,
    answer_to,
    send,
)
from advisor.lab.simulation.cluster import BEGAN_AT

NAME = "002-reservations"
TITLE = "NetIOC: reservations, admission and migration"


def play() -> Replay:
    """Each step is admitted, moved by the product's own placement, and sent."""
    together = dict.fromkeys(VMS, "host 1")
    fault_b = answer_to(RESERVED["b"], together)
    places_b = after(together, fault_b)
    fault_c = answer_to(RESERVED["c"], places_b)
    places_c = after(places_b, fault_c)
    steps = [
        Step(label="no reservations", reserved=RESERVED[""], places=together, printed=PRINTED[""]),
        Step(label="a: VM 1 7.5", reserved=RESERVED["a"], places=together, printed=PRINTED["a"]),
        Step(label="b: VM 2 4.5, fault", reserved=RESERVED["b"], places=together),
        Step(label="b: VM 2 moved", reserved=RESERVED["b"], places=places_b, printed=PRINTED["b"]),
        Step(label="c: VM 3 3.0, fault", reserved=RESERVED["c"], places=places_b),
        Step(label="c: VM 3 moved", reserved=RESERVED["c"], places=places_c, printed=PRINTED["c"]),
    ]
    sent = [send(step) for step in steps]
    means = [{vm: fmean(rates[vm]) for vm in VMS} for rates in sent]
    return Replay(
        experiment=NAME,
        title=TITLE,
        premises=PREMISES,
        findings=(
            *_rates(means),
            *_admission(),
            *_hosts("b", places_b),
            *_hosts("c", places_c),
            _time_to_move([fault_b, fault_c]),
            _limited(),
            _dip(),
        ),
        figures=(_figure(steps, sent),),
    )


EXPERIMENT = Experiment(name=NAME, title=TITLE, play=play)


def _rates(means: list[dict[str, float]]) -> list[Finding]:
    start, first, _, second, _, third = means
    printed = [
        ("before any reservation", start, PRINTED[""]),
        ("step a", first, PRINTED["a"]),
        ("step b", second, PRINTED["b"]),
        ("step c", third, PRINTED["c"]),
    ]
    notes = {
        ("step b", "VM 3"): "; the study prints VM 2 for the VM that stayed, which is VM 3",
    }
    rows = [
        compare(
            f"bandwidth of {vm}, {when}",
            "Gbit/s",
            seed_value=numbers[vm],
            value=mean[vm],
            tolerance=TENTH,
            why="reservation and an equal part of what is left; the study cuts after one decimal"
            + notes.get((when, vm), ""),
        )
        for when, mean, numbers in printed
        for vm in VMS
    ]
    return [
        compare(
            "bandwidth of all VMs on one host",
            "Gbit/s",
            seed_value=9.4,
            value=sum(start.values()),
            tolerance=TENTH,
            why="headers of TCP, IP and Ethernet take the rest",
        ),
        *rows,
        compare(
            "bandwidth left beside the reservation, step a",
            "Gbit/s",
            seed_value=1.9,
            value=sum(first.values()) - 7.5,
            tolerance=TENTH,
            why="9.4 - 7.5",
        ),
    ]


def _admission() -> list[Finding]:
    """What the pool admits, and what is left of it for VM 3."""
    pool = reservable_in_pool([LINE_BITS_PER_S] * len(HOSTS))
    return [
        compare(
            "what may be reserved in the pool",
            "Gbit/s",
            seed_value=15.0,
            value=pool / GIGA,
            tolerance=NONE,
            why="75 % of two uplinks of 10 Gbit/s",
        ),
        calibrated(
            "what may be reserved of an uplink",
            "%",
            seed_value=75.0,
            value=100 * UPLINK_RESERVABLE_RATIO,
            why="the product took its admission rule from this number",
        ),
        compare(
            "left to reserve in the pool before step c",
            "Gbit/s",
            seed_value=3.0,
            value=(pool - sum(RESERVED["b"].values())) / GIGA,
            tolerance=NONE,
            why='"the remaining 3 Gbps of available VM reservation": 15 - 7.5 - 4.5',
        ),
    ]


def _hosts(step: str, places: Mapping[str, str]) -> list[Finding]:
    """Where every VM is after a step."""
    return [
        compare(
            f"number of the host of {vm} after step {step}",
            "host",
            seed_value=float(HOSTS.index(printed) + 1),
            value=float(HOSTS.index(places[vm]) + 1),
            tolerance=NONE,
            why="the product's placement moves what violates the 75 % of a host",
        )
        for vm, printed in PRINTED_PLACES[step].items()
    ]


def _time_to_move(answers: Sequence[HostPlacementAnswer]) -> Finding:
    due = [
        move.due_at - BEGAN_AT
        for answer in answers
        if isinstance(answer, HostPlacementAdvice)
        for move in answer.moves
        if move.due_at is not None
    ]
    return calibrated(
        "time from the fault to the migration",
        "s",
        seed_value=300.0,
        value=max(due, default=timedelta.max).total_seconds(),
        relation=Relation.AT_MOST,
        why='the product took the due time of an advised move from "within five minutes of '
        'the fault"; the move itself is not simulated',
    )


def _limited() -> Finding:
    """VM 1 alone on its uplink, with a limit as large as its reservation."""
    alone = Step(label="", reserved={"VM 1": 7.5 * GIGA}, places={"VM 1": "host 1"})
    sent = send(alone, limits={"VM 1": 7.5 * GIGA})
    return compare(
        "bandwidth of VM 1 with a limit of 7.5, alone on its uplink, most of a bucket",
        "Gbit/s",
        seed_value=7.5,
        value=max(sent["VM 1"]),
        tolerance=LIMIT,
        relation=Relation.AT_MOST,
        why='"no more than 7.5 Gbps under any circumstances"',
    )


def _dip() -> Finding:
    return not_modelled(
        "dip of a VM while it migrates",
        "Gbit/s",
        seed_value=None,
        why='"a very small performance dip", printed only in figure 2; copying a running '
        "VM is not simulated",
    )


def _figure(steps: list[Step], sent: list[dict[str, tuple[float, ...]]]) -> Figure:
    count = len(steps) * round(STEP_S / BUCKET_S)
    return over_time(
        "figure 2",
        "Bandwidth of the VMs as they are given reservations",
        "Gbit/s",
        times_s=[BUCKET_S * (index + 1) for index in range(count)],
        series={vm: [rate for rates in sent for rate in rates[vm]] for vm in VMS},
        printed={
            vm: [
                None if step.printed is None else step.printed[vm]
                for step in steps
                for _ in range(count // len(steps))
            ]
            for vm in VMS
        },
        phases={STEP_S * index: step.label for index, step in enumerate(steps)},
    )
