"""Turn a body of lines into rows of the sample tables and rejected lines with reasons."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ingest.core.catalogue import Measurement
from ingest.core.lengths import shortened
from ingest.core.line_protocol import (
    Precision,
    excerpt,
    logical_lines,
    parse_common_line,
    parse_head,
    parse_line,
)
from ingest.core.mapping import Fact, Head, SeriesKey, Tags
from ingest.core.point import FieldValue, Point, PointError
from ingest.core.stored_values import HeadPlan, RowPlan, Value

MOST_REASONS = 20
"""Reasons that are reported one by one; of more, bad lines are only counted."""
_LONGEST_REASON = 500

Rows = dict[tuple[int, int], tuple[Value, ...]]
FindHead = Callable[[str, Tags], Head]
"""From a measurement and its tags to what a source makes of them; raises `PointError`."""


class UnknownMeasurementError(PointError):
    """No source knows points like this one; `host` is what their tag says, if anything."""

    def __init__(self, measurement: str, host: str) -> None:
        self.measurement, self.host = measurement, host
        shown = measurement if len(measurement) <= 64 else measurement[:61] + "..."
        super().__init__(f'unknown measurement "{shown}": nothing of it is stored')


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
    """The first line that was refused for a reason, and how many lines were.

    `measurement` is the one that no source knows, if that is the reason.
    """

    line_number: int
    line: str
    reason: str
    line_count: int
    measurement: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a body holds. `rows` maps (place in `series`, time in µs) to the columns of a row.

    Lines of one series and time are one row: their fields are united and the later line wins.
    `ignored_lines` are good lines without any field that is stored; `unknown_lines` are those of
    the refused lines whose measurement no source knows, and `unknown` counts them by host and
    measurement, for the first few of these.
    """

    series: list[SeriesKey]
    rows: Mapping[Measurement, Rows]
    facts: Sequence[Fact]
    accepted_lines: int
    ignored_lines: int
    rejected_lines: int
    unknown_lines: int
    unknown: Mapping[tuple[str, str], int]
    rejections: list[Rejection]
    is_of_file: bool = False


def read_batch(body: bytes, rules: Rules, find_head: FindHead) -> Batch:
    """Sort the lines of a body into rows and refusals; never raises for a bad line."""
    return read_lines(
        ((number, line, 1) for number, line in logical_lines(body)), rules, find_head
    )


def read_lines(lines: Iterable[tuple[int, str, int]], rules: Rules, find_head: FindHead) -> Batch:
    """The same of lines with their numbers; a refused one may stand for several like it."""
    reader = _Reader(rules, find_head)
    for line_number, line, count in lines:
        try:
            common = parse_common_line(line)
            if common is None:
                reader.take(parse_line(line))
            else:
                reader.take_common(*common)
        except PointError as error:
            reader.refused.add(line_number, line, error, count=count)
    return reader.batch()


def batch_of_points(points: Iterable[Point], rules: Rules, find_head: FindHead) -> Batch:
    """The same of points; a refused one is named by its number and its measurement."""
    reader = _Reader(rules, find_head)
    for number, point in enumerate(points, start=1):
        try:
            reader.take(point)
        except PointError as error:
            reader.refused.add(number, point.measurement, error)
    return reader.batch()


class _Reader:
    """Collects the rows of one body."""

    def __init__(self, rules: Rules, find_head: FindHead) -> None:
        self._rules = rules
        self._find_head = find_head
        self._unit_ns = rules.precision.nanoseconds
        self._heads: dict[object, HeadPlan | PointError] = {}
        self._rows: dict[Measurement, Rows] = {}
        self._facts: dict[Fact, None] = {}
        self._places: dict[SeriesKey, int] = {}
        self._accepted = 0
        self._ignored = 0
        self.refused = _Refused()

    def batch(self) -> Batch:
        """What was collected."""
        return Batch(
            series=list(self._places),
            rows=self._rows,
            facts=list(self._facts),
            accepted_lines=self._accepted,
            ignored_lines=self._ignored,
            rejected_lines=self.refused.lines,
            unknown_lines=self.refused.unknown_lines,
            unknown=self.refused.unknown,
            rejections=self.refused.rejections(),
        )

    def take_common(self, head: str, fields: Mapping[str, FieldValue], time: int | None) -> None:
        """Take one line by the text of its head; raises `PointError` if it must be refused."""
        plan = self._heads.get(head)
        if plan is None:
            plan = self._heads[head] = self._plan(*parse_head(head))
        self._keep(plan, fields, time)

    def take(self, point: Point) -> None:
        """Take one point; raises `PointError` if it must be refused."""
        key = (point.measurement, point.tags)
        plan = self._heads.get(key)
        if plan is None:
            plan = self._heads[key] = self._plan(*key)
        self._keep(plan, point.fields, point.time)

    def _plan(self, measurement: str, tags: tuple[tuple[str, str], ...]) -> HeadPlan | PointError:
        """The plan of a head, or why its points are refused, which is the same for all."""
        try:
            head = self._find_head(measurement, dict(tags))
            only_host = self._rules.only_host
            if only_host is not None and head.host != only_host:
                return PointError(f'this token may only send samples of host "{only_host}"')
            return HeadPlan(head)
        except PointError as error:
            return error

    def _keep(
        self, plan: HeadPlan | PointError, fields: Mapping[str, FieldValue], time: int | None
    ) -> None:
        if isinstance(plan, PointError):
            # A traceback would grow by the frames of each line that it refuses.
            raise plan.with_traceback(None)
        plan.learn(fields)
        found = [
            (row, values)
            for row in plan.rows(fields)
            if (values := row.values(fields)) is not None
        ]
        facts = plan.facts(fields)
        if not found and not facts:
            self._ignored += 1
            return
        time_us = self._time_us(time)
        for row, values in found:
            self._add(row, time_us, values)
        if facts:
            self._facts.update(dict.fromkeys(facts))
        self._accepted += 1

    def _time_us(self, time: int | None) -> int:
        """Microseconds, which is what the database keeps; finer parts of a time are cut off."""
        if time is None:
            time_ns = self._rules.now_ns // self._unit_ns * self._unit_ns
        else:
            time_ns = time * self._unit_ns
        if time_ns < self._rules.earliest_ns:
            raise PointError(self._rules.too_early)
        if time_ns > self._rules.latest_ns:
            raise PointError(self._rules.too_late)
        return time_ns // 1000

    def _add(self, row: RowPlan, time_us: int, values: tuple[Value, ...]) -> None:
        if row.place is None:
            row.place = self._places.setdefault(row.series, len(self._places))
        place = row.place
        rows = self._rows.setdefault(row.series.table, {})
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
        self.unknown: Counter[tuple[str, str]] = Counter()
        self._by_reason: dict[str, Rejection] = {}

    def add(self, line_number: int, line: str, error: PointError, *, count: int = 1) -> None:
        self.lines += count
        measurement = None
        if isinstance(error, UnknownMeasurementError):
            measurement = error.measurement
            self.unknown_lines += count
            key = (error.host, error.measurement)
            if key in self.unknown or len(self.unknown) < MOST_REASONS:
                self.unknown[key] += count
        reason = shortened(str(error), _LONGEST_REASON)
        if reason not in self._by_reason and len(self._by_reason) >= MOST_REASONS:
            reason = f"further lines, for other reasons than the first {MOST_REASONS}"
            measurement = None
        known = self._by_reason.get(reason)
        self._by_reason[reason] = (
            replace(known, line_count=known.line_count + count)
            if known
            else Rejection(
                line_number=line_number,
                line=excerpt(line),
                reason=reason,
                line_count=count,
                measurement=measurement,
            )
        )

    def rejections(self) -> list[Rejection]:
        return list(self._by_reason.values())
