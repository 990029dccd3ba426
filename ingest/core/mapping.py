"""What a source makes of points: the series and column of each field, and what it says of things.

A *head* is what points of one series have in common: the measurement and the tags. A source knows
the heads of one collector and says for each field of a head where its numbers are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache

from ingest.core.catalogue import GAUGE, Measurement
from ingest.core.lengths import LONGEST_HOST_NAME, MOST_TAGS_BYTES
from ingest.core.point import PointError

Tags = Mapping[str, str]


class Form(StrEnum):
    """What the numbers of a series are: totals that grow, or a mean since the reading before."""

    COUNTER = "counter"
    RATE = "rate"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesKey:
    """A series of an organisation, in the columns of its row.

    `subject` is what it is about on its host. `tags` are in order of their names; together with
    the table and the form they tell it from other series, so two sources that count the same
    thing add to one series, and totals and rates of it never do.
    """

    table: Measurement
    host: str = field(compare=False)
    subject: str = field(compare=False)
    tags: tuple[tuple[str, str], ...]
    source: str = field(default="", compare=False)
    form: Form = Form.COUNTER

    @property
    def tags_key(self) -> str:
        """The tags, and the form of rates, as one text.

        Escapes keep two sets of tags from having the same, and every tag has a `=`.
        """
        pairs = [f"{_escaped(name)}={_escaped(value)}" for name, value in self.tags]
        return ",".join(pairs if self.form is Form.COUNTER else [*pairs, self.form])


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Where a field is kept: `scale` times its value, or times that of the field `times` too.

    A mean latency times the rate of its I/Os is the time that they took each second.
    """

    series: SeriesKey
    column: str
    scale: float = 1
    times: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Fact:
    """What a collector says of a thing on a host; `kind` is what it is, such as a device."""

    host: str
    kind: str
    subject: str
    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FactField:
    """A field whose value is a fact."""

    host: str
    kind: str
    subject: str
    name: str

    def fact(self, value: object) -> Fact:
        """The fact that this value of the field states."""
        return Fact(
            host=self.host,
            kind=self.kind,
            subject=self.subject,
            name=self.name,
            # A depth of 64.0 is one of 64.
            value=f"{value:.0f}"
            if isinstance(value, float) and value.is_integer()
            else str(value),
        )


Place = Cell | FactField | tuple[Cell, ...] | None
"""Where a field belongs: to one column or several, to what is known of a thing, or nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """One measurement with one set of tags, as its source understands it.

    `place` says for the name of a field where it belongs; None leaves it out.
    """

    host: str
    place: Callable[[str], Place]
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A collector's points: `head` is None for what is not of this source after all.

    `measurements` are those that it may send; a `*` at the end stands for any ending.
    """

    name: str
    measurements: frozenset[str]
    head: Callable[[str, Tags], Head | None]


def columns(
    series: SeriesKey, names: Mapping[str, str] | None = None
) -> Callable[[str], Cell | None]:
    """Fields by the names of their columns, or by `names` from a field to its column."""
    by_field = _own_names(series.table) if names is None else names

    def place(field: str) -> Cell | None:
        column = by_field.get(field)
        return None if column is None else Cell(series=series, column=column)

    return place


def gauges(
    host: str,
    subject: str,
    tags: Tags,
    *,
    source: str,
    only: Collection[str] | None = None,
    others: Callable[[str], Place] | None = None,
) -> Callable[[str], Place]:
    """Every field as a gauge: what has no canonical figure is kept as it was sent.

    With `only` just these; the other fields belong where `others` says, or nowhere.
    """

    def place(field: str) -> Place:
        if only is not None and field not in only:
            return others(field) if others else None
        every = {**tags, "host": host, "subject": subject, "field": field}
        return Cell(
            series=series(GAUGE, host, subject, every, source=source), column=GAUGE.fields[0].name
        )

    return place


def series(
    table: Measurement,
    host: str,
    subject: str,
    tags: Tags,
    *,
    source: str,
    form: Form = Form.COUNTER,
) -> SeriesKey:
    """The series; raises `PointError` where a name is longer than what can be kept."""
    if len(host) > LONGEST_HOST_NAME:
        raise PointError(f'tag "host" is longer than {LONGEST_HOST_NAME} characters')
    if len(subject) > table.longest_subject:
        raise PointError(
            f"the name of what it is about is longer than {table.longest_subject} characters"
        )
    key = SeriesKey(
        table=table,
        host=host,
        subject=subject,
        tags=tuple(sorted(tags.items())),
        source=source,
        form=form,
    )
    tags_key = key.tags_key
    if "\0" in tags_key:
        raise PointError("a tag holds a NUL character")
    if len(tags_key.encode()) > MOST_TAGS_BYTES:
        raise PointError(f"the tags together are longer than {MOST_TAGS_BYTES} bytes")
    return key


def nowhere(_field: str) -> None:
    """The place of fields that a source knows and leaves out."""


def all_of(*places: Callable[[str], Cell | None]) -> Callable[[str], Place]:
    """A field belongs wherever any of these has a place for it."""
    return lambda field: tuple(cell for place in places if (cell := place(field)) is not None)


def scaled(place: Callable[[str], Cell | None], scale: float) -> Callable[[str], Cell | None]:
    """The same places, for values in another unit."""

    def found(field: str) -> Cell | None:
        cell = place(field)
        return None if cell is None else replace(cell, scale=scale)

    return found


def required(tags: Tags, name: str, *, of: str) -> str:
    """The value of a tag without which a line of this measurement says nothing."""
    value = tags.get(name)
    if value is None:
        raise PointError(f'tag "{name}" is missing: {of} needs it')
    return value


def host_of(tags: Tags, name: str = "host") -> str:
    """The host that the samples are of."""
    host = tags.get(name)
    if not host:
        raise PointError(f'tag "{name}" is missing: it says which host the sample is of')
    return host


def facts(
    host: str, kind: str, subject: str, said: Iterable[tuple[str, str | None]]
) -> tuple[Fact, ...]:
    """Those of the pairs of name and value that say something."""
    return tuple(
        Fact(host=host, kind=kind, subject=subject, name=name, value=value)
        for name, value in said
        if value
    )


@cache
def _own_names(table: Measurement) -> Mapping[str, str]:
    return {field.name: field.name for field in table.fields}


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
