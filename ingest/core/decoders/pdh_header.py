r"""The header of PDH-CSV: the time zone and `\\host\Group(Instance)\Counter` of each column."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta, timezone, tzinfo
from functools import lru_cache
from operator import itemgetter

from ingest.core.decoders.errors import FormatError, NeedsHostError, NeedsZoneError
from ingest.core.decoders.pdh_rows import cells_of
from ingest.core.decoders.rejections import Rejections
from ingest.core.decoders.texts import is_storable

Tags = tuple[tuple[str, str], ...]
Wanted = Callable[[str, str], bool]
"""Says for a measurement and a field whether anybody maps it."""

_FIRST_CELL = re.compile(r"\(PDH-CSV 4\.0\)(?: \((?P<zone>[^)]*)\)\((?P<minutes>-?[0-9]{1,9})\))?")
_PATH = re.compile(
    r"(?:\\\\(?P<host>[^\\]+))?\\(?P<group>[^\\(]+?)(?:\((?P<instance>.*)\))?\\(?P<counter>[^\\]+)"
)
_NO_NAMES = re.compile(r"local|localhost(?:\..*)?", re.IGNORECASE)
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

    `measurements` are those of use. `instance_tags` takes the group and its instance apart.
    `first_row_is_empty` says that rates of the first row are zeros that were never measured.
    """

    name: str
    measurements: frozenset[str]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """One group and instance: what its points have in common, and where its cells are.

    `pick` takes the cells of its fields out of a row.
    """

    measurement: str
    tags: Tags
    fields: tuple[str, ...]
    places: tuple[int, ...]
    pick: Callable[[Sequence[bytes]], Sequence[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a header says of the rows below it.

    `width` is the number of cells of a row with its time; `rates` are the places of rates, where
    the first row may have none yet.
    """

    width: int
    zone: tzinfo
    objects: tuple[Object, ...]
    rates: tuple[int, ...]


def read_header(
    line: bytes,
    rejections: Rejections,
    program: Program,
    *,
    wanted: Wanted,
    host: str | None,
    zone: tzinfo | None,
) -> Header:
    """The wanted columns of a header; `host` and `zone` are used where it names none.

    Raises `FormatError`, `NeedsHostError` or `NeedsZoneError`.
    """
    cells = [cell.decode() for cell in cells_of(line.rstrip(b", \t"))]
    first = _FIRST_CELL.match(cells[0]) if cells else None
    if not first:
        raise FormatError('the header does not begin with "(PDH-CSV 4.0)"')
    columns: dict[tuple[str, Tags], dict[str, int]] = {}
    for place, path in _paths(cells, rejections):
        measurement = f"{program.name}_{snake_case(path.group)}"
        field = snake_case(path.counter)
        if wanted(measurement, field):
            fields = columns.setdefault((measurement, _tags(path, program, host)), {})
            if fields.setdefault(field, place) != place:
                rejections.add(f"column {place + 1}: {cells[place]}", "the column is there twice")
    if not columns:
        rejections.add(cells[-1], "no column is mapped; names of counters are read in English")
    return Header(
        width=len(cells),
        zone=_zone(first["minutes"], zone),
        objects=tuple(
            _object(measurement, tags, fields) for (measurement, tags), fields in columns.items()
        ),
        rates=tuple(
            place
            for fields in columns.values()
            for field, place in fields.items()
            if program.first_row_is_empty and "_per_" in field
        ),
    )


def _paths(cells: list[str], rejections: Rejections) -> Iterator[tuple[int, CounterPath]]:
    """The columns that are named as counters, with their places."""
    for place, cell in enumerate(cells[1:], start=1):
        path = parse_path(cell)
        if path is None:
            rejections.add(f"column {place + 1}: {cell}", "the column is not named as a counter")
        else:
            yield place, path


def _object(measurement: str, tags: Tags, fields: dict[str, int]) -> Object:
    places = tuple(fields.values())
    start, end = places[0], places[-1] + 1
    # A single column is a slice too: itemgetter of one place gives no sequence.
    whole = end - start == len(places)
    pick = itemgetter(slice(start, end)) if whole else itemgetter(*places)
    return Object(
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
