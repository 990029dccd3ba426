"""Turn a body of lines into rows of the sample tables and rejected lines with reasons."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ingest.core.catalogue import Measurement
from ingest.core.line_protocol import (
    FieldValue,
    LineError,
    Precision,
    excerpt,
    logical_lines,
    parse_common_line,
    parse_head,
    parse_line,
)
from ingest.core.source import SeriesKey, Source, UnknownMeasurementError, read_source
from ingest.core.stored_values import Value, stored_values

MOST_REASONS = 20
"""Reasons that are reported one by one; of more, bad lines are only counted."""

Rows = dict[tuple[int, int], tuple[Value, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the lines of a body must keep to. Times are nanoseconds since 1970.

    `only_host` is the one host that may send through this token; None means any. `too_early` and
    `too_late` are the reasons of lines outside the times that are kept.
    """

    precision: Precision
    now_ns: int
    earliest_ns: int
    latest_ns: int
    too_early: str
    too_late: str
    only_host: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """The first line that was refused for a reason, and how many lines were."""

    line_number: int
    line: str
    reason: str
    line_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a body holds. `rows` maps (place in `series`, time in µs) to the columns of a row.

    Lines of one series and time are one row: their fields are united and the later line wins.
    `ignored_lines` are good lines without any field that is stored; `unknown_lines` are those of
    the refused lines whose measurement is not stored.
    """

    series: list[SeriesKey]
    rows: Mapping[Measurement, Rows]
    accepted_lines: int
    ignored_lines: int
    rejected_lines: int
    unknown_lines: int
    rejections: list[Rejection]


def read_batch(body: bytes, rules: Rules) -> Batch:
    """Sort the lines of a body into rows and refusals; never raises for a bad line."""
    reader = _Reader(rules)
    refused = _Refused()
    for line_number, line in logical_lines(body):
        try:
            reader.read(line)
        except LineError as error:
            refused.add(line_number, line, error)
    return Batch(
        series=list(reader.places),
        rows=reader.rows,
        accepted_lines=reader.accepted_lines,
        ignored_lines=reader.ignored_lines,
        rejected_lines=refused.lines,
        unknown_lines=refused.unknown_lines,
        rejections=refused.rejections(),
    )


class _Reader:
    """Collects the rows of one body."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._unit_ns = rules.precision.nanoseconds
        self._sources: dict[object, Source] = {}
        self.places: dict[SeriesKey, int] = {}
        self.rows: dict[Measurement, Rows] = {}
        self.accepted_lines = 0
        self.ignored_lines = 0

    def read(self, line: str) -> None:
        """Take one line; raises `LineError` if it must be refused."""
        source, fields, time = self._parse(line)
        found = list(stored_values(source.measurement, fields))
        if not found:
            self.ignored_lines += 1
            return
        if source.error:
            raise LineError(source.error)
        time_us = self._time_us(time)
        for measurement, device, values in found:
            self._add(measurement, self._place(source, measurement, device), time_us, values)
        self.accepted_lines += 1

    def _parse(self, line: str) -> tuple[Source, Mapping[str, FieldValue], int | None]:
        common = parse_common_line(line)
        if common:
            head, fields, time = common
            source = self._sources.get(head) or self._source(head, *parse_head(head))
            return source, fields, time
        point = parse_line(line)
        key = (point.measurement, point.tags)
        source = self._sources.get(key) or self._source(key, *key)
        return source, point.fields, point.time

    def _source(self, key: object, measurement: str, tags: tuple[tuple[str, str], ...]) -> Source:
        source = read_source(measurement, tags, only_host=self._rules.only_host)
        self._sources[key] = source
        return source

    def _time_us(self, time: int | None) -> int:
        """Microseconds, which is what the database keeps; finer parts of a time are cut off."""
        if time is None:
            time_ns = self._rules.now_ns // self._unit_ns * self._unit_ns
        else:
            time_ns = time * self._unit_ns
        if time_ns < self._rules.earliest_ns:
            raise LineError(self._rules.too_early)
        if time_ns > self._rules.latest_ns:
            raise LineError(self._rules.too_late)
        return time_ns // 1000

    def _place(self, source: Source, measurement: Measurement, device: str) -> int:
        """The number of the series in this batch."""
        place = source.places.get((measurement.name, device))
        if place is None:
            key = source.series_key(measurement, device)
            place = self.places.setdefault(key, len(self.places))
            source.places[measurement.name, device] = place
        return place

    def _add(
        self, measurement: Measurement, place: int, time_us: int, values: tuple[Value, ...]
    ) -> None:
        rows = self.rows.setdefault(measurement, {})
        earlier = rows.get((place, time_us))
        if earlier:
            values = tuple(
                old if new is None else new for old, new in zip(earlier, values, strict=True)
            )
        rows[place, time_us] = values


class _Refused:
    """Counts refused lines by reason, and keeps few of them however many there are."""

    def __init__(self) -> None:
        self.lines = 0
        self.unknown_lines = 0
        self._by_reason: dict[str, Rejection] = {}

    def add(self, line_number: int, line: str, error: LineError) -> None:
        self.lines += 1
        self.unknown_lines += isinstance(error, UnknownMeasurementError)
        reason = str(error)
        if reason not in self._by_reason and len(self._by_reason) >= MOST_REASONS:
            reason = f"further lines, for other reasons than the first {MOST_REASONS}"
        known = self._by_reason.get(reason)
        self._by_reason[reason] = (
            replace(known, line_count=known.line_count + 1)
            if known
            else Rejection(
                line_number=line_number, line=excerpt(line), reason=reason, line_count=1
            )
        )

    def rejections(self) -> list[Rejection]:
        return list(self._by_reason.values())
