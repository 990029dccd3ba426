"""The quick way from a body to rows: the native crate reads the lines that are plain.

It knows the heads that were made known to it, with the series and column of each of their fields.
What it does not know is found out here once. What it cannot vouch for goes to the strict parser,
so without the crate, which not every machine can build, all of it does and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np

from accounts.models import Organisation
from ingest.core.batch import FindHead, Rules, read_batch, read_lines
from ingest.core.catalogue import MEASUREMENTS, SYSTEM, FieldKind
from ingest.core.line_protocol import logical_lines, parse_head
from ingest.core.mapping import Cell, Fact, Form, Head, SeriesKey
from ingest.core.point import PointError
from ingest.known_series import KnownSeries
from ingest.native_lines import Lines, Place, new_book
from ingest.ready_rows import UPTIME, Copy, ReadBody, ReadyRows, ready_body

_KINDS = {FieldKind.COUNTER: 0, FieldKind.WHOLE: 1, FieldKind.NUMBER: 2}
_TABLES = {measurement: place for place, measurement in enumerate(MEASUREMENTS)}
_COLUMNS = {
    measurement: {column.name: place for place, column in enumerate(measurement.fields)}
    for measurement in MEASUREMENTS
}
_ROUNDS = 3
"""Heads may be new in a body, and fields of them in the next reading of it."""
MOST_FIELDS = 10_000
"""A head with more is read by the strict parser: each new field of it is a plan of all of them."""
QUICK_BYTES = 16 * 1024
"""So much of a body is read in Python, line by line, in some ten milliseconds."""
_HEAD_BYTES, _SERIES_BYTES, _FIELD_BYTES = 200, 24, 120


class PlainLines:
    """What is known of the heads of one organisation, or of one of its hosts; for threads."""

    def __init__(self, known: KnownSeries, find_head: FindHead) -> None:
        self._known, self._find_head = known, find_head
        self._lock = Lock()
        self.size_bytes = 0
        """About what the book holds, and no less."""
        self._plans: set[int] = set()
        kinds = [[_KINDS[column.kind] for column in one.fields] for one in MEASUREMENTS]
        self._facts: dict[bytes, tuple[Fact, ...]] = {}
        self._book = new_book(kinds, (_TABLES[SYSTEM], UPTIME))

    def read(self, body: bytes, rules: Rules, organisation: Organisation) -> ReadBody:
        """The rows of a body, as `read_batch` would find them.

        The quotas of new series are those of `organisation` as it is given.
        """
        unit_ns = rules.precision.nanoseconds
        for _ in range(_ROUNDS):
            lines = self._book.read(body, unit_ns, rules.earliest_ns, rules.latest_ns)
            if not lines.unknown:
                return self._body(body, lines, rules, organisation)
            with self._lock:
                self._learn(lines.unknown, rules, organisation)
        batch = read_batch(body, rules, self._find_head)
        return ready_body(batch, self._known, organisation)

    def read_quickly(
        self, body: bytes, rules: Rules, organisation: Organisation
    ) -> ReadBody | None:
        """The same, where nothing has to be learnt and little is left to the strict parser."""
        unit_ns = rules.precision.nanoseconds
        lines = self._book.read(body, unit_ns, rules.earliest_ns, rules.latest_ns)
        left_bytes = sum(end - begin for _, begin, end in lines.left)
        left_bytes += sum(end - begin for _, _, begin, end, _ in lines.refused)
        if lines.unknown or left_bytes > QUICK_BYTES:
            return None
        return self._body(body, lines, rules, organisation)

    def _body(
        self, body: bytes, lines: Lines, rules: Rules, organisation: Organisation
    ) -> ReadBody:
        rows = [_ready_rows(lines)] if lines.copies else []
        facts = [fact for head in lines.saying for fact in self._facts.get(head, ())]
        if not (lines.left or lines.refused):
            return ReadBody(
                known=self._known,
                rows=rows,
                facts=facts,
                accepted=lines.accepted,
                ignored=lines.ignored,
                rejected=0,
                unknown_lines=0,
                unknown={},
                rejections=[],
            )
        others = sorted(_others(body, lines), key=lambda one: one[0])
        batch = read_lines(others, rules, self._find_head)
        rest = ready_body(batch, self._known, organisation)
        return ReadBody(
            known=self._known,
            rows=[*rows, *rest.rows],
            facts=[*facts, *rest.facts],
            accepted=lines.accepted + rest.accepted,
            ignored=lines.ignored + rest.ignored,
            rejected=rest.rejected,
            unknown_lines=rest.unknown_lines,
            unknown=rest.unknown,
            rejections=rest.rejections,
        )

    def _learn(
        self,
        unknown: Sequence[tuple[bytes, list[bytes]]],
        rules: Rules,
        organisation: Organisation,
    ) -> None:
        """Make heads known with these fields, beside those that they had."""
        found = {}
        for head, names in unknown:
            plan = self._plan(head, {*names, *self._book.names(head)}, rules)
            if plan is not None:
                found[head] = plan
            else:
                self.size_bytes += _HEAD_BYTES + len(head)
        keys = list(dict.fromkeys(key for plan in found.values() for key in plan.series))
        rows = dict(zip(keys, self._known.rows(organisation, keys), strict=True))
        for head, plan in found.items():
            series = [(_TABLES[key.table], *rows[key]) for key in plan.series]
            if plan.facts:
                self._facts[head] = plan.facts
            self._book.learn(head, series, plan.fields, bool(plan.facts))
            self._note_size(head, plan)

    def _note_size(self, head: bytes, plan: _Plan) -> None:
        """Heads that are alike share a plan, which stays when a field is added."""
        self.size_bytes += _HEAD_BYTES + len(head) + _SERIES_BYTES * len(plan.series)
        key = hash((tuple(one.table for one in plan.series), tuple(plan.fields)))
        if key not in self._plans:
            self._plans.add(key)
            self.size_bytes += sum(_FIELD_BYTES + 2 * len(name) for name, _ in plan.fields)

    def _plan(self, text: bytes, names: set[bytes], rules: Rules) -> _Plan | None:
        """Where the fields belong; None if no line of this head is read here."""
        try:
            measurement, tags = parse_head(text.decode())
            by_name = {name: name.decode() for name in sorted(names)}
        except (UnicodeError, PointError):
            self._book.leave(text)
            return None
        if b'"' in text or len(names) > MOST_FIELDS:
            # A quote may begin a text that goes on behind the line.
            self._book.leave(text)
            return None
        try:
            head = self._find_head(measurement, dict(tags))
        except PointError:
            self._book.refuse(text)
            return None
        if rules.only_host not in (None, head.host):
            self._book.refuse(text)
            return None
        try:
            plan = _plan_of(head, by_name)
        except PointError:
            # Lines with a field that cannot be kept are refused, the others of this head are not.
            plan = None
        if plan is None:
            self._book.leave(text)
        return plan


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """The series of a head, and of each field its place among them and its column."""

    series: Sequence[SeriesKey]
    fields: Sequence[tuple[bytes, Place]]
    facts: tuple[Fact, ...]


def _plan_of(head: Head, names: dict[bytes, str]) -> _Plan | None:
    """None where a field is more than a number for a column of its own."""
    slots: dict[SeriesKey, int] = {}
    fields: list[tuple[bytes, Place]] = []
    taken: set[tuple[int, int]] = set()
    for text, name in names.items():
        cell = head.place(name)
        if cell is None:
            fields.append((text, None))
            continue
        if not isinstance(cell, Cell) or not _is_plain(cell):
            return None
        slot = slots.setdefault(cell.series, len(slots))
        place = slot, _COLUMNS[cell.series.table][cell.column]
        if place in taken:
            return None
        taken.add(place)
        fields.append((text, place))
    return _Plan(series=list(slots), fields=fields, facts=head.facts)


def _is_plain(cell: Cell) -> bool:
    return cell.scale == 1 and cell.times is None and cell.series.form is Form.COUNTER


def _others(body: bytes, lines: Lines) -> Iterator[tuple[int, str, int]]:
    """What the strict parser has to read: line number, line, and for how many it stands."""
    for number, begin, end in lines.left:
        for offset, line in logical_lines(body[begin:end]):
            yield number - 1 + offset, line, 1
    for _, number, begin, end, count in lines.refused:
        yield number, body[begin:end].decode(), count


def _ready_rows(lines: Lines) -> ReadyRows:
    return ReadyRows(
        copies=[
            Copy(measurement=MEASUREMENTS[table], rows=rows, count=count)
            for table, rows, count in lines.copies
        ],
        numbers=np.frombuffer(lines.series, np.uint32).astype(np.int64),
        first_us=np.frombuffer(lines.first_us, np.int64),
        last_us=np.frombuffer(lines.last_us, np.int64),
        hours=lines.hours,
        parts=lines.parts,
        uptimes=lines.watched,
    )
