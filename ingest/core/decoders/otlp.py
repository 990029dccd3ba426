"""OpenTelemetry metrics over HTTP (`/v1/metrics`), in protocol buffers or JSON.

One point per data point: the measurement is the metric's name, the tags are the attributes of the
data point and of its resource (the data point wins), and the fields are

* of a gauge, and of a sum since a start (monotonic or not): `value`;
* of a sum since the export before (delta): `rate`, the value per second of the time it covers;
* of a histogram, an exponential histogram and a summary since a start: `count` and, if it is sent,
  `sum`; since the export before: `count_rate` and `sum_rate`, per second.

Whether a `value` is a counter is known to sources, by name. A value is an integer or a float as it
was sent. A data point that says that it has no value is absence: it gives no point and is no
fault. Attributes that are lists or maps become their JSON; bytes are left out. Exemplars, buckets,
quantiles, scopes and units are left out.
"""

import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from math import isfinite
from typing import Any

from ingest.core.decoders.errors import FormatError
from ingest.core.decoders.otlp_protobuf import MOST_OBJECTS, read_request, too_many_objects
from ingest.core.decoders.rejections import Rejections
from ingest.core.decoders.texts import is_storable
from ingest.core.line_protocol import LARGEST_INT64, MAX_TAGS, SMALLEST_INT64
from ingest.core.point import FieldValue, Point

_NO_RECORDED_VALUE = 1
_NS_PER_S = 1_000_000_000
_MOST_DIGITS = 40
_DEEPEST_ATTRIBUTE = 8


class Encoding(StrEnum):
    """The content type of a body."""

    PROTOBUF = "application/x-protobuf"
    JSON = "application/json"


class _BadPartError(ValueError):
    """A data point or attribute is no good; the text is the reason."""


Json = Mapping[str, Any]


def decode_otlp(body: bytes, rejections: Rejections, *, encoding: Encoding) -> Iterator[Point]:
    """The points of an export request; times are nanoseconds since 1970, None if unknown.

    Raises `FormatError` before the first point if the body is no JSON object, `BodyTooLargeError`
    if it has more messages than can be held.
    """
    request = _read_json(body) if encoding is Encoding.JSON else read_request(body, rejections)
    for resource in _objects(request, "resourceMetrics", rejections):
        common = _attributes(_object(resource, "resource"), rejections)
        for scope in _objects(resource, "scopeMetrics", rejections):
            for metric in _objects(scope, "metrics", rejections):
                yield from _metric_points(metric, common, rejections)


def _read_json(body: bytes) -> Json:
    if body.count(b"{") + body.count(b"[") > MOST_OBJECTS:
        raise too_many_objects()
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the body is not JSON: {error}") from error
    if not isinstance(request, dict):
        raise FormatError("the body is not a JSON object")
    return request


def _metric_points(
    metric: Json, common: dict[str, str], rejections: Rejections
) -> Iterator[Point]:
    name = metric.get("name")
    if not isinstance(name, str) or not name or not is_storable(name):
        rejections.add(f"metric {name or ''}", "the metric has no name that can be stored")
        return
    for kind in _KINDS:
        data = _object(metric, kind)
        for point in _objects(data, "dataPoints", rejections):
            try:
                fields = _fields(kind, data, point)
                time_ns = _integer(_get(point, "timeUnixNano")) or None
                tags = _tags(common, _attributes(point, rejections))
            except _BadPartError as error:
                rejections.add(name, str(error))
                continue
            if fields:
                yield Point(
                    measurement=name,
                    tags=tags,
                    fields=fields,
                    time=time_ns,
                )


_NUMBERS = frozenset({"gauge", "sum"})
_WITH_TEMPORALITY = frozenset({"sum", "histogram", "exponentialHistogram"})
_KINDS = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")
_DELTA: frozenset[int | str] = frozenset({1, "1", "AGGREGATION_TEMPORALITY_DELTA"})
_CUMULATIVE: frozenset[int | str] = frozenset({2, "2", "AGGREGATION_TEMPORALITY_CUMULATIVE"})


def _fields(kind: str, data: Json, point: Json) -> dict[str, FieldValue]:
    """The fields of a data point, which are none where it says that it has no value."""
    if (_integer(_get(point, "flags")) or 0) & _NO_RECORDED_VALUE:
        return {}
    if kind in _NUMBERS:
        values: dict[str, int | float] = {"value": _value(point)}
    else:
        values = {"count": _integer(_get(point, "count")) or 0}
        if _get(point, "sum") is not None:
            values["sum"] = _number(_get(point, "sum"))
    temporality = _get(data, "aggregationTemporality")
    if kind not in _WITH_TEMPORALITY or _is_in(temporality, _CUMULATIVE):
        return {**values}
    if not _is_in(temporality, _DELTA):
        raise _BadPartError("it is not said whether the sum is since a start or since the export")
    seconds = _seconds(point)
    names = {"value": "rate", "count": "count_rate", "sum": "sum_rate"}
    return {names[name]: value / seconds for name, value in values.items()}


def _is_in(value: object, members: frozenset[int | str]) -> bool:
    return isinstance(value, int | str) and value in members


def _seconds(point: Json) -> float:
    """The time that a delta covers."""
    start = _integer(_get(point, "startTimeUnixNano"))
    end = _integer(_get(point, "timeUnixNano"))
    if not start or not end or start >= end:
        raise _BadPartError("a sum since the export before does not say what time it covers")
    return (end - start) / _NS_PER_S


def _value(point: Json) -> int | float:
    whole = _get(point, "asInt")
    if whole is not None:
        value = _integer(whole)
        assert value is not None
        return value
    return _number(_get(point, "asDouble"))


def _integer(value: object) -> int | None:
    """A 64-bit number, which JSON may give as text; None where it is absent."""
    match value:
        case None:
            return None
        case str() if len(value) <= _MOST_DIGITS and re.fullmatch(r"-?[0-9]+", value):
            whole = int(value)
        case float() if value.is_integer():
            whole = int(value)
        case int() if not isinstance(value, bool):
            whole = value
        case _:
            raise _BadPartError("a number is not a whole number")
    if not SMALLEST_INT64 <= whole <= LARGEST_INT64:
        raise _BadPartError("a number does not fit 64 bits")
    return whole


def _number(value: object) -> float:
    """A finite number, which JSON may give as text."""
    try:
        found = float(value) if isinstance(value, int | float | str) else None
    except (ValueError, OverflowError):
        found = None
    if found is None or isinstance(value, bool):
        raise _BadPartError("a value is not a number")
    if not isfinite(found):
        raise _BadPartError("a value is not a finite number")
    return found


def _attributes(owner: Json, rejections: Rejections) -> dict[str, str]:
    """Attributes as tags. An empty text is none."""
    tags: dict[str, str] = {}
    for attribute in _objects(owner, "attributes", rejections):
        key = attribute.get("key")
        try:
            text = _text(_plain(_object(attribute, "value"), depth=0))
        except _BadPartError as error:
            rejections.add(f"attribute {key}", str(error))
            continue
        if not isinstance(key, str) or not is_storable(key + text):
            rejections.add(f"attribute {key}", "the attribute cannot be stored")
        elif key and text:
            tags[key] = text
    return tags


def _tags(common: dict[str, str], own: dict[str, str]) -> tuple[tuple[str, str], ...]:
    tags = {**common, **own}
    if len(tags) > MAX_TAGS:
        raise _BadPartError(f"the data point has more than {MAX_TAGS} attributes")
    return tuple(sorted(tags.items()))


def _text(plain: object) -> str:
    if isinstance(plain, str):
        return plain
    return "" if plain is None else json.dumps(plain, ensure_ascii=False, sort_keys=True)


def _plain(value: Json, *, depth: int) -> object:
    """The value of an attribute as JSON would write it; None for one that has none."""
    if depth > _DEEPEST_ATTRIBUTE:
        raise _BadPartError(f"the attribute is nested more than {_DEEPEST_ATTRIBUTE} deep")
    # Perl writes a text of digits as a number where it was ever used as one.
    if isinstance(text := _get(value, "stringValue"), str | int | float):
        return str(text)
    if isinstance(flag := _get(value, "boolValue"), bool):
        return flag
    if (whole := _get(value, "intValue")) is not None:
        return _integer(whole)
    if (number := _get(value, "doubleValue")) is not None:
        return _number(number)
    unread = Rejections()
    if array := _object(value, "arrayValue"):
        return [_plain(item, depth=depth + 1) for item in _objects(array, "values", unread)]
    if pairs := _object(value, "kvlistValue"):
        return {
            str(pair.get("key")): _plain(_object(pair, "value"), depth=depth + 1)
            for pair in _objects(pairs, "values", unread)
        }
    return None


def _get(owner: Json, name: str) -> Any:
    """A member by its JSON name, or by its name in the definitions, which JSON may use as well."""
    value = owner.get(name)
    return owner.get(_snake_case(name)) if value is None else value


@cache
def _snake_case(name: str) -> str:
    """The other name of a member; `name` is one of this file, so that few are kept."""
    return re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), name)


def _object(owner: Json, name: str) -> Json:
    value = _get(owner, name)
    return value if isinstance(value, dict) else {}


def _objects(owner: Json, name: str, rejections: Rejections) -> Iterator[Json]:
    value = _get(owner, name)
    if value is None:
        return
    if not isinstance(value, list):
        rejections.add(name, "it is not a list")
        return
    for item in value:
        if isinstance(item, dict):
            yield item
        else:
            rejections.add(name, "an element of the list is not an object")
