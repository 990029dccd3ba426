r"""Performance counters as CSV, "PDH-CSV 4.0": what esxtop and Windows' performance monitor write.

The first line names the time zone and the columns, `\\host\Group(Instance)\Counter` each; every
further line is a row of one time. Columns that nobody asks for cost no more than the splitting of
their row, and memory is bounded by one row, however long the file is.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from ingest.core.decoders.errors import FormatError
from ingest.core.decoders.lines import lines
from ingest.core.decoders.pdh_header import Header, Object, Program, Wanted, read_header
from ingest.core.decoders.pdh_rows import is_missing, number, rows
from ingest.core.decoders.rejections import Rejections
from ingest.core.point import FieldValue, Point

_MOST_LINES_BEFORE_HEADER = 100
_MOST_NUMBERS = 50_000
_HEADER = b'"(PDH-CSV 4.0)'


def decode_pdh_csv(
    chunks: Iterable[bytes],
    rejections: Rejections,
    *,
    program: Program,
    wanted: Wanted | None = None,
    host: str | None = None,
    zone: tzinfo | None = None,
    is_growing: bool = False,
) -> Iterator[Point]:
    """One point per row and object (group and instance) with the wanted fields that have a value.

    Times are nanoseconds since 1970. `wanted` says of a measurement and field whether it is
    mapped; without it, all of the program's measurements are. `host` and `zone` are used where the
    file names none. Of a file `is_growing`, the points of a row come when its line ends, and not
    with the next line. Raises `FormatError`, `NeedsHostError` or `NeedsZoneError` before the first
    point.
    """
    wanted = wanted or (lambda measurement, _field: measurement in program.measurements)
    table: _Table | None = None
    numbered = _arriving if is_growing else _numbered
    for line_number, line, last in numbered(_headers_apart(lines(chunks, rejections))):
        if line.lstrip(b'"').startswith(b"(PDH-CSV"):
            table = _Table(
                read_header(line, rejections, program, wanted=wanted, host=host, zone=zone)
            )
        elif table is not None:
            yield from table.points(line, rejections, name=f"line {line_number}", last=last)
        elif line_number >= _MOST_LINES_BEFORE_HEADER:
            break
        elif line.strip():
            rejections.add(f"line {line_number}", "a line before the header")
    if table is None:
        raise FormatError('the file has no line that begins with "(PDH-CSV 4.0)"')


def _headers_apart(found: Iterator[bytes]) -> Iterator[bytes]:
    """Lines, and a header that a new program wrote behind a torn row as one of its own."""
    for line in found:
        start = line.find(_HEADER, 1)
        if start > 0:
            yield line[:start]
            yield line[start:]
        else:
            yield line


def _arriving(found: Iterator[bytes]) -> Iterator[tuple[int, bytes, bool]]:
    """Lines with their numbers as they come. None is the last: nobody knows what follows."""
    for line_number, line in enumerate(found, start=1):
        yield line_number, line, False


def _numbered(found: Iterator[bytes]) -> Iterator[tuple[int, bytes, bool]]:
    """Lines with their numbers, and whether a line is the last."""
    line_number, line = 1, next(found, None)
    while line is not None:
        following = next(found, None)
        yield line_number, line, following is None
        line_number, line = line_number + 1, following


class _Table:
    """The rows below one header."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._rates = header.rates
        """Places of rates, until a row came."""
        self._numbers = _Numbers()

    def points(
        self, line: bytes, rejections: Rejections, *, name: str, last: bool
    ) -> Iterator[Point]:
        if not line.strip():
            return
        for cells in rows(line, self._header.width, rejections, name=name, last=last):
            time_ns = _time_ns(cells[0], self._header.zone)
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
        for found in self._header.objects:
            texts = found.pick(cells)
            # Whole objects are empty from when a VM is stopped.
            if not any(texts):
                continue
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
    found: Object, texts: Sequence[bytes], name: str, rejections: Rejections
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
