"""Every single move of a layout, weighed at once.

A table has a row for each unit on a datastore above its threshold and a column for each datastore,
in the order of names. It holds what `move_effect` and `objection` say of each move, so that only
the few that are made or shown are computed as objects.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from advisor.advice.placement.decide.disk_answer import Objection
from advisor.advice.placement.decide.disk_inputs import PlacementInputs
from advisor.advice.placement.decide.disk_layout import Layout
from advisor.advice.placement.decide.disk_objections import Proposal
from advisor.advice.placement.decide.disk_rules import RuleBook
from advisor.advice.placement.decide.line_columns import Bools, LineColumns
from advisor.advice.placement.decide.unit_columns import (
    ALLOWED,
    KINDS,
    Codes,
    StoreColumns,
    UnitColumns,
    batches,
)
from advisor.core.dependence import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """A move, and its benefit less its cost; -inf where no effect is known."""

    net: float
    proposal: Proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleMoves:
    """The best allowed and the best refused moves, the best first, and how many met what."""

    allowed: tuple[Weighed, ...]
    refused: tuple[Weighed, ...]
    counts: Counter[Objection]


def single_moves(
    inputs: PlacementInputs,
    layout: Layout,
    rules: RuleBook,
    stores: StoreColumns,
    units: UnitColumns,
    *,
    most: int,
) -> SingleMoves:
    """All moves of these units to another datastore; of either kind the `most` best."""
    allowed, refused = _Best(most), _Best(most)
    counts = np.zeros(ALLOWED + 1, dtype=np.int64)
    for rows in batches(len(units.names), len(stores.names)):
        part = units.at(np.arange(rows.start, rows.stop))
        codes, net = _weighed(inputs, stores, part, _closed(layout, rules, stores, part))
        elsewhere = part.sources[:, None] != np.arange(len(stores.names))
        counts += np.bincount(codes[elsewhere], minlength=ALLOWED + 1)
        allowed.add(net, elsewhere & (codes == ALLOWED), rows.start)
        refused.add(net, elsewhere & (codes != ALLOWED), rows.start)
    found = {kind: int(count) for kind, count in zip(KINDS, counts, strict=False) if count}
    return SingleMoves(
        allowed=allowed.moves(stores, units),
        refused=refused.moves(stores, units),
        counts=Counter(found),
    )


class _Best:
    """The places of the largest numbers; of equal ones the first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: list[tuple[float, int, int]] = []

    def add(self, values: Floats, which: Bools, first_row: int) -> None:
        rows, columns = np.nonzero(which)
        lost = -values[rows, columns]
        if lost.size > self._most:
            near = lost <= np.partition(lost, self._most - 1)[self._most - 1]
            rows, columns, lost = rows[near], columns[near], lost[near]
        order = np.lexsort((columns, rows, lost))[: self._most]
        more = zip(
            lost[order].tolist(),
            (rows[order] + first_row).tolist(),
            columns[order].tolist(),
            strict=True,
        )
        self._found = sorted([*self._found, *more])[: self._most]

    def moves(self, stores: StoreColumns, units: UnitColumns) -> tuple[Weighed, ...]:
        return tuple(
            Weighed(
                net=-lost,
                proposal=Proposal(
                    source=stores.names[units.sources[row]],
                    target=stores.names[column],
                    moved=units.vdisks[row],
                ),
            )
            for lost, row, column in self._found
        )


def _closed(
    layout: Layout, rules: RuleBook, stores: StoreColumns, units: UnitColumns
) -> Bools | None:
    """Where a rule forbids each unit to go; None where no rule concerns any."""
    found = [rules.closed_to(layout, names) for names in units.names]
    if not any(found):
        return None
    return np.array([[name in closed for name in stores.names] for closed in found])


def _weighed(
    inputs: PlacementInputs, stores: StoreColumns, units: UnitColumns, closed: Bools | None
) -> tuple[Codes, Floats]:
    """For each move the code of the first objection, and benefit less cost."""
    with np.errstate(all="ignore"):
        table = _effects(inputs, stores, units)
    size = units.size_bytes[:, None]
    before = table.source_before_ms
    codes = np.select(
        [
            (units.kept != ALLOWED)[:, None] | np.zeros(table.net.shape, dtype=bool),
            stores.trade[units.sources] != ALLOWED,
            (size > stores.free_bytes) & (size > 0),
            np.zeros(table.net.shape, dtype=bool) if closed is None else closed,
            ~table.known,
            (table.target_after_ms >= before) | (table.source_after_ms > before),
            table.target_after_ms > inputs.threshold_ms,
            table.gain < 0,
            (table.gain < inputs.improvement_ratio) | (table.gain <= 0),
            table.benefit <= table.cost,
        ],
        [
            np.broadcast_to(units.kept[:, None], table.net.shape),
            stores.trade[units.sources],
            *(
                np.int8(KINDS.index(kind))
                for kind in (
                    Objection.SPACE,
                    Objection.RULE,
                    Objection.UNKNOWN_DEVICE,
                    Objection.WORSE,
                    Objection.TARGET_ABOVE_THRESHOLD,
                    Objection.WORSE,
                    Objection.TOO_LITTLE_GAIN,
                    Objection.COST_ABOVE_BENEFIT,
                )
            ),
        ],
        default=np.int8(ALLOWED),
    )
    return codes, np.where(table.known, table.net, -np.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Effects:
    """`MoveEffect` of every move; where a device is not known its numbers mean nothing."""

    known: Bools
    source_before_ms: Floats
    source_after_ms: Floats
    target_after_ms: Floats
    benefit: Floats
    cost: Floats
    net: Floats
    gain: Floats


def _effects(inputs: PlacementInputs, stores: StoreColumns, units: UnitColumns) -> _Effects:
    here, own = units.sources, units.traffic
    src_iops, out = stores.iops[here, None], own.iops[:, None]
    src_traffic = stores.traffic.at(here)
    old_line, new_line = stores.devices.at(here).lines_of_two(src_traffic, src_traffic.less(own))
    there_old, there_new = stores.devices.lines_of_two(
        stores.traffic, stores.traffic.plus(own.column())
    )
    src_before = _latency(old_line, stores.outstanding_io[here])[:, None]
    left = np.maximum(stores.outstanding_io[here] - units.outstanding_io, 0.0)
    src_after = _latency(new_line, left)[:, None]
    dst_before = _latency(there_old, stores.outstanding_io)
    dst_after = _latency(there_new, stores.outstanding_io + units.arriving_io)
    saved_per_s = (
        out * (src_before - dst_after)
        + np.maximum(src_iops - out, 0.0) * (src_before - src_after)
        + stores.iops * (dst_before - dst_after)
    )
    suffered_per_s = src_iops * src_before + stores.iops * dst_before
    rate = np.minimum(stores.copy_bytes_per_s[here, None], stores.copy_bytes_per_s)
    copy_s = units.size_bytes[:, None] / rate
    added_per_s = inputs.copy_outstanding_io * (
        src_iops * old_line.slope_ms[:, None] + stores.iops * there_old.slope_ms
    )
    benefit, cost = saved_per_s * inputs.horizon_s, added_per_s * copy_s
    gain = np.where(suffered_per_s > 0, saved_per_s / suffered_per_s, 0.0)
    finite = (src_before, src_after, dst_before, dst_after, copy_s, benefit, cost, gain)
    known = np.ones(benefit.shape, dtype=bool)
    for one in finite:
        known &= np.isfinite(one)
    return _Effects(
        known=known,
        source_before_ms=src_before,
        source_after_ms=src_after,
        target_after_ms=dst_after,
        benefit=benefit,
        cost=cost,
        net=benefit - cost,
        gain=gain,
    )


def _latency(line: LineColumns, outstanding_io: Floats) -> Floats:
    return line.intercept_ms + line.slope_ms * outstanding_io
