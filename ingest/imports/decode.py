"""The points of a file of any format, with the times moved and transfers divided if need be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeGuard

from ingest.core.decoders.diskstats import decode_diskstats
from ingest.core.decoders.errors import NeedsHostError
from ingest.core.decoders.esxtop import decode_esxtop
from ingest.core.decoders.iostat_json import decode_iostat_json
from ingest.core.decoders.iostat_text import decode_iostat
from ingest.core.decoders.lines import lines
from ingest.core.decoders.perfmon import decode_perfmon
from ingest.core.decoders.rejections import Rejections
from ingest.core.decoders.sadf_json import decode_sadf
from ingest.core.imported.answers import Answers
from ingest.core.imported.formats import Format
from ingest.core.imported.prometheus_text import decode_prometheus_text
from ingest.core.line_protocol import LineError, parse_line
from ingest.core.point import FieldValue, Point
from ingest.sources import esxtop

Chunks = Iterable[bytes]


def points_of(
    form: Format, chunks: Chunks, rejections: Rejections, answers: Answers
) -> Iterator[Point]:
    """The points of a file; times are nanoseconds since 1970. Raises `DecodeError`."""
    return map(divided, _DECODERS[form](chunks, rejections, answers))


def moved(points: Iterable[Point], *, by_ns: int) -> Iterator[Point]:
    """The same points at other times."""
    for point in points:
        yield point if point.time is None else replace(point, time=point.time + by_ns)


def divided(point: Point) -> Point:
    """The point with reads and writes, where its program counts transfers of both together.

    They are divided as the bytes are: so their sum and the time that they took stay exact, and
    each of them is an estimate. Transfers without bytes count as writes.
    """
    fields = point.fields
    transfers, read = fields.get("transfers_per_s"), fields.get("read_bytes_per_s")
    wrote = fields.get("write_bytes_per_s")
    if "reads_per_s" in fields or not (_is(transfers) and _is(read) and _is(wrote)):
        return point
    both = float(read) + float(wrote)
    reads = float(transfers) * float(read) / both if both > 0 else 0.0
    apart: dict[str, FieldValue] = {
        "reads_per_s": reads,
        "writes_per_s": float(transfers) - reads,
    }
    return replace(point, fields={**fields, **apart})


def _is(value: FieldValue | None) -> TypeGuard[float]:
    return isinstance(value, float | int) and not isinstance(value, bool)


def _esxtop(chunks: Chunks, rejections: Rejections, answers: Answers) -> Iterator[Point]:
    return decode_esxtop(
        chunks,
        rejections,
        wanted=esxtop.is_kept,
        host=answers.host or None,
        zone=answers.tzinfo,
    )


def _perfmon(chunks: Chunks, rejections: Rejections, answers: Answers) -> Iterator[Point]:
    return decode_perfmon(chunks, rejections, host=answers.host or None, zone=answers.tzinfo)


def _iostat(chunks: Chunks, rejections: Rejections, answers: Answers) -> Iterator[Point]:
    return decode_iostat(
        chunks,
        rejections,
        host=answers.host or None,
        zone=answers.tzinfo,
        date_order=answers.order,
        schedule=answers.schedule,
    )


def _iostat_json(chunks: Chunks, rejections: Rejections, answers: Answers) -> Iterator[Point]:
    return decode_iostat_json(
        chunks,
        rejections,
        host=answers.host or None,
        zone=answers.tzinfo,
        date_order=answers.order,
        schedule=answers.schedule,
    )


def _sadf(chunks: Chunks, rejections: Rejections, answers: Answers) -> Iterator[Point]:
    return decode_sadf(chunks, rejections, host=answers.host or None, zone=answers.tzinfo)


def _diskstats(chunks: Chunks, rejections: Rejections, answers: Answers) -> Iterator[Point]:
    if not answers.host:
        raise NeedsHostError("the file does not name the host that it is of")
    first = answers.first
    time_ns = None if first is None else round(first.timestamp() * 1_000_000) * 1000
    yield from decode_diskstats(
        chunks, rejections, host=answers.host, time_ns=time_ns, zone=answers.tzinfo
    )


def _line_protocol(chunks: Chunks, rejections: Rejections, _answers: Answers) -> Iterator[Point]:
    """Times are nanoseconds, which is what exports of InfluxDB have."""
    for number, raw in enumerate(lines(chunks, rejections), start=1):
        line = raw.decode("utf-8", "surrogateescape").strip()
        if not line or line.startswith(("#", "CREATE DATABASE")):
            continue
        try:
            point = parse_line(line)
        except LineError as error:
            rejections.add(f"line {number}: {line}", str(error))
            continue
        if point.time is None:
            rejections.add(f"line {number}: {line}", "the line has no time")
        else:
            yield point


def _prometheus(chunks: Chunks, rejections: Rejections, _answers: Answers) -> Iterator[Point]:
    return decode_prometheus_text(chunks, rejections)


_DECODERS: Mapping[Format, Callable[[Chunks, Rejections, Answers], Iterator[Point]]] = {
    Format.ESXTOP: _esxtop,
    Format.PERFMON: _perfmon,
    Format.IOSTAT: _iostat,
    Format.IOSTAT_JSON: _iostat_json,
    Format.SADF: _sadf,
    Format.DISKSTATS: _diskstats,
    Format.LINE_PROTOCOL: _line_protocol,
    Format.PROMETHEUS: _prometheus,
}
