"""Advice on placement: what gathering its inputs costs, and the plan for all datastores."""

from __future__ import annotations

from functools import partial

from advisor.advice.placement.decide.disk_inputs import PlacementInputs
from advisor.models import Resource
from bench.fleet import product
from bench.fleet.cost import Cost, cost_of
from bench.fleet.rows import Row, at_most, below, not_measured
from bench.fleet.shape import END
from bench.fleet.slope import SLOPE_ASKED, log_log_slope
from bench.fleet.stage import Stage

ENOUGH_S = 60.0
"""No larger part of the fleet is tried once gathering takes as long as this."""
PLAN_S_ASKED = 5.0
SIZE_BYTES = 10e12


def placement_rows(stage: Stage) -> list[Row]:
    """Inputs of a growing part of the datastores, and the plan if all could be gathered."""
    gathered: dict[int, Cost] = {}
    plan: float | None = None
    for count in _parts(len(stage.stores)):
        _state_sizes(stage, count)
        inputs: list[PlacementInputs] = []
        cost = cost_of(partial(_gather, stage, inputs))
        if not inputs:
            break
        gathered[count] = cost
        stage.say(f"placement inputs of {count} datastores: {cost.cpu_s:.1f} s of CPU")
        if count == len(stage.stores):
            plan = cost_of(partial(product.plan_placement, inputs)).wall_s
        if gathered[count].wall_s > ENOUGH_S:
            break
    return [*_gather_rows(stage, gathered), _plan_row(stage, gathered, plan)]


def _gather(stage: Stage, into: list[PlacementInputs]) -> None:
    into += product.gather_placement(stage.stores[0], END)


def _parts(stores: int) -> list[int]:
    return sorted({count for count in (2, 4, 10) if count < stores} | {stores})


def _state_sizes(stage: Stage, count: int) -> None:
    """Only datastores of a known size take part."""
    known = Resource.objects.filter(pk__in=[one.pk for one in stage.stores[:count]])
    Resource.objects.filter(pk__in=[one.pk for one in stage.stores]).update(size_bytes=None)
    known.update(size_bytes=SIZE_BYTES, used_bytes=SIZE_BYTES / 2)
    for one in stage.stores:
        one.refresh_from_db()


def _gather_rows(stage: Stage, gathered: dict[int, Cost]) -> list[Row]:
    group = stage.shape.group
    note = ", ".join(
        f"{count * group}: {cost.cpu_s:.1f} s, {cost.queries} queries"
        for count, cost in gathered.items()
    )
    slope = log_log_slope({count: cost.cpu_s for count, cost in gathered.items()})
    what = "placement inputs, slope of CPU over workloads"
    return [at_most(what, "exponent", SLOPE_ASKED, slope, note)]


def _plan_row(stage: Stage, gathered: dict[int, Cost], plan_s: float | None) -> Row:
    what = f"placement plan of {len(stage.stores)} datastores and {stage.shape.workloads} disks"
    if plan_s is None:
        reached = max(gathered, default=0)
        why = f"inputs of {reached} datastores took longer than {ENOUGH_S:g} s"
        why = why if reached else "no inputs: placement is not called for"
        return not_measured(what, "s", f"< {PLAN_S_ASKED:g}", why)
    return below(what, "s", PLAN_S_ASKED, plan_s)
