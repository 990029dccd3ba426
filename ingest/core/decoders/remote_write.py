"""Prometheus remote write: a snappy block of a protobuf WriteRequest, versions 1 and 2.

One point per sample: the measurement is the metric's name (`__name__`), the tags are the other
labels, and the field is `value`, a float. A native histogram gives one point with `count` and
`sum`. Nothing of a name says what is a counter: sources know it. Exemplars and metadata are left
out. A staleness marker is absence: it gives no point and is no fault.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

from ingest.core.decoders import protobuf_wire as wire
from ingest.core.decoders.protobuf_wire import BYTES, WireError
from ingest.core.decoders.rejections import Rejections
from ingest.core.decoders.snappy_block import decompress
from ingest.core.decoders.texts import is_storable
from ingest.core.line_protocol import LARGEST_INT64, MAX_TAGS
from ingest.core.point import FieldValue, Point

Pairs = Iterable[tuple[str, str]]
Tags = tuple[tuple[str, str], ...]

_STALE = (0x7FF0000000000002).to_bytes(8, "little")
"""The one NaN that says that a series has ended; it is told from others by its bits."""
_ZERO = bytes(8)
_NS_PER_MS = 1_000_000
_NAME = "__name__"
_TOO_MANY_LABELS = f"the series has more than {MAX_TAGS} labels"
_MOST_REFERENCE_BYTES = 2 * MAX_TAGS * 10
_MOST_KNOWN_LABELS = 100_000


class Version(StrEnum):
    """The message, by the `proto` parameter of the content type; without one it is version 1."""

    V1 = "prometheus.WriteRequest"
    V2 = "io.prometheus.write.v2.Request"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Numbers of fields: of the series in a request, and of the parts in a series."""

    series: int
    labels: int
    samples: int
    histograms: int


_V1 = _Layout(series=1, labels=1, samples=2, histograms=4)
_V2 = _Layout(series=5, labels=1, samples=2, histograms=3)
_V2_SYMBOLS = 4


class _BadPartError(ValueError):
    """A series or sample is no good; the text is the reason."""


def decode_remote_write(
    body: bytes, rejections: Rejections, *, most_bytes: int, version: Version = Version.V1
) -> Iterator[Point]:
    """The points of a body of remote write; times are nanoseconds since 1970.

    Raises `BodyTooLargeError` or `FormatError` before the first point. A body that is broken from
    some place on gives the points before it.
    """
    request = decompress(body, most_bytes=most_bytes)
    layout, read_labels = (
        (_V1, _Labels().pairs)
        if version is Version.V1
        else (_V2, _Symbols(_parts(request, _V2_SYMBOLS, Rejections())).pairs)
    )
    for number, message in enumerate(_parts(request, layout.series, rejections), start=1):
        try:
            parts = _series_parts(message, layout)
            measurement, tags = _head(read_labels(parts[layout.labels]))
        except (WireError, _BadPartError) as error:
            rejections.add(f"series {number}", str(error))
            continue
        for read, place in ((_sample, layout.samples), (_histogram, layout.histograms)):
            for part in parts[place]:
                try:
                    time_ns, fields = read(part)
                except (WireError, _BadPartError) as error:
                    rejections.add(measurement, str(error))
                    continue
                if fields:
                    yield Point(measurement=measurement, tags=tags, fields=fields, time=time_ns)


def _parts(request: bytes, wanted: int, rejections: Rejections) -> Iterator[bytes]:
    """The messages of one field of a request, up to where it is broken."""
    try:
        for number, _, part in wire.fields(request):
            if number == wanted and isinstance(part, bytes):
                yield part
    except WireError as error:
        rejections.add("the rest of the request", str(error))


def _series_parts(message: bytes, layout: _Layout) -> dict[int, list[bytes]]:
    parts: dict[int, list[bytes]] = {
        layout.labels: [],
        layout.samples: [],
        layout.histograms: [],
    }
    for number, kind, part in wire.fields(message):
        if kind == BYTES and number in parts and isinstance(part, bytes):
            parts[number].append(part)
    return parts


def _head(labels: Pairs) -> tuple[str, Tags]:
    """The name of a metric and its tags. An empty label is none."""
    pairs = [pair for pair in labels if pair[1]]
    tags = dict(pairs)
    if len(tags) != len(pairs):
        raise _BadPartError("a label is there twice")
    if len(tags) > MAX_TAGS:
        raise _BadPartError(_TOO_MANY_LABELS)
    name = tags.pop(_NAME, None)
    if name is None:
        raise _BadPartError("the series has no name")
    return name, tuple(sorted(tags.items()))


class _Labels:
    """Reads the labels of version 1, each once: the series of a body share most of theirs."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[str, str]] = {}

    def pairs(self, parts: Sequence[bytes]) -> Pairs:
        if len(parts) > MAX_TAGS:
            raise _BadPartError(_TOO_MANY_LABELS)
        if len(self._known) > _MOST_KNOWN_LABELS:
            self._known.clear()
        for part in parts:
            pair = self._known.get(part)
            if pair is None:
                texts = {1: b"", 2: b""}
                for number, _, text in wire.fields(part):
                    if number in texts and isinstance(text, bytes):
                        texts[number] = text
                pair = self._known[part] = (_text(texts[1]), _text(texts[2]))
            yield pair


class _Symbols:
    """Reads the labels of version 2: pairs of places in a table of texts, each read once."""

    def __init__(self, symbols: Iterable[bytes]) -> None:
        self._symbols = list(symbols)
        self._texts: dict[int, str] = {}

    def pairs(self, parts: Sequence[bytes]) -> Pairs:
        # A place has one byte at least, and a short body may name a long text many times.
        if sum(map(len, parts)) > _MOST_REFERENCE_BYTES:
            raise _BadPartError(_TOO_MANY_LABELS)
        places = [place for part in parts for place in wire.packed_varints(part)]
        if len(places) % 2:
            raise _BadPartError("a label has no value")
        if places and max(places) >= len(self._symbols):
            raise _BadPartError("a label is not in the table of symbols")
        texts = [self._text(place) for place in places]
        return zip(texts[::2], texts[1::2], strict=True)

    def _text(self, place: int) -> str:
        text = self._texts.get(place)
        if text is None:
            text = self._texts[place] = _text(self._symbols[place])
        return text


def _text(raw: bytes) -> str:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise _BadPartError("a label is not valid UTF-8") from error
    if not is_storable(text):
        raise _BadPartError("a label holds a NUL character")
    return text


def _sample(message: bytes) -> tuple[int, dict[str, FieldValue]]:
    """The time of a sample and its fields, which are none at the end of a series."""
    raw, time_ms = _ZERO, 0
    for number, _, part in wire.fields(message):
        if number == 1 and isinstance(part, bytes):
            raw = part
        elif number == 2 and isinstance(part, int):
            time_ms = part
    return _time_ns(time_ms), {} if raw == _STALE else {"value": _finite(raw)}


def _histogram(message: bytes) -> tuple[int, dict[str, FieldValue]]:
    count: float = 0
    total, time_ms = _ZERO, 0
    for number, _, part in wire.fields(message):
        if number == 1 and isinstance(part, int):
            count = part
        elif number == 2 and isinstance(part, bytes):
            count = _finite(part)
        elif number == 3 and isinstance(part, bytes):
            total = part
        elif number == 15 and isinstance(part, int):
            time_ms = part
    if total == _STALE:
        return _time_ns(time_ms), {}
    return _time_ns(time_ms), {"count": float(count), "sum": _finite(total)}


def _finite(raw: bytes) -> float:
    if len(raw) != 8:
        raise _BadPartError("a value is not 8 bytes long")
    (value,) = wire.unpack_double(raw)
    if not isfinite(value):
        raise _BadPartError("a value is not a finite number")
    return float(value)


def _time_ns(raw_ms: int) -> int:
    time_ns = wire.signed(raw_ms) * _NS_PER_MS
    if abs(time_ns) > LARGEST_INT64:
        raise _BadPartError("a time does not fit 64 bits of nanoseconds")
    return time_ns
