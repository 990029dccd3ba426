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

from advisor.core.resource import Unit
from advisor.core.stored_hour import WINDOW_S
from advisor.history.inventory import Inventory, cgroup_device_numbers
from advisor.history.layout import (
    Layout,
    Places,
    RatePlaces,
    columns_of,
    places_in,
    rate_places,
)
from advisor.history.stored.columns import Wanted
from advisor.history.stored.read import SealedHours, Span, read_sealed_spans
from advisor.history.subjects import RateSubjects, device_subject, rate_subjects
from advisor.models import Allocation, Attachment, Resource
from advisor.resource_kinds.reader import Devices
from ingest.core.figures import (
    CGROUP_BYTES,
    CGROUP_IO,
    CGROUP_IOPS,
    INTERFACE,
    RECEIVED_BITS,
    TCP,
    CgroupFigures,
    FigureKind,
    FiguresT,
    RateFigures,
    part_of,
)
from ingest.core.grid import (
    EPOCH,
    NOT_SENT,
    Floats,
    Grid,
    GridGrowth,
    Integers,
    grid_of,
    microseconds,
    moment,
)
from ingest.grid_reader import (
    COARSE_WINDOW_S,
    OpenPart,
    SeriesOfSubjects,
    Subject,
    SubjectSeries,
    open_part,
)
from ingest.grid_reader import read_growths as read_samples

MOST: Mapping[Unit, float] = {Unit.IOPS: 1e9, Unit.BYTES_PER_S: 1e13, Unit.BITS_PER_S: 1e14}
"""More than any device does: a counter that jumped so is wrong, and its window is not known."""
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
    places: Places
    growth: Mapping[FigureKind[Any], GridGrowth]

    def has(self, kind: FigureKind[Any]) -> bool:
        """Whether it was read, alone or with the whole that it is a part of."""
        return kind in self.growth or kind.whole in self.growth

    def figures(self, kind: FigureKind[FiguresT], subjects: Sequence[Subject]) -> FiguresT:
        """Those of the subjects, which were all read, a column for each in the order given."""
        return self.figures_at(kind, columns_of(kind, subjects, self.places))

    def figures_at(self, kind: FigureKind[FiguresT], columns: Integers) -> FiguresT:
        """Those of the subjects that were read in these columns, in the order given.

        Of a part of a kind as well where the whole was read.
        """
        read = self.growth.get(kind)
        grown = kind.grown(self.growth[kind.whole]) if read is None else read
        return kind.figures(grown.chosen(columns))

    def part(self, begin: int, end: int) -> Measured:
        """The windows from place `begin` to before place `end`."""
        return Measured(
            grid=self.grid.part(begin, end),
            places=self.places,
            growth={kind: found.part(begin, end) for kind, found in self.growth.items()},
        )

    def within(self, grid: Grid) -> Measured:
        """Those of the windows that are in a grid of windows of the same length."""
        begin = (grid.since_us - self.grid.since_us) // self.grid.window_us
        return self.part(begin, begin + grid.count)

    def of(self, kinds: Collection[FigureKind[Any]]) -> Measured:
        """What was read of these kinds, which may be parts of those."""
        return Measured(
            grid=self.grid,
            places={kind: self.places[kind.whole] for kind in kinds},
            growth={kind: kind.grown(self.growth[kind.whole]) for kind in kinds},
        )


def read_measured(
    wanted: Mapping[FigureKind[Any], Collection[Subject]],
    grid: Grid,
    *,
    known: SeriesOfSubjects | None = None,
    most_open: timedelta = MOST_OPEN,
) -> Measured:
    """What each subject did in each window; one that is wanted twice is read once.

    `known` are the series of just these subjects, none of which is wanted twice. If more than
    `most_open` is not sealed, long windows there are made of the last readings in them.
    """
    once = {kind: list(dict.fromkeys(subjects)) for kind, subjects in wanted.items()}
    hosts = {subject.host for subjects in once.values() for subject in subjects}
    growth = _read(once, grid, hosts=hosts, known=known, most_open=most_open)
    return Measured(grid=grid, places=places_in(once), growth=growth)


def measure(inventory: Inventory, grid: Grid) -> Measured:
    """The same of all that an inventory says is read."""
    growth = _read(inventory.subjects, grid, hosts=inventory.hosts, known=inventory.series)
    return Measured(grid=grid, places=inventory.places, growth=growth)


def read_spans(
    wanted: Mapping[FigureKind[Any], Collection[Subject]],
    spans: Sequence[Span],
    *,
    known: SeriesOfSubjects | None = None,
) -> list[Measured]:
    """What each subject did in the windows of several spans; what they share is read once.

    `wanted` and `known` are by whole kind, as in `read_measured`.
    """
    once = {kind: list(dict.fromkeys(subjects)) for kind, subjects in wanted.items()}
    hosts = {subject.host for subjects in once.values() for subject in subjects}
    since, until = min(one.grid.since for one in spans), max(one.grid.until for one in spans)
    part = open_part(hosts, since=since, until=until)
    rows = [_rows_grid(span.grid, part) for span in spans]
    if part.late_since is not None or any(one.window_us != _WINDOW_US for one in rows):
        # Late samples and odd windows are rare: each span is read by itself.
        whole = [read_measured(once, span.grid, known=known) for span in spans]
        return [found.of(span.kinds) for found, span in zip(whole, spans, strict=True)]
    sums = read_sealed_spans(once, spans, until=part.since or until)
    tail = _tail(once, [one for one in rows if one.count], known)
    for span, own, found in zip(spans, rows, sums, strict=True):
        for kind, grown in tail.within(own).of(span.kinds).growth.items() if own.count else ():
            found[kind].add_growth(grown, range(len(once[kind.whole])))
    return [
        Measured(
            grid=span.grid,
            places={kind: tail.places[kind.whole] for kind in span.kinds},
            growth={kind: one.growth() for kind, one in found.items()},
        )
        for span, found in zip(spans, sums, strict=True)
    ]


def _tail(wanted: Wanted, rows: Sequence[Grid], known: SeriesOfSubjects | None) -> Measured:
    """The windows of 10 s that are read from samples, from the first to the last of the grids."""
    begin_us = min((one.since_us for one in rows), default=0)
    end_us = max((one.until_us for one in rows), default=0)
    count = (end_us - begin_us) // _WINDOW_US
    grid = Grid(since_us=begin_us, window_us=_WINDOW_US, count=count)
    return Measured(
        grid=grid,
        places=places_in(wanted),
        growth=read_samples(wanted, grid, known=known) if rows else {},
    )


def _read(
    wanted: Wanted,
    grid: Grid,
    *,
    hosts: Collection[int],
    known: SeriesOfSubjects | None,
    most_open: timedelta = MOST_OPEN,
) -> dict[FigureKind[Any], GridGrowth]:
    if not hosts or not grid.count:
        return read_samples(wanted, grid, known=known)
    part = open_part(hosts, since=grid.since, until=grid.until)
    rows = _rows_grid(grid, part, most_open)
    if not rows.count:
        known = {
            kind: SubjectSeries(by_subject=[()] * len(subjects))
            for kind, subjects in wanted.items()
        }
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


def _rows_grid(grid: Grid, part: OpenPart, most_open: timedelta = MOST_OPEN) -> Grid:
    """What is read from samples at the end of the grid: windows of 10 s that add up to those of
    the grid, else windows of the grid.
    """
    whole_us = microseconds(part.whole_since)
    open_us = grid.until_us if part.since is None else microseconds(part.since)
    if grid.window_us % _WINDOW_US or grid.since_us % _WINDOW_US:
        # Samples say more of such windows than what is stored, as long as they are there.
        open_us = whole_us
    elif grid.window_s < COARSE_WINDOW_S or moment(grid.until_us - open_us) <= EPOCH + most_open:
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
    on_cgroups: Integers
    done: CgroupFigures


def read_rates(
    allocations: Sequence[Allocation], grid: Grid, *, most_open: timedelta = MOST_OPEN
) -> AllocationRates:
    """The rates of these allocations alone, of any resources, in their order."""
    subjects = rate_subjects(allocations, cgroup_device_numbers(allocations))
    return rates_of(subjects, read_measured(subjects.wanted, grid, most_open=most_open))


def read_fine_rates(subjects: RateSubjects, grid: Grid) -> tuple[Floats, Floats]:
    """Rates as `read_rates` gives them and the seconds that they are known for, nothing else.

    For windows that are too fine for sums: of a sealed hour these have a chunk for each figure.
    """
    pairs = list(zip(subjects.on_cgroups, subjects.cgroups, subjects.in_iops, strict=True))
    parts: dict[FigureKind[RateFigures], list[tuple[int, Subject]]] = {
        RECEIVED_BITS: list(zip(subjects.on_vnics, subjects.vnics, strict=True)),
        CGROUP_IOPS: [(place, one) for place, one, in_iops in pairs if in_iops],
        CGROUP_BYTES: [(place, one) for place, one, in_iops in pairs if not in_iops],
    }
    kinds = tuple(kind for kind, own in parts.items() if own)
    (measured,) = read_spans(subjects.wanted, [Span(grid=grid, kinds=kinds)])
    rate = np.full((grid.count, subjects.count), np.nan)
    seconds = np.zeros(rate.shape)
    for kind in kinds:
        places, own = zip(*parts[kind], strict=True)
        found = measured.figures(kind, own)
        rate[:, places], seconds[:, places] = found.rate, found.seconds
    return rate, seconds


def rates_of(subjects: RateSubjects, measured: Measured) -> AllocationRates:
    """The rates of allocations in what was read."""
    return rates_at(rate_places(subjects, measured.places), measured)


def rates_at(places: RatePlaces, measured: Measured) -> AllocationRates:
    """The same of allocations whose columns are known."""
    rate = np.full((measured.grid.count, places.count), np.nan)
    seconds = np.zeros(rate.shape)
    carried = measured.figures_at(INTERFACE, places.vnics)
    done = measured.figures_at(CGROUP_IO, places.cgroups)
    # What a workload sends is what its vNIC receives on the host's side.
    rate[:, places.on_vnics] = carried.received_bits_per_s
    # Reads and writes in sum.
    rate[:, places.on_cgroups] = np.where(places.in_iops, done.iops, done.bytes_per_s)
    seconds[:, places.on_vnics] = carried.seconds
    seconds[:, places.on_cgroups] = done.seconds
    most = np.full(places.count, MOST[Unit.BITS_PER_S])
    most[places.on_cgroups] = np.where(places.in_iops, MOST[Unit.IOPS], MOST[Unit.BYTES_PER_S])
    rate[rate > most] = np.nan
    return AllocationRates(rate=rate, seconds=seconds, on_cgroups=places.on_cgroups, done=done)


def rate_kinds(unit: Unit) -> tuple[FigureKind[Any], ...]:
    """What the rates of allocations on a resource of this unit are made of, and no more."""
    return RECEIVED_BITS, CGROUP_IOPS if unit is Unit.IOPS else CGROUP_BYTES


def rates_alone(subjects: RateSubjects, measured: Measured, unit: Unit) -> Floats:
    """The rates of allocations where only `rate_kinds` were read; (windows, allocations)."""
    # A line for each allocation, as what was read has them: copied the other way round it is slow.
    lines = np.full((subjects.count, measured.grid.count), np.nan)
    on_vnics, on_cgroups = rate_kinds(unit)
    lines[subjects.on_vnics] = measured.figures(on_vnics, subjects.vnics).rate.T
    lines[subjects.on_cgroups] = measured.figures(on_cgroups, subjects.cgroups).rate.T
    lines[lines > MOST[unit]] = np.nan
    return lines.T


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


def devices_by_resource(layout: Layout, measured: Measured) -> dict[int, Devices[Any]]:
    """The devices of all resources in what was read, by the key of each, with TCP where it is."""
    found: dict[int, Devices[Any]] = {}
    for group in layout.devices:
        every = measured.figures_at(group.figures, group.columns)
        tcp = None if group.tcp is None else measured.figures_at(TCP, group.tcp)
        for key, part in group.parts.items():
            found[key] = Devices(
                hosts=layout.hosts[key],
                names=layout.names[key],
                figures=part_of(every, part),
                tcp=None if tcp is None or part.start == part.stop else part_of(tcp, part),
            )
    return found
