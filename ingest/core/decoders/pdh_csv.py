r"""Performance counters as CSV, "PDH-CSV 4.0": what esxtop and Windows' performance monitor write.

The first line names the time zone and the columns, `\\host\Group(Instance)\Counter` each; every
further line is a row of one time. Columns that nobody asks for cost no more than the splitting of
their row, and memory is bounded by one row, however long the file is.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from operator import itemgetter

from ingest.core.decoders.errors import FormatError, NeedsHostError, NeedsZoneError
from ingest.core.decoders.lines import lines
from ingest.core.decoders.pdh_rows import cells_of, is_missing, number, rows
from ingest.core.decoders.rejections import Rejections
from ingest.core.decoders.texts import is_storable
from ingest.core.point import FieldValue, Point

Tags = tuple[tuple[str, str], ...]
Wanted = Callable[[str, str], bool]
"""Says for a measurement and a field whether anybody maps it."""

_FIRST_CELL = re.compile(r"\(PDH-CSV 4\.0\)(?: \((?P<zone>[^)]*)\)\((?P<minutes>-?[0-9]+)\))?")
_PATH = re.compile(
    r"(?:\\\\(?P<host>[^\\]+))?\\(?P<group>[^\\(]+?)(?:\((?P<instance>.*)\))?\\(?P<counter>[^\\]+)"
)
_MOST_LINES_BEFORE_HEADER = 100
_NO_NAMES = re.compile(r"local|localhost(?:\..*)?", re.IGNORECASE)
_MOST_NUMBERS = 50_000
_LARGEST_OFFSET_MINUTES = 24 * 60 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterPath:
    r"""The name of a column. `host` is None where it is absent, or names no host (`localhost`)."""

    host: str | None
    group: str
    instance: str
    counter: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How one program uses the format.

    `instance_tags` takes the group and its instance apart. `first_row_is_empty` says that rates
    of the first row are zeros that were never measured.
    """

    name: str
    instance_tags: Callable[[str, str], Tags]
    first_row_is_empty: bool


def parse_path(text: str) -> CounterPath | None:
    """The parts of the name of a column; None when it is none."""
    path = _PATH.fullmatch(text.strip())
    if not path or not is_storable(text):
        return None
    host = path["host"]
    return CounterPath(
        host=None if host is None or _NO_NAMES.fullmatch(host) else host,
        group=path["group"].strip(),
        instance=path["instance"] or "",
        counter=path["counter"].strip(),
    )


@lru_cache(maxsize=4096)
def snake_case(name: str) -> str:
    """`Average Driver MilliSec/Read` as `average_driver_millisec_per_read`, `% Used` as
    `percent_used`."""
    spelled = name.lower().replace("%", " percent ").replace("/", " per ")
    return re.sub(r"[^a-z0-9]+", "_", spelled).strip("_")


def decode_pdh_csv(
    chunks: Iterable[bytes],
    rejections: Rejections,
    program: Program,
    *,
    wanted: Wanted,
    host: str | None,
    zone: tzinfo | None,
) -> Iterator[Point]:
    """One point per row and object (group and instance) with the wanted fields that have a value.

    Times are nanoseconds since 1970. `host` and `zone` are used where the file names none.
    Raises `FormatError`, `NeedsHostError` or `NeedsZoneError` before the first point.
    """
    table: _Table | None = None
    for line_number, line, last in _numbered(lines(chunks, rejections)):
        if line.lstrip(b'"').startswith(b"(PDH-CSV"):
            table = _read_header(line, rejections, program, wanted=wanted, host=host, zone=zone)
        elif table is not None:
            yield from table.points(line, rejections, name=f"line {line_number}", last=last)
        elif line_number >= _MOST_LINES_BEFORE_HEADER:
            break
        elif line.strip():
            rejections.add(f"line {line_number}", "a line before the header")
    if table is None:
        raise FormatError('the file has no line that begins with "(PDH-CSV 4.0)"')


def _numbered(found: Iterator[bytes]) -> Iterator[tuple[int, bytes, bool]]:
    """Lines with their numbers, and whether a line is the last."""
    line_number, line = 1, next(found, None)
    while line is not None:
        following = next(found, None)
        yield line_number, line, following is None
        line_number, line = line_number + 1, following


@dataclass(frozen=True, slots=True, kw_only=True)
class _Object:
    """One group and instance: what its points have in common, and where its cells are."""

    measurement: str
    tags: Tags
    fields: tuple[str, ...]
    places: tuple[int, ...]
    pick: Callable[[Sequence[bytes]], Sequence[bytes]]


class _Table:
    """The rows below one header."""

    def __init__(
        self, *, width: int, zone: tzinfo, objects: list[_Object], rates: tuple[int, ...]
    ) -> None:
        self._width = width
        self._zone = zone
        self._objects = objects
        self._rates = rates
        """Places of rates, until a row with one came."""
        self._numbers = _Numbers()

    def points(
        self, line: bytes, rejections: Rejections, *, name: str, last: bool
    ) -> Iterator[Point]:
        if not line.strip():
            return
        for cells in rows(line, self._width, rejections, name=name, last=last):
            time_ns = _time_ns(cells[0], self._zone)
            if time_ns is None:
                rejections.add(name, "the row does not begin with a time")
            elif not self._is_without_rates(cells, name, rejections):
                yield from self._row(cells, time_ns, name, rejections)

    def _is_without_rates(self, cells: list[bytes], name: str, rejections: Rejections) -> bool:
        """Whether this is the first row and its rates are no measurement."""
        places, self._rates = self._rates, ()
        if not places or any(number(cells[place]) for place in places):
            return False
        rejections.add(name, "the first row has no rates yet, only zeros")
        return True

    def _row(
        self, cells: list[bytes], time_ns: int, name: str, rejections: Rejections
    ) -> Iterator[Point]:
        numbers = self._numbers.__getitem__
        for found in self._objects:
            texts = found.pick(cells)
            fields: dict[str, FieldValue]
            try:
                fields = dict(zip(found.fields, map(numbers, texts), strict=True))
            except ValueError:
                fields = _fields(found, texts, name, rejections)
            if fields:
                yield Point(
                    measurement=found.measurement,
                    tags=found.tags,
                    fields=fields,
                    time=time_ns,
                )


class _Numbers(dict[bytes, float]):
    """Texts of cells and their numbers: most cells of a file repeat a few values, such as 0.00."""

    def __missing__(self, text: bytes) -> float:
        value = number(text)
        if value is None:
            raise ValueError
        if len(self) >= _MOST_NUMBERS:
            self.clear()
        self[text] = value
        return value


def _fields(
    found: _Object, texts: Sequence[bytes], name: str, rejections: Rejections
) -> dict[str, FieldValue]:
    """The fields whose cells hold a number. An empty cell is absence."""
    fields: dict[str, FieldValue] = {}
    for field, place, text in zip(found.fields, found.places, texts, strict=True):
        value = number(text)
        if value is not None:
            fields[field] = value
        elif not is_missing(text):
            rejections.add(
                f"{name}, column {place + 1}: {text[:40].decode('utf-8', 'replace')}",
                "the cell is not a number",
            )
    return fields


def _read_header(
    line: bytes,
    rejections: Rejections,
    program: Program,
    *,
    wanted: Wanted,
    host: str | None,
    zone: tzinfo | None,
) -> _Table:
    cells = [cell.decode() for cell in cells_of(line.rstrip(b", \t"))]
    first = _FIRST_CELL.match(cells[0]) if cells else None
    if not first:
        raise FormatError('the header does not begin with "(PDH-CSV 4.0)"')
    columns: dict[tuple[str, Tags], dict[str, int]] = {}
    rates: list[int] = []
    for place, cell in enumerate(cells[1:], start=1):
        path = parse_path(cell)
        if path is None:
            rejections.add(f"column {place + 1}: {cell}", "the column is not named as a counter")
            continue
        measurement = f"{program.name}_{snake_case(path.group)}"
        field = snake_case(path.counter)
        if not wanted(measurement, field):
            continue
        head = (measurement, _tags(path, program, host))
        fields = columns.setdefault(head, {})
        if field in fields:
            rejections.add(f"column {place + 1}: {cell}", "the column is there twice")
            continue
        fields[field] = place
        if program.first_row_is_empty and "_per_" in field:
            rates.append(place)
    if not columns:
        rejections.add(cells[-1], "no column is mapped; names of counters are read in English")
    return _Table(
        width=len(cells),
        zone=_zone(first["minutes"], zone),
        objects=[
            _object(measurement, tags, fields) for (measurement, tags), fields in columns.items()
        ],
        rates=tuple(rates),
    )


def _object(measurement: str, tags: Tags, fields: dict[str, int]) -> _Object:
    places = tuple(fields.values())
    start, end = places[0], places[-1] + 1
    # A single column is a slice too: itemgetter of one place gives no sequence.
    whole = end - start == len(places)
    pick = itemgetter(slice(start, end)) if whole else itemgetter(*places)
    return _Object(
        measurement=measurement, tags=tags, fields=tuple(fields), places=places, pick=pick
    )


def _tags(path: CounterPath, program: Program, host: str | None) -> Tags:
    known = path.host or host
    if known is None:
        raise NeedsHostError("the file does not name the host that it is of")
    instance = (("instance", path.instance),) if path.instance else ()
    parts = program.instance_tags(path.group, path.instance)
    return tuple(sorted({"host": known, **dict(instance), **dict(parts)}.items()))


def _zone(minutes: str | None, zone: tzinfo | None) -> tzinfo:
    """The zone of a header, whose minutes are what must be added to get UTC."""
    if minutes is not None and abs(int(minutes)) <= _LARGEST_OFFSET_MINUTES:
        return timezone(-timedelta(minutes=int(minutes)))
    if zone is None:
        raise NeedsZoneError("the file does not name the time zone of its times")
    return zone


_TIMES = (
    re.compile(
        rb" *(?P<month>\d\d)/(?P<day>\d\d)/(?P<year>\d{4}) "
        rb"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:\.(?P<fraction>\d{1,9}))? *"
    ),
    re.compile(
        rb" *(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)[ T]"
        rb"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:\.(?P<fraction>\d{1,9}))? *"
    ),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _time_ns(cell: bytes, zone: tzinfo) -> int | None:
    found = _TIMES[0].fullmatch(cell) or _TIMES[1].fullmatch(cell)
    if not found:
        return None
    try:
        moment = datetime(
            int(found["year"]),
            int(found["month"]),
            int(found["day"]),
            int(found["hour"]),
            int(found["minute"]),
            int(found["second"]),
            tzinfo=zone,
        )
        seconds = (moment - _EPOCH) // timedelta(seconds=1)
    except (ValueError, OverflowError):
        return None
    return seconds * 1_000_000_000 + int((found["fraction"] or b"0").ljust(9, b"0"))
