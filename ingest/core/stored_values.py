"""Fields of a line become the columns of the sample tables."""

from collections.abc import Iterator, Mapping

from ingest.core import catalogue
from ingest.core.catalogue import Field, FieldKind, Measurement
from ingest.core.line_protocol import LARGEST_INT64, FieldValue, LineError

Value = int | float | None

STORED = {
    measurement.name: measurement
    for measurement in catalogue.MEASUREMENTS
    # This one is made from lines of cgroup; it has no lines of its own.
    if measurement is not catalogue.CGROUP_PRESSURE
}
"""The measurements of lines by name."""

_NAMES = {
    measurement: tuple(column.name for column in measurement.fields)
    for measurement in catalogue.MEASUREMENTS
}
_ONLY_INTEGERS = frozenset({int})


def stored_values(
    measurement: Measurement, fields: Mapping[str, FieldValue]
) -> Iterator[tuple[Measurement, str, tuple[Value, ...]]]:
    """The rows that a line makes: measurement, device (of cgroups only) and values.

    None if no field of the line is stored. Raises `LineError` for a value of the wrong kind.
    """
    if measurement is catalogue.CGROUP:
        yield from _cgroup_values(fields)
    elif (values := _columns(measurement, fields)) is not None:
        yield measurement, "", values


def _cgroup_values(
    fields: Mapping[str, FieldValue],
) -> Iterator[tuple[Measurement, str, tuple[Value, ...]]]:
    """Telegraf names fields after the file: `io.stat.<device>.rios`, `io.pressure.some.total`."""
    devices: dict[str, dict[str, FieldValue]] = {}
    pressure: dict[str, FieldValue] = {}
    for name, value in fields.items():
        if name.startswith("io.stat."):
            device, _, counter = name.removeprefix("io.stat.").rpartition(".")
            devices.setdefault(device, {})[counter] = value
        elif name.startswith("io.pressure."):
            pressure[name.removeprefix("io.pressure.").replace(".", "_")] = value
    for device, counters in sorted(devices.items()):
        if device and (values := _columns(catalogue.CGROUP, counters)) is not None:
            yield catalogue.CGROUP, device, values
    if (values := _columns(catalogue.CGROUP_PRESSURE, pressure)) is not None:
        yield catalogue.CGROUP_PRESSURE, "", values


def _columns(
    measurement: Measurement, fields: Mapping[str, FieldValue]
) -> tuple[Value, ...] | None:
    """The values of a row; None if the line has no field that is stored."""
    given = tuple(map(fields.get, _NAMES[measurement]))
    if _ONLY_INTEGERS.issuperset(map(type, given)):
        # The common case, a full row of counters, without a call per column.
        integers: tuple[int, ...] = given  # type: ignore[assignment]  # the line above proves it
        if min(integers) >= 0 and max(integers) <= LARGEST_INT64:
            return integers
    values = tuple(map(_column_value, measurement.fields, given))
    return values if any(value is not None for value in values) else None


def _column_value(column: Field, value: FieldValue | None) -> Value:
    if value is None:
        return None
    if isinstance(value, str | bool):
        kind = "a string" if isinstance(value, str) else "true or false"
        raise LineError(f'field "{column.name}" must be a {column.kind}, not {kind}')
    if column.kind is FieldKind.NUMBER:
        return float(value)
    if value != int(value):
        raise LineError(f'field "{column.name}" must be a {column.kind}, not a fraction')
    if value > LARGEST_INT64:
        raise LineError(f'field "{column.name}" does not fit a signed 64-bit integer')
    if value < 0:
        if column.kind is FieldKind.COUNTER:
            raise LineError(f'field "{column.name}" is a counter and cannot be negative')
        # Linux and Telegraf say -1 for what they do not know, such as the speed of a tunnel.
        return None
    return int(value)
