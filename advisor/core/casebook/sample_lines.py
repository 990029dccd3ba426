"""Counters of a bundle as the lines that a collector would have sent.

A reading stands at each edge of the grid at which a known window ends or begins. After a gap the
counters start anew, as after a restart, so that nothing is said of the time between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from advisor.core.casebook.bundle import KNOWN_MS, LAST_GAUGE, CapturedSubject, Track, matrix_of
from advisor.core.chunk import Integers
from ingest.core.figures import (
    CGROUP_IO,
    CLIENT,
    DISK,
    FIGURE_KINDS,
    HELD,
    INTERFACE,
    OWN_TIME,
    PRESSURE,
    TCP,
)
from ingest.core.grid import Grid

Head = Callable[[CapturedSubject, Sequence[str]], list[tuple[str, list[str]]]]
"""The measurements with their tags, and the names of the fields of each, all in order."""

_START = 1 << 20
"""Counters begin far above those after each gap, so each gap is seen as a restart."""


def _by_name(measurement: str, tag: str) -> Head:
    def head(subject: CapturedSubject, columns: Sequence[str]) -> list[tuple[str, list[str]]]:
        return [(f"{measurement},host={subject.host},{tag}={subject.name}", list(columns))]

    return head


def _of_cgroup(file: str) -> Head:
    def head(subject: CapturedSubject, columns: Sequence[str]) -> list[tuple[str, list[str]]]:
        of_file = f"{file}.{subject.device}" if subject.device else file
        names = [f"{of_file}.{one.replace('_', '.')}" for one in columns]
        return [(f"cgroup,host={subject.host},path={subject.name}", names)]

    return head


def _blockstats(subject: CapturedSubject, _columns: Sequence[str]) -> list[tuple[str, list[str]]]:
    head = f"qemu_block,host={subject.host},workload={subject.name},disk={subject.device}"
    return [(head, ["rd_operations", "wr_operations", "rd_total_time_ns", "wr_total_time_ns"])]


def _mountstats(subject: CapturedSubject, _columns: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The times of reads and writes are said one after the other, in a line for each."""
    return [
        (f"nfsstat_{kind},host={subject.host},serverexport={subject.name}", [f"{kind}_{time}"])
        for time in ("queue_time", "rtt")
        for kind in ("read", "write")
    ]


_HEADS: dict[str, Head] = {
    DISK.name: _by_name("diskio", "name"),
    INTERFACE.name: _by_name("net", "interface"),
    TCP.name: _by_name("nstat", "name"),
    CGROUP_IO.name: _of_cgroup("io.stat"),
    PRESSURE.name: _of_cgroup("io.pressure"),
    HELD.name: _of_cgroup("io.stat"),
    OWN_TIME.name: _blockstats,
    CLIENT.name: _mountstats,
}
KINDS = tuple(kind for kind in FIGURE_KINDS if kind.name in _HEADS)
"""The kinds that a bundle has."""


def lines_of(track: Track, grid: Grid) -> Iterator[str]:
    """All readings of a track, in line protocol."""
    kind = next(one for one in KINDS if one.name == track.kind)
    known_ms = matrix_of(track, KNOWN_MS, grid.count)
    growth = [matrix_of(track, place, grid.count) for place in range(len(kind.counters))]
    gauges = [matrix_of(track, LAST_GAUGE - n, grid.count) for n in range(len(kind.gauges))]
    for place, subject in enumerate(track.subjects):
        heads = _HEADS[track.kind](subject, kind.columns)
        is_known = known_ms[:, place] > 0
        readings = [
            _readings(_whole(one[:, place], known_ms[:, place], grid), is_known) for one in growth
        ]
        readings += [np.concatenate([[0], np.maximum(one[:, place], 0)]) for one in gauges]
        edges = np.flatnonzero(
            np.concatenate([is_known, [False]]) | np.concatenate([[False], is_known])
        )
        for edge in edges.tolist():
            values = iter([own[edge] for own in readings])
            for head, names in heads:
                fields = ",".join(f"{name}={next(values)}i" for name in names)
                yield f"{head} {fields} {grid.edges_us[edge]}000"


def _whole(grown: Integers, known_ms: Integers, grid: Grid) -> Integers:
    """What a window that is known in part would have grown by at the same rate."""
    part = known_ms.clip(min=1) / (1000 * grid.window_s)
    found: Integers = np.rint(grown.clip(min=0) / part).astype(np.int64)
    return np.where(known_ms > 0, found, 0)


def _readings(grown: Integers, is_known: npt.NDArray[np.bool_]) -> Integers:
    """The counter at each edge, (windows + 1)."""
    total = np.concatenate([[0], np.cumsum(grown)])
    # Each time that windows are known again the counter begins lower than it ended.
    begins = np.flatnonzero(is_known & ~np.concatenate([[False], is_known[:-1]]))
    base = np.zeros(len(total), dtype=np.int64)
    for number, begin in enumerate(begins.tolist()):
        base[begin:] = (len(begins) - number) * _START - total[begin]
    found: Integers = total + base
    return found
