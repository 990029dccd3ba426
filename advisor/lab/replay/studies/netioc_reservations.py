"""NetIOC, steps a to c: three VMs get network reservations one after the other, and move."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from statistics import fmean

from advisor.advice.host_placement.decide.host_inputs import HostPlacementAdvice
from advisor.advice.host_placement.decide.host_placement import HostPlacementAnswer
from advisor.core.admission import reservable_in_pool
from advisor.lab.replay.experiment import Outcome
from advisor.lab.replay.figure import Figure, over_time
from advisor.lab.replay.studies.netioc_steps import (
    BUCKET_S,
    GIGA,
    HOSTS,
    LINE_BITS_PER_S,
    RESERVED,
    STEP_S,
    VMS,
    WENT_IN,
    Step,
    after,
    answer_to,
    send,
)
from advisor.lab.replay.study import experiment
from advisor.lab.simulation.cluster import BEGAN_AT

EXPERIMENT = experiment("netioc-reservations")
BEFORE = dict.fromkeys(VMS, EXPERIMENT.number("rate_before"))
FIRST, SECOND, THIRD = (EXPERIMENT.numbers(f"rate_{step}") for step in "abc")
"""Gbit/s by step; for step b the study prints VM 2 twice, where the one that stayed is VM 3."""


def play() -> Outcome:
    """Each step is admitted, moved by the product's own placement, and sent."""
    together = dict.fromkeys(VMS, "host 1")
    fault_b = answer_to(RESERVED["b"], together)
    places_b = after(together, fault_b)
    fault_c = answer_to(RESERVED["c"], places_b)
    places_c = after(places_b, fault_c)
    steps = [
        Step(label="no reservations", reserved=RESERVED[""], places=together, printed=BEFORE),
        Step(label="a: VM 1 7.5", reserved=RESERVED["a"], places=together, printed=FIRST),
        Step(label="b: VM 2 4.5, fault", reserved=RESERVED["b"], places=together),
        Step(label="b: VM 2 moved", reserved=RESERVED["b"], places=places_b, printed=SECOND),
        Step(label="c: VM 3 3.0, fault", reserved=RESERVED["c"], places=places_b),
        Step(label="c: VM 3 moved", reserved=RESERVED["c"], places=places_c, printed=THIRD),
    ]
    sent = [send(step) for step in steps]
    start, first, _, second, _, third = ({vm: fmean(rates[vm]) for vm in VMS} for rates in sent)
    pool = reservable_in_pool([LINE_BITS_PER_S] * len(HOSTS))
    return Outcome(
        values=WENT_IN
        | {
            "together": sum(start.values()),
            "rate_before": start,
            "rate_a": first,
            "rate_b": second,
            "rate_c": third,
            "slip": dict.fromkeys(VMS, "")
            | {"VM 3": "; the study prints VM 2 for the VM that stayed, which is VM 3"},
            "left_a": sum(first.values()) - 7.5,
            "pool": pool / GIGA,
            "left_in_pool": (pool - sum(RESERVED["b"].values())) / GIGA,
            "host_b": _host_numbers(places_b),
            "host_c": _host_numbers(places_c),
            "due_s": _due_s([fault_b, fault_c]),
            "limited": _limited_gbit(),
        },
        figures=(_figure(steps, sent),),
    )


def _host_numbers(places: Mapping[str, str]) -> dict[str, float]:
    """Where every VM is, hosts counted from 1."""
    return {vm: float(HOSTS.index(places[vm]) + 1) for vm in VMS}


def _due_s(answers: Sequence[HostPlacementAnswer]) -> float:
    """The longest time from a fault to the move that is advised."""
    due = [
        move.due_at - BEGAN_AT
        for answer in answers
        if isinstance(answer, HostPlacementAdvice)
        for move in answer.moves
        if move.due_at is not None
    ]
    return max(due, default=timedelta.max).total_seconds()


def _limited_gbit() -> float:
    """Most of VM 1 alone on its uplink, with a limit as large as its reservation."""
    alone = Step(label="", reserved={"VM 1": 7.5 * GIGA}, places={"VM 1": "host 1"})
    return max(send(alone, limits={"VM 1": 7.5 * GIGA})["VM 1"])


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
