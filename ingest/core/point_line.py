"""A point as a line of line protocol, which `parse_line` reads back."""

import re

from ingest.core.point import FieldValue, Point

_SPECIAL = re.compile(r"[ ,=]")
_SPECIAL_IN_MEASUREMENT = re.compile(r"[ ,]")
# Line protocol has no way to write them in a name.
_UNWRITABLE = re.compile(r"[\x00-\x1f\x7f]")


def point_line(point: Point) -> str:
    """The line without a line break.

    Control characters of names become the replacement character. A tag whose value is empty is
    left out. Times are written as they are.
    """
    head = _name(point.measurement, _SPECIAL_IN_MEASUREMENT)
    for name, value in point.tags:
        if text := _name(value):
            head += f",{_name(name)}={text}"
    fields = ",".join(f"{_name(name)}={_value(value)}" for name, value in point.fields.items())
    return f"{head} {fields}" if point.time is None else f"{head} {fields} {point.time}"


def _name(text: str, special: re.Pattern[str] = _SPECIAL) -> str:
    # A backslash at the end would escape what follows.
    shown = _UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text).rstrip("\\")
    return special.sub(r"\\\g<0>", shown)


def _value(value: FieldValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}i"
    if isinstance(value, float):
        return repr(value)
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
