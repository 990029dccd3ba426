"""What counters grew by on a grid of windows: sealed hours from chunks, open ones from samples.

Windows are made of those of 10 s that are stored, whichever way they are read, so figures do not
change when an hour is sealed. Subjects cost no statement of their own. The rates of allocations
and devices are made of what was read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np

from advisor.core.stored_hour import WINDOW_S
from advisor.history.inventory import (
    RateSubjects,
    cgroup_device_numbers,
    device_subject,
    rate_subjects,
)
from advisor.history.stored.read import SealedHours, Wanted, WindowSums
from advisor.models import Allocation, Attachment, Resource
from advisor.resource_kinds.reader import Devices
from ingest.core.figures import CGROUP_IO, INTERFACE, CgroupFigures, FigureKind, FiguresT
from ingest.core.grid import (
    EPOCH,
    NOT_SENT,
    Floats,
    Grid,
    GridGrowth,
    grid_of,
    microseconds,
    moment,
)
from ingest.grid_reader import (
    COARSE_WINDOW_S,
    OpenPart,
    SeriesOfSubjects,
    Subject,
    open_part,
)
from ingest.grid_reader import read_growths as read_samples

MOST_OPEN = timedelta(hours=6)
"""If more is not sealed, because sealing is behind, long windows are made of the last readings in
them: the readings of days are not fetched for a chart."""
LATE_WINDOWS = 8640
"""Late samples are read for so many windows of 10 s at a time: a day."""

_WINDOW_US = WINDOW_S * 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """What was read of subjects of several kinds, each subject once, on one grid."""

    grid: Grid
    places: Mapping[FigureKind[Any], Mapping[Subject, int]]
    growth: Mapping[FigureKind[Any], GridGrowth]

    def figures(self, kind: FigureKind[FiguresT], subjects: Sequence[Subject]) -> FiguresT:
        """Those of the subjects, which were all read, a column for each in the order given."""
        places = self.places[kind]
        return kind.figures(self.growth[kind].chosen([places[one] for one in subjects]))

    def over(self, grid: Grid) -> Measured | None:
        """The same in windows that are made of these; None if they are not, or reach beyond."""
        own = self.grid
        begin, rest = divmod(grid.since_us - own.since_us, own.window_us)
        is_made_of_them = not (
            rest or grid.window_us % own.window_us or own.window_us % _WINDOW_US
        )
        if not is_made_of_them or begin < 0 or grid.until_us > own.until_us:
            return None
        inside = self.part(begin, begin + grid.count * (grid.window_us // own.window_us))
        growth = {kind: _added_up(kind, found, grid) for kind, found in inside.growth.items()}
        return Measured(grid=grid, places=self.places, growth=growth)

    def part(self, begin: int, end: int) -> Measured:
        """The windows from place `begin` to before place `end`."""
        return Measured(
            grid=self.grid.part(begin, end),
            places=self.places,
            growth={kind: found.part(begin, end) for kind, found in self.growth.items()},
        )


def _added_up(kind: FigureKind[Any], found: GridGrowth, grid: Grid) -> GridGrowth:
    subjects = found.seconds.shape[1]
    sums = WindowSums(
        grid, counters=len(kind.counters), gauges=len(kind.gauges), subjects=subjects
    )
    sums.add_growth(found, range(subjects))
    return sums.growth()


def read_measured(
    wanted: Mapping[FigureKind[Any], Collection[Subject]],
    grid: Grid,
    *,
    known: SeriesOfSubjects | None = None,
) -> Measured:
    """What each subject did in each window; one that is wanted twice is read once.

    `known` are the series of just these subjects, none of which is wanted twice.
    """
    once = {kind: list(dict.fromkeys(subjects)) for kind, subjects in wanted.items()}
    return Measured(
        grid=grid,
        places={kind: {one: at for at, one in enumerate(own)} for kind, own in once.items()},
        growth=_read(once, grid, known),
    )


def _read(
    wanted: Wanted, grid: Grid, known: SeriesOfSubjects | None
) -> dict[FigureKind[Any], GridGrowth]:
    hosts = {subject.host for subjects in wanted.values() for subject in subjects}
    if not hosts or not grid.count:
        return read_samples(wanted, grid, known=known)
    part = open_part(hosts, since=grid.since, until=grid.until)
    rows = _rows_grid(grid, part)
    if not rows.count:
        known = {kind: [()] * len(subjects) for kind, subjects in wanted.items()}
    tail = read_samples(wanted, rows, known=known)
    if rows == grid:
        return tail
    if rows.window_us == grid.window_us:
        before = grid.part(0, grid.count - rows.count)
        head = _sealed(wanted, before, part, until_us=before.until_us)
        return {kind: _joined(grid, head.sums[kind].growth(), tail[kind]) for kind in wanted}
    found = _sealed(wanted, grid, part, until_us=rows.since_us)
    for kind, subjects in wanted.items():
        found.sums[kind].add_growth(tail[kind], range(len(subjects)))
    return {kind: sums.growth() for kind, sums in found.sums.items()}


def _rows_grid(grid: Grid, part: OpenPart) -> Grid:
    """What is read from samples at the end of the grid: windows of 10 s that add up to those of
    the grid, else windows of the grid.
    """
    whole_us = microseconds(part.whole_since)
    open_us = grid.until_us if part.since is None else microseconds(part.since)
    if grid.window_us % _WINDOW_US or grid.since_us % _WINDOW_US:
        # Samples say more of such windows than what is stored, as long as they are there.
        open_us = whole_us
    elif grid.window_s < COARSE_WINDOW_S or moment(grid.until_us - open_us) <= EPOCH + MOST_OPEN:
        begin_us = min(max(open_us, grid.since_us), grid.until_us)
        count = (grid.until_us - begin_us) // _WINDOW_US
        return Grid(since_us=begin_us, window_us=_WINDOW_US, count=count)
    first = max(
        (open_us - grid.since_us) // grid.window_us,
        -((grid.since_us - whole_us) // grid.window_us),
        0,
    )
    return grid.part(min(first, grid.count), grid.count)


def _sealed(wanted: Wanted, grid: Grid, part: OpenPart, *, until_us: int) -> SealedHours:
    """What is stored of the hours before `until_us`, and late samples of where nothing is."""
    late = _late_grid(grid, part, until_us)
    found = SealedHours(wanted, grid, until=moment(until_us), watched=late if late.count else None)
    for begin in range(0, late.count, LATE_WINDOWS):
        end = min(begin + LATE_WINDOWS, late.count)
        _add_late(found, wanted, part.late_hosts, late.part(begin, end), begin)
    return found


def _late_grid(grid: Grid, part: OpenPart, until_us: int) -> Grid:
    """Windows of 10 s that late samples may say something about."""
    if part.late_since is None or part.late_until is None:
        return grid_of(grid.since, grid.since, WINDOW_S)
    since = max(part.late_since, grid.since)
    return grid_of(since, max(min(part.late_until, moment(until_us)), since), WINDOW_S)


def _add_late(
    found: SealedHours, wanted: Wanted, hosts: Collection[int], late: Grid, begin: int
) -> None:
    """Add windows of late samples; one that is stored stays, its other samples may be gone.

    The grid begins at the place `begin` of the windows that are watched.
    """
    places = {
        kind: [place for place, one in enumerate(subjects) if one.host in hosts]
        for kind, subjects in wanted.items()
    }
    own = {kind: [wanted[kind][place] for place in places[kind]] for kind in wanted}
    for kind, growth in read_samples(own, late).items():
        known = found.known[kind][places[kind], begin : begin + late.count]
        found.sums[kind].add_growth(growth, places[kind], without=known)


def _joined(grid: Grid, head: GridGrowth, tail: GridGrowth) -> GridGrowth:
    """The windows of both, one after the other."""
    both = np.where(tail.gauges[:, :1] == NOT_SENT, head.gauges[:, -1:], tail.gauges[:, :1])
    return GridGrowth(
        grid=grid,
        growth=np.concatenate([head.growth, tail.growth], axis=1),
        seconds=np.concatenate([head.seconds, tail.seconds]),
        gauges=np.concatenate([head.gauges[:, :-1], both, tail.gauges[:, 1:]], axis=1),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AllocationRates:
    """What allocations got: `rate` in the unit of each and the `seconds` that it is known for.

    Both are (windows, allocations). `done` has a column for each of the allocations
    `on_cgroups`, which are places among all.
    """

    rate: Floats
    seconds: Floats
    on_cgroups: list[int]
    done: CgroupFigures


def read_rates(allocations: Sequence[Allocation], grid: Grid) -> AllocationRates:
    """The rates of these allocations alone, of any resources, in their order."""
    subjects = rate_subjects(allocations, cgroup_device_numbers(allocations))
    return rates_of(subjects, read_measured(subjects.wanted, grid))


def rates_of(subjects: RateSubjects, measured: Measured) -> AllocationRates:
    """The rates of allocations in what was read."""
    rate = np.full((measured.grid.count, subjects.count), np.nan)
    seconds = np.zeros(rate.shape)
    carried = measured.figures(INTERFACE, subjects.vnics)
    done = measured.figures(CGROUP_IO, subjects.cgroups)
    # What a workload sends is what its vNIC receives on the host's side.
    rate[:, subjects.on_vnics] = carried.received_bits_per_s
    # Reads and writes in sum.
    rate[:, subjects.on_cgroups] = np.where(subjects.in_iops, done.iops, done.bytes_per_s)
    seconds[:, subjects.on_vnics] = carried.seconds
    seconds[:, subjects.on_cgroups] = done.seconds
    return AllocationRates(rate=rate, seconds=seconds, on_cgroups=subjects.on_cgroups, done=done)


def devices_of(
    resource: Resource, attachments: Sequence[Attachment], measured: Measured
) -> Devices[Any]:
    """The devices of a resource in what was read, without TCP."""
    return Devices(
        hosts=tuple(attachment.host.name for attachment in attachments),
        names=tuple(attachment.device for attachment in attachments),
        figures=measured.figures(
            resource.traits.reader.figures, [device_subject(one) for one in attachments]
        ),
    )
