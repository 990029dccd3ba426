"""Metrics of OTLP in protocol buffers, as the mapping that their JSON form is.

The definitions are those of opentelemetry-proto 1.x, without what no figure comes from
(exemplars, buckets, scopes, schema URLs, descriptions).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ingest.core.decoders import protobuf_wire as wire
from ingest.core.decoders.errors import BodyTooLargeError
from ingest.core.decoders.protobuf_wire import WireError
from ingest.core.decoders.rejections import Rejections

MOST_OBJECTS = 1_000_000
"""Messages of a request, one within another: of a data point with five attributes eleven. Each
takes hundreds of bytes, an empty one has two."""
_DEEPEST = 32
"""Messages within messages; a request has eight, and values of attributes may nest further."""


class _Kind(Enum):
    TEXT = auto()
    DOUBLE = auto()
    FIXED64 = auto()
    SFIXED64 = auto()
    INT64 = auto()
    BOOL = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    """The fields of a message by number: name, and kind or number of the message in `_MESSAGES`.

    A list of one message is a repeated field. A broken message that `is_container` keeps what
    stands before the break; any other is left out as a whole.
    """

    fields: Mapping[int, tuple[str, "_Kind | str | list[str]"]]
    is_container: bool = False


_POINT: dict[int, tuple[str, _Kind | str | list[str]]] = {
    2: ("startTimeUnixNano", _Kind.FIXED64),
    3: ("timeUnixNano", _Kind.FIXED64),
}
_COUNT_AND_SUM: dict[int, tuple[str, _Kind | str | list[str]]] = {
    **_POINT,
    4: ("count", _Kind.FIXED64),
    5: ("sum", _Kind.DOUBLE),
}
_MESSAGES = {
    "Request": _Message(
        fields={1: ("resourceMetrics", ["ResourceMetrics"])},
        is_container=True,
    ),
    "ResourceMetrics": _Message(
        fields={1: ("resource", "Resource"), 2: ("scopeMetrics", ["ScopeMetrics"])},
        is_container=True,
    ),
    "Resource": _Message(fields={1: ("attributes", ["KeyValue"])}),
    "ScopeMetrics": _Message(fields={2: ("metrics", ["Metric"])}, is_container=True),
    "Metric": _Message(
        fields={
            1: ("name", _Kind.TEXT),
            5: ("gauge", "Gauge"),
            7: ("sum", "Sum"),
            9: ("histogram", "Histogram"),
            10: ("exponentialHistogram", "ExponentialHistogram"),
            11: ("summary", "Summary"),
        },
        is_container=True,
    ),
    "Gauge": _Message(fields={1: ("dataPoints", ["NumberDataPoint"])}, is_container=True),
    # These say whether they are totals behind their points, so that a broken one says nothing.
    "Sum": _Message(
        fields={
            1: ("dataPoints", ["NumberDataPoint"]),
            2: ("aggregationTemporality", _Kind.INT64),
        }
    ),
    "Histogram": _Message(
        fields={
            1: ("dataPoints", ["HistogramDataPoint"]),
            2: ("aggregationTemporality", _Kind.INT64),
        }
    ),
    "ExponentialHistogram": _Message(
        fields={
            1: ("dataPoints", ["ExponentialDataPoint"]),
            2: ("aggregationTemporality", _Kind.INT64),
        }
    ),
    "Summary": _Message(fields={1: ("dataPoints", ["SummaryDataPoint"])}, is_container=True),
    "NumberDataPoint": _Message(
        fields={
            **_POINT,
            4: ("asDouble", _Kind.DOUBLE),
            6: ("asInt", _Kind.SFIXED64),
            7: ("attributes", ["KeyValue"]),
            8: ("flags", _Kind.INT64),
        }
    ),
    "HistogramDataPoint": _Message(
        fields={
            **_COUNT_AND_SUM,
            9: ("attributes", ["KeyValue"]),
            10: ("flags", _Kind.INT64),
        }
    ),
    "ExponentialDataPoint": _Message(
        fields={
            **_COUNT_AND_SUM,
            1: ("attributes", ["KeyValue"]),
            10: ("flags", _Kind.INT64),
        }
    ),
    "SummaryDataPoint": _Message(
        fields={
            **_COUNT_AND_SUM,
            7: ("attributes", ["KeyValue"]),
            8: ("flags", _Kind.INT64),
        }
    ),
    "KeyValue": _Message(fields={1: ("key", _Kind.TEXT), 2: ("value", "AnyValue")}),
    "AnyValue": _Message(
        fields={
            1: ("stringValue", _Kind.TEXT),
            2: ("boolValue", _Kind.BOOL),
            3: ("intValue", _Kind.INT64),
            4: ("doubleValue", _Kind.DOUBLE),
            5: ("arrayValue", "ArrayValue"),
            6: ("kvlistValue", "KeyValueList"),
        }
    ),
    "ArrayValue": _Message(fields={1: ("values", ["AnyValue"])}),
    "KeyValueList": _Message(fields={1: ("values", ["KeyValue"])}),
}


def read_request(body: bytes, rejections: Rejections) -> dict[str, Any]:
    """The request as its JSON form names it; broken parts are left out and named.

    Raises `BodyTooLargeError` for one of more than `MOST_OBJECTS` messages.
    """
    return _Reader(rejections).read(body, "Request", depth=0)


class _Reader:
    """Reads the messages of one request, and counts them."""

    def __init__(self, rejections: Rejections) -> None:
        self._rejections = rejections
        self._messages = 0

    def read(self, data: bytes, name: str, *, depth: int) -> dict[str, Any]:
        if depth > _DEEPEST:
            raise WireError(f"messages are nested more than {_DEEPEST} deep")
        self._messages += 1
        if self._messages > MOST_OBJECTS:
            raise too_many_objects()
        message = _MESSAGES[name]
        found: dict[str, Any] = {}
        try:
            for number, wire_type, raw in wire.fields(data):
                if number in message.fields:
                    field, kind = message.fields[number]
                    if isinstance(kind, _Kind):
                        found[field] = _scalar(kind, wire_type, raw, field)
                    elif isinstance(raw, bytes):
                        part = self._part(raw, kind, depth, is_kept=message.is_container)
                        _put(found, field, part, is_list=isinstance(kind, list))
        except WireError as error:
            if not message.is_container:
                raise
            self._rejections.add(f"the rest of {name}", str(error))
        return found

    def _part(
        self, raw: bytes, kind: str | list[str], depth: int, *, is_kept: bool
    ) -> dict[str, Any] | None:
        """A message within another; None if it is broken and the other `is_kept` without it."""
        name = kind if isinstance(kind, str) else kind[0]
        try:
            return self.read(raw, name, depth=depth + 1)
        except WireError as error:
            if not is_kept:
                raise
            self._rejections.add(name, str(error))
            return None


def too_many_objects() -> BodyTooLargeError:
    """Why a request is refused that would take many times its size of memory."""
    return BodyTooLargeError(
        f"the request has more than {MOST_OBJECTS} messages; send fewer metrics at a time"
    )


def _put(found: dict[str, Any], field: str, part: dict[str, Any] | None, *, is_list: bool) -> None:
    if part is None:
        return
    if is_list:
        found.setdefault(field, []).append(part)
    else:
        found[field] = part


def _scalar(kind: _Kind, wire_type: int, raw: int | bytes, field: str) -> str | float | int | bool:
    match kind, wire_type, raw:
        case _Kind.TEXT, wire.BYTES, bytes():
            try:
                return raw.decode()
            except UnicodeDecodeError as error:
                raise WireError(f"{field} is not valid UTF-8") from error
        case _Kind.DOUBLE, wire.FIXED64, bytes():
            return float(wire.unpack_double(raw)[0])
        case _Kind.FIXED64, wire.FIXED64, bytes():
            return int(wire.unpack_fixed64(raw)[0])
        case _Kind.SFIXED64, wire.FIXED64, bytes():
            return int(wire.unpack_sfixed64(raw)[0])
        case _Kind.INT64, wire.VARINT, int():
            return wire.signed(raw)
        case _Kind.BOOL, wire.VARINT, int():
            return bool(raw)
        case _:
            raise WireError(f"{field} has the wrong wire type {wire_type}")


def partial_success(rejected: int, reason: str) -> bytes:
    """The answer to a request of which some data points were not kept."""
    text = reason.encode()
    partial = b"\x08" + wire.varint(rejected) + b"\x12" + wire.varint(len(text)) + text
    return b"\x0a" + wire.varint(len(partial)) + partial
