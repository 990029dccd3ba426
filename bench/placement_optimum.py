"""The best plan of a small cluster, proved by a mixed-integer program (SciPy's HiGHS).

Cost of a plan: the latency that all I/Os of the horizon suffer where everything lies in the end,
plus the latency that the copies add, told by the loads before the first of them, in I/Os times
milliseconds:

    horizon · Σ_j X_j · L_j + Σ_i copying time_ij · copy's outstanding I/O · Σ_ends X · slope

X_j · L_j is quadratic in "unit i leaves j" and "unit i comes to j". Each product of two of these
binaries is a variable of its own, bounded so that it is exact where both are 0 or 1.

Kept are the rules that plans differ by: as many moves as the planner may make, an exchange counted
as one; each begun at a datastore that is above its threshold just then; an exchange only where no
single move is allowed; what may not move or trade; room; rules; and that no datastore ends above
the threshold or, if it begins above it, slower. Left out is what the planner must keep besides:
that each move gains 5 % at its two ends and pays for its copying, room while both copies exist,
and uneven loads. So the optimum costs at most what the best plan of all rules does, and a gap to
it is at least the true one. Latency is that of the fitted line: a model's depends on the mix.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from advisor.advice.placement.decide.disk_inputs import PlacementInputs, VdiskState
from advisor.advice.placement.decide.disk_layout import Layout, after_moves, layout_of
from advisor.advice.placement.decide.disk_objections import may_move, may_trade
from advisor.advice.placement.decide.disk_rules import RuleBook, units
from advisor.advice.placement.decide.move_effect import copy_time_s, moved_outstanding
from advisor.advice.placement.decide.next_move import Place, next_moves
from advisor.advice.placement.decide.unit_columns import unit_columns

REL_GAP = 1e-6

EVERY = 1_000_000

Moved = frozenset[tuple[tuple[str, ...], str]]
"""Units, and where each of them went."""
Targets = Mapping[str, str]
"""Where each moved virtual disk goes."""
Terms = dict[int, float]
"""A linear form: factors by variable."""


def plan_cost(inputs: PlacementInputs, targets: Targets) -> float:
    """Cost of moving these virtual disks."""
    before = layout_of(inputs)
    after = after_moves(before, targets)
    suffered = sum(load.iops * (load.latency_ms or 0.0) for load in after.loads.values())
    copies = sum(
        copy_cost(inputs, before, [before.vdisks[name]], target)
        for name, target in targets.items()
    )
    return suffered * inputs.horizon_s + copies


def copy_cost(
    inputs: PlacementInputs, layout: Layout, vdisks: Sequence[VdiskState], target: str
) -> float:
    """Latency that copying these virtual disks adds to the I/Os at both ends."""
    ends = (vdisks[0].datastore, target)
    slowed = 0.0
    for name in ends:
        load = layout.loads[name]
        slowed += load.iops * load.line.slope_ms if load.line else 0.0
    length_s = copy_time_s(vdisks, *(layout.datastores[name] for name in ends))
    return inputs.copy_outstanding_io * slowed * length_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """The best plan, its cost, and the cost below which there is none."""

    targets: Targets
    cost: float
    bound: float


@dataclass(slots=True)
class _Program:
    """Variables with their bounds and costs, and rows of constraints."""

    costs: list[float] = field(default_factory=list)
    most: list[float] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)
    rows: list[Terms] = field(default_factory=list)
    least_sums: list[float] = field(default_factory=list)
    most_sums: list[float] = field(default_factory=list)

    def variable(self, cost: float = 0.0, most: float = 1.0, *, whole: bool = False) -> int:
        self.costs.append(cost)
        self.most.append(most)
        self.whole.append(int(whole))
        return len(self.costs) - 1

    def row(self, terms: Terms, least: float = -np.inf, most: float = np.inf) -> None:
        self.rows.append(terms)
        self.least_sums.append(least)
        self.most_sums.append(most)

    def product(self, one: int, other: int, cost: float) -> None:
        """Add cost · one · other."""
        both = self.variable(cost)
        if cost > 0:
            self.row({one: 1, other: 1, both: -1}, most=1)
        else:
            self.row({both: 1, one: -1}, most=0)
            self.row({both: 1, other: -1}, most=0)

    def solve(self, limit_s: float) -> tuple[Any, float]:
        """HiGHS's result, and what one unit of its objective is in that of `costs`."""
        cells = [(row, at, v) for row, terms in enumerate(self.rows) for at, v in terms.items()]
        where = ([row for row, _, _ in cells], [at for _, at, _ in cells])
        table = coo_array(
            ([value for _, _, value in cells], where), shape=(len(self.rows), len(self.costs))
        )
        scale = max(map(abs, self.costs), default=1.0) or 1.0
        found = milp(
            np.array(self.costs) / scale,
            integrality=np.array(self.whole),
            bounds=Bounds(0, np.array(self.most)),
            constraints=LinearConstraint(table.tocsr(), self.least_sums, self.most_sums),
            options={"mip_rel_gap": REL_GAP, "time_limit": limit_s},
        )
        return found, scale


def optimum(inputs: PlacementInputs, *, limit_s: float = 60.0) -> Optimum:
    """The cheapest plan; within the limit the best that was found, and what none is below."""
    layout = layout_of(inputs)
    names = units(inputs.rules, layout.vdisks)
    items = [tuple(layout.vdisks[one] for one in unit) for unit in names]
    base = plan_cost(inputs, {})
    program = _Program()
    goes = _goes(inputs, layout, program, items)
    if not goes:
        return Optimum(targets={}, cost=base, bound=base)
    _cost_latency(inputs, layout, program, items, goes)
    _keep_room(inputs, layout, program, items, goes)
    exchanged = _count_moves(inputs, layout, program, items, goes)
    _exchange_only_where_stuck(inputs, layout, program, items, goes, exchanged=exchanged)
    _keep_rules(inputs, layout, program, items, goes)
    found, scale = program.solve(limit_s)
    if found.x is None:
        raise RuntimeError(found.message)
    targets = {
        one.vdisk: target
        for (item, target), at in goes.items()
        if found.x[at] > 0.5
        for one in items[item]
    }
    bound = base + scale * float(found.mip_dual_bound)
    return Optimum(targets=targets, cost=plan_cost(inputs, targets), bound=bound)


Items = Sequence[tuple[VdiskState, ...]]
Goes = Mapping[tuple[int, str], int]
"""The binary that says that an item goes to a datastore."""


def _goes(inputs: PlacementInputs, layout: Layout, program: _Program, items: Items) -> Goes:
    goes: dict[tuple[int, str], int] = {}
    for place, item in enumerate(items):
        source = item[0].datastore
        if may_move(inputs, item) is not None:
            continue
        own = {}
        for name, store in layout.datastores.items():
            if name == source or may_trade(layout.datastores[source], store) is not None:
                continue
            own[name] = program.variable(copy_cost(inputs, layout, item, name), whole=True)
            goes[place, name] = own[name]
        if own:
            program.row(dict.fromkeys(own.values(), 1.0), most=1)
    return goes


def _changes(
    layout: Layout, items: Items, goes: Goes, name: str
) -> list[tuple[dict[int, float], float, float]]:
    """Of each item that may leave or come to a datastore: when, and which IOPS and I/Os change.

    An item leaves when one of several binaries is 1.
    """
    found = []
    for place, item in enumerate(items):
        source = item[0].datastore
        iops = sum(one.iops for one in item)
        if source == name:
            when = {at: 1.0 for (one, _), at in goes.items() if one == place}
            if when:
                found.append((when, -iops, -sum(one.outstanding_io for one in item)))
        elif (place, name) in goes:
            ends = layout.datastores[source], layout.datastores[name]
            comes = sum(moved_outstanding(one, *ends) for one in item)
            found.append(({goes[place, name]: 1.0}, iops, comes))
    return found


def _cost_latency(
    inputs: PlacementInputs, layout: Layout, program: _Program, items: Items, goes: Goes
) -> None:
    """Horizon · X · L of each datastore, and that none gets too slow."""
    for name, load in layout.loads.items():
        if load.line is None or load.latency_ms is None:
            continue
        slope, limit = load.line.slope_ms, max(inputs.threshold_ms, load.latency_ms)
        changes = []
        grows: Terms = {}
        for when, iops, waiting in _changes(layout, items, goes, name):
            alone = (load.iops + iops) * (load.latency_ms + slope * waiting)
            cost = (alone - load.iops * load.latency_ms) * inputs.horizon_s
            (at,) = when if len(when) == 1 else (_either(program, when),)
            program.costs[at] += cost
            grows[at] = slope * waiting
            changes.append((at, iops, waiting))
        program.row(grows, most=limit - load.latency_ms)
        for (one, x, q), (other, y, p) in combinations(changes, 2):
            program.product(one, other, slope * (x * p + y * q) * inputs.horizon_s)


def _either(program: _Program, when: Iterable[int]) -> int:
    """A variable that is 1 when one of these is."""
    either = program.variable()
    program.row({either: -1.0} | dict.fromkeys(when, 1.0), least=0, most=0)
    return either


def _keep_room(
    inputs: PlacementInputs, layout: Layout, program: _Program, items: Items, goes: Goes
) -> None:
    for name, store in layout.datastores.items():
        grows: Terms = {}
        for (place, target), at in goes.items():
            size = sum(one.size_bytes for one in items[place]) / 1e9
            if target == name:
                grows[at] = size
            elif items[place][0].datastore == name:
                grows[at] = -size
        room = inputs.space_ratio * store.capacity_bytes - store.used_bytes
        program.row(grows, most=max(room, 0.0) / 1e9)


def _count_moves(
    inputs: PlacementInputs, layout: Layout, program: _Program, items: Items, goes: Goes
) -> list[int]:
    """As many moves and exchanges as may be made, each begun at a slow datastore."""
    slow = [
        name
        for name, load in layout.loads.items()
        if load.latency_ms is not None and load.latency_ms > inputs.threshold_ms
    ]
    flows: dict[tuple[str, str], Terms] = {}
    for (place, target), at in goes.items():
        flows.setdefault((items[place][0].datastore, target), {})[at] = 1.0
    exchanged = {
        (source, target): program.variable(most=inputs.most_moves, whole=True)
        for source in slow
        for target in layout.datastores
        if target != source
    }
    made: Terms = dict.fromkeys(exchanged.values(), 1.0)
    for (source, target), flow in flows.items():
        alone = program.variable(most=inputs.most_moves if source in slow else 0)
        made[alone] = 1.0
        pairs = [
            exchanged[pair] for pair in ((source, target), (target, source)) if pair in exchanged
        ]
        program.row(flow | dict.fromkeys(pairs, -1.0) | {alone: -1.0}, least=0, most=0)
    program.row(made, most=inputs.most_moves)
    for name in slow:
        returns = [at for (_, target), at in exchanged.items() if target == name]
        terms = _before_the_last(layout, program, items, goes, name)
        load = layout.loads[name]
        if load.line is not None and load.latency_ms is not None:
            # What leaves in return for something is bound by the other end.
            terms |= dict.fromkeys(returns, -load.line.slope_ms * load.outstanding_io)
            program.row(terms, most=load.latency_ms - inputs.threshold_ms)
    return list(exchanged.values())


def _before_the_last(
    layout: Layout, program: _Program, items: Items, goes: Goes, name: str
) -> Terms:
    """By how many milliseconds a datastore is faster when its last unit is about to leave."""
    line = layout.loads[name].line
    slope = line.slope_ms if line else 0.0
    terms: Terms = {}
    lasts: Terms = {}
    for place, item in enumerate(items):
        leaves = [at for (one, _), at in goes.items() if one == place]
        if item[0].datastore == name and leaves:
            waits = slope * sum(one.outstanding_io for one in item)
            last = program.variable(whole=True)
            lasts[last] = 1.0
            program.row({last: 1.0} | dict.fromkeys(leaves, -1.0), most=0)
            terms |= dict.fromkeys(leaves, waits) | {last: -waits}
        elif (place, name) in goes:
            ends = layout.datastores[item[0].datastore], layout.datastores[name]
            terms[goes[place, name]] = -slope * sum(moved_outstanding(one, *ends) for one in item)
    program.row(lasts, most=1)
    return terms


def _exchange_only_where_stuck(
    inputs: PlacementInputs,
    layout: Layout,
    program: _Program,
    items: Items,
    goes: Goes,
    *,
    exchanged: Sequence[int],
) -> None:
    """Exchanges follow single moves after which none is allowed and a datastore is slow yet."""
    place_of = {one.vdisk: place for place, item in enumerate(items) for one in item}
    stuck = _stuck(inputs, layout, [tuple(one.vdisk for one in item) for item in items])
    if frozenset() in stuck:
        return
    left: Terms = {}
    for moved in sorted(stuck, key=sorted):
        made = program.variable(whole=True)
        left[made] = -float(inputs.most_moves - len(moved))
        for names, target in moved:
            program.row({made: 1.0, goes[place_of[names[0]], target]: -1.0}, most=0)
    program.row(dict.fromkeys(exchanged, 1.0) | left, most=0)
    program.row(dict.fromkeys(left, 1.0), most=1)


def _stuck(
    inputs: PlacementInputs, layout: Layout, names: Sequence[tuple[str, ...]]
) -> set[Moved]:
    """Every set of single moves after which no more is allowed, with moves left to make."""
    begin = Place(
        inputs=inputs,
        rules=RuleBook(inputs.rules),
        layout=layout,
        units=unit_columns(inputs, layout, names),
    )
    places: dict[Moved, Place] = {frozenset(): begin}
    stuck: set[Moved] = set()
    for _ in range(inputs.most_moves):
        longer: dict[Moved, Place] = {}
        for moved, place in places.items():
            if not place.slow:
                continue
            options = next_moves(place, most=EVERY, may_exchange=False).options
            if not options:
                stuck.add(moved)
            for option in options if len(moved) + 1 < inputs.most_moves else ():
                unit, target, _ = option.names
                longer.setdefault(moved | {(unit, target)}, place.after(option.proposal.targets))
        places = longer
    return stuck


def _keep_rules(
    inputs: PlacementInputs, layout: Layout, program: _Program, items: Items, goes: Goes
) -> None:
    """Groups that are apart stay so; what is together is one item already."""
    place_of = {one.vdisk: place for place, item in enumerate(items) for one in item}
    for name in layout.datastores:
        for group in inputs.rules.vdisks_apart:
            there = [_lies(items, goes, place_of[one], name) for one in group if one in place_of]
            program.row(*_at_most_one(there))
        for workloads in inputs.rules.workloads_apart:
            present = []
            for workload in workloads:
                some = program.variable()
                for place, item in enumerate(items):
                    if any(one.workload == workload for one in item):
                        terms, fixed = _lies(items, goes, place, name)
                        program.row(terms | {some: -1.0}, most=-fixed)
                present.append(({some: 1.0}, 0.0))
            program.row(*_at_most_one(present))


def _lies(items: Items, goes: Goes, place: int, name: str) -> tuple[Terms, float]:
    """Whether an item lies on a datastore in the end: terms, and a constant."""
    if items[place][0].datastore == name:
        return {at: -1.0 for (one, _), at in goes.items() if one == place}, 1.0
    return {goes[place, name]: 1.0} if (place, name) in goes else {}, 0.0


def _at_most_one(those: Iterable[tuple[Terms, float]]) -> tuple[Terms, float, float]:
    terms: Terms = {}
    most = 1.0
    for one, fixed in those:
        for at, value in one.items():
            terms[at] = terms.get(at, 0.0) + value
        most -= fixed
    return terms, -np.inf, most
