"""Canonical figures: the names, units and numbers under which history is kept.

History is keyed by these and not by a collector's fields, so that a year of it outlives a change
of collector. Numbers are stored: a figure keeps its number for ever, and none is used again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from ingest.core.catalogue import FieldKind
from ingest.core.figures import (
    CGROUP_IO,
    CLIENT,
    CONFLICT,
    DISK,
    HELD,
    INTERFACE,
    OWN_TIME,
    PRESSURE,
    TCP,
    FigureKind,
)


class How(StrEnum):
    """What is stored per window: what a counter grew by, or what a gauge showed at its end."""

    GROWTH = "growth"
    GAUGE = "gauge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One thing that is known of a subject in each window."""

    number: int
    name: str
    unit: str
    how: How

    @property
    def rate_unit(self) -> str:
        """The unit of its value over time: growth a second, a gauge as it is."""
        return self.unit if self.how is How.GAUGE else f"{self.unit}/s"


def _figures(kind: FigureKind, *named: tuple[int, str]) -> tuple[Figure, ...]:  # type: ignore[type-arg]
    """The number and name of each column of the kind, in their order; units as sent."""
    fields = {field.name: field for field in kind.measurement.fields}
    return tuple(
        Figure(
            number=number,
            name=name,
            unit=fields[column].unit,
            how=How.GROWTH if fields[column].kind is FieldKind.COUNTER else How.GAUGE,
        )
        for (number, name), column in zip(named, kind.columns, strict=True)
    )


RESOURCE = "resource"
COVERED = "covered"
"""The part of a window that readings cover; not stored where it is the whole window."""


def _covered(number: int) -> Figure:
    return Figure(number=number, name=COVERED, unit="µs", how=How.GROWTH)


FIGURES: Mapping[str, tuple[Figure, ...]] = {
    DISK.name: (
        *_figures(
            DISK,
            (1, "reads"),
            (2, "writes"),
            (3, "read_bytes"),
            (4, "write_bytes"),
            (5, "read_time"),
            (6, "write_time"),
            (7, "io_time"),
            (8, "weighted_io_time"),
            (9, "in_flight"),
        ),
        _covered(10),
    ),
    CGROUP_IO.name: (
        *_figures(
            CGROUP_IO, (20, "reads"), (21, "writes"), (22, "read_bytes"), (23, "write_bytes")
        ),
        _covered(24),
    ),
    PRESSURE.name: (*_figures(PRESSURE, (30, "some_total"), (31, "full_total")), _covered(32)),
    INTERFACE.name: (
        *_figures(
            INTERFACE,
            (40, "bytes_sent"),
            (41, "bytes_received"),
            (42, "packets_sent"),
            (43, "packets_received"),
            (44, "drops_in"),
            (45, "drops_out"),
            (46, "errors_in"),
            (47, "errors_out"),
        ),
        _covered(48),
    ),
    TCP.name: (*_figures(TCP, (50, "segments"), (51, "retransmits")), _covered(52)),
    CONFLICT.name: (*_figures(CONFLICT, (60, "commands"), (61, "conflicts")), _covered(62)),
    HELD.name: (*_figures(HELD, (80, "held")), _covered(81)),
    OWN_TIME.name: (
        *_figures(
            OWN_TIME,
            (90, "completed_reads"),
            (91, "completed_writes"),
            (92, "read_time"),
            (93, "write_time"),
        ),
        _covered(94),
    ),
    CLIENT.name: (
        *_figures(
            CLIENT,
            (100, "read_queue_time"),
            (101, "write_queue_time"),
            (102, "read_round_trip"),
            (103, "write_round_trip"),
        ),
        _covered(104),
    ),
    RESOURCE: (
        Figure(number=70, name="level", unit="ms or ratio", how=How.GAUGE),
        Figure(number=71, name="load", unit="of the resource", how=How.GAUGE),
    ),
}
"""By the name of a kind its figures: the columns of the kind, then the part covered.

A resource has none of its own, but what was found of it: the level that is compared with its
threshold, and its load. Only their quarters are kept.
"""


@cache
def figures_of(kind: FigureKind) -> tuple[Figure, ...]:  # type: ignore[type-arg]
    """Those of the columns of a kind, which may be a part, then the part covered."""
    *columns, covered = FIGURES[kind.name]
    by_column = dict(zip(kind.whole.columns, columns, strict=True))
    return (*(by_column[name] for name in kind.columns), covered)
