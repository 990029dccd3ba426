"""iostat as text: `iostat -xty 5 > file`, of sysstat 10, 11 and 12, with and without -x, -t, -h.

One point per report and device, of the measurement `iostat` with the tags `host` and `device`; the
fields are those of `iostat_columns`. Columns are read by the names above them, so that an unknown
column costs itself alone. The CPU lines and the totals of groups (-g) are left out.

The first report of a run is the mean since the machine started, unless it ran with -y; it says
nothing of its time and is left out.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo

from ingest.core.decoders.errors import FormatError, NeedsHostError, NeedsTimeError
from ingest.core.decoders.iostat_columns import COLUMNS, TOTALS, Column, read_value
from ingest.core.decoders.lines import lines
from ingest.core.decoders.local_time import DateOrder, LocalClock
from ingest.core.decoders.rejections import Rejections
from ingest.core.decoders.texts import is_storable
from ingest.core.point import FieldValue, Point

MEASUREMENT = "iostat"

_BANNER = re.compile(r"\S+ \S+ \((?P<host>\S+)\)\s+(?P<date>\S+)\s+_\S+_\s+\([0-9]+ CPU\)")
_DEVICE = frozenset({"Device", "Device:"})
_OTHER_HEADERS = ("avg-cpu:", "Filesystem")


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When reports without times were made: the first one of the file, and each `interval_s`."""

    first_at: datetime
    interval_s: float

    def time_ns(self, report: int) -> int:
        """The time of a report in nanoseconds since 1970; the first has the number 0."""
        first_us = round(self.first_at.timestamp() * 1_000_000)
        return (first_us + round(report * self.interval_s * 1_000_000)) * 1000


def decode_iostat(
    chunks: Iterable[bytes],
    rejections: Rejections,
    *,
    host: str | None = None,
    zone: tzinfo | None = None,
    date_order: DateOrder | None = None,
    schedule: Schedule | None = None,
    first_is_since_boot: bool = True,
) -> Iterator[Point]:
    """The points of a file of iostat; times are nanoseconds since 1970.

    `host` is used where the file has no banner, `zone` and `date_order` where its times (-t) do
    not say them, `schedule` where it has no times. Raises `NeedsHostError`, `NeedsZoneError`,
    `NeedsDateOrderError` or `NeedsTimeError` before the first point that needs the answer, and
    `FormatError` if nothing of the file is of iostat.
    """
    reader = _Reader(
        rejections,
        host=host,
        clock=LocalClock(zone=zone, date_order=date_order),
        schedule=schedule,
        first_is_since_boot=first_is_since_boot,
    )
    found = lines(chunks, rejections, last_is_whole=False)
    for line_number, line in enumerate(found, start=1):
        point = reader.read(line.decode("utf-8", "replace"), f"line {line_number}")
        if point is not None:
            yield point
    if reader.reports == 0:
        raise FormatError("the file has no table of devices as iostat writes it")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """The columns of a table in order, None for one that is left out; the device is an end."""

    columns: tuple[Column | None, ...]
    device_is_last: bool


class _Reader:
    """Where in the file we are."""

    def __init__(
        self,
        rejections: Rejections,
        *,
        host: str | None,
        clock: LocalClock,
        schedule: Schedule | None,
        first_is_since_boot: bool,
    ) -> None:
        self.reports = 0
        """Tables of devices so far, in the whole file."""
        self._rejections = rejections
        self._host = host
        self._clock = clock
        self._schedule = schedule
        self._first_is_since_boot = first_is_since_boot
        self._is_after_banner = False
        self._is_since_boot = False
        self._is_timed = False
        self._next_time_ns: int | None = None
        self._time_ns: int | None = None
        self._layout: _Layout | None = None
        self._device: str | None = None
        """A device whose name took a line of its own."""
        self._in_other_table = False

    def read(self, line: str, name: str) -> Point | None:
        """The point of a line, if it is a row of a device."""
        words = line.split()
        if not words:
            self._layout, self._device, self._in_other_table = None, None, False
        elif words[0] in _DEVICE or words[-1] in _DEVICE:
            self._begin_report(words)
        elif words[0] in _OTHER_HEADERS:
            self._layout, self._in_other_table = None, True
        elif self._layout is not None:
            return self._row(line, words, name, self._layout)
        elif not self._in_other_table:
            self._heading(line, name)
        return None

    def _heading(self, line: str, name: str) -> None:
        """A line between tables: the banner of a run, or the time of a report."""
        banner = _BANNER.fullmatch(line.strip())
        if banner:
            self._host = banner["host"]
            self._clock.learn_order(banner["date"])
            self._is_after_banner, self._is_timed, self._next_time_ns = True, False, None
            return
        time_ns = self._clock.read_ns(line)
        if time_ns is None:
            self._rejections.add(f"{name}: {line}", "the line is none of iostat")
        else:
            self._is_timed, self._next_time_ns = True, time_ns

    def _begin_report(self, words: list[str]) -> None:
        last = words[-1] in _DEVICE
        names = words[:-1] if last else words[1:]
        columns: list[Column | None] = []
        for name in names:
            columns.append(COLUMNS.get(name))
            if name not in COLUMNS and name not in TOTALS:
                self._rejections.add(name, "the column is not known")
        self._layout = _Layout(columns=tuple(columns), device_is_last=last)
        self.reports += 1
        self._is_since_boot = self._first_is_since_boot and self._is_after_banner
        self._is_after_banner = False
        # A time is of one report, so that a lost one is not taken for the one before.
        self._time_ns, self._next_time_ns = self._next_time_ns, None
        if self._is_since_boot:
            self._rejections.add(
                f"report {self.reports}", "the first report is the mean since the machine started"
            )
        elif self._is_timed and self._time_ns is None:
            self._rejections.add(f"report {self.reports}", "the report has no time")

    def _row(self, line: str, words: list[str], name: str, layout: _Layout) -> Point | None:
        device, cells, is_group = self._parted(line, words, layout)
        if device is None or is_group or self._is_since_boot:
            return None
        if self._is_timed and self._time_ns is None:
            return None
        if len(cells) != len(layout.columns) or not is_storable(device):
            self._rejections.add(f"{name}: {line}", "the row does not fit the columns above it")
            return None
        fields: dict[str, FieldValue] = {}
        for column, cell in zip(layout.columns, cells, strict=True):
            value = None if column is None else read_value(cell, column)
            if column is not None and value is not None:
                fields[column.field] = value
            elif column is not None:
                self._rejections.add(f"{name}: {cell}", "the cell is not a number")
        if not fields:
            return None
        return Point(
            measurement=MEASUREMENT,
            tags=(("device", device), ("host", self._known_host())),
            fields=fields,
            time=self._known_time_ns(),
        )

    def _parted(
        self, line: str, words: list[str], layout: _Layout
    ) -> tuple[str | None, list[str], bool]:
        """Device and cells of a row, and whether it is the total of a group (-g).

        The name of a total begins with a space. A long name of sysstat 10 takes its own line.
        """
        if layout.device_is_last:
            return words[-1], words[:-1], line.endswith(f"  {words[-1]}")
        if self._device is not None:
            device, self._device = self._device, None
            return device, words, False
        if len(words) == 1:
            self._device = words[0]
            return None, [], False
        return words[0], words[1:], line.startswith(" ")

    def _known_host(self) -> str:
        if self._host is None:
            raise NeedsHostError("the file does not name the host that it is of")
        return self._host

    def _known_time_ns(self) -> int:
        if self._time_ns is not None:
            return self._time_ns
        if self._schedule is None:
            raise NeedsTimeError(
                "the reports have no times: say when the first was made, and each how many seconds"
            )
        return self._schedule.time_ns(self.reports - 1)
