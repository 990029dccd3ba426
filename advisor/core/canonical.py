"""One text per value: frozen dataclasses to JSON and back, always the same bytes.

Keys are sorted, numbers of a float field are floats, times are UTC. Reading is that of the agent's
wire: a key that is unknown or missing, or a value of another type, is refused with its path. What
is written differs from the wire in how times and numbers look, and texts are stored, so it stays.
What is held as columns names the dataclass that it is `STORED` as, with `stored` and `of` between;
`plain` writes the same at once.
"""

import json
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from enforcers.contract import ContractError, decode, parse

Value = TypeVar("Value")
ADDED = {"is_added": True}
"""Metadata of a field with a default that is left out where it has it.

The version before reads what does not need the field, and the text of that stays the same.
"""


class CanonicalError(ValueError):
    """The text does not fit the dataclass; the message names the path and the expected value."""


def dumps(value: object) -> str:
    """The canonical text of a dataclass instance."""
    return json.dumps(
        to_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def loads(kind: type[Value], text: str) -> Value:
    """The instance of the dataclass `kind` that `text` stands for."""
    try:
        plain = parse(text)
    except ContractError as error:
        raise CanonicalError(str(error)) from error
    return from_plain(kind, plain)


def loads_part(kind: type[Value], text: str) -> Value:
    """The instance of a dataclass of some fields of what `text` stands for, also in its parts.

    Other fields are not looked at, so what is large in them costs little, and a version reads
    what a later one wrote.
    """
    try:
        plain = parse(text)
    except ContractError as error:
        raise CanonicalError(str(error)) from error
    return from_plain(kind, _known(kind, plain))


def _known(hint: Any, plain: Any) -> Any:
    """Without the fields that the dataclasses of the hint do not have."""
    kind: Any = _without_none(hint)
    if isinstance(plain, list) and get_origin(kind) is tuple:
        return [_known(get_args(kind)[0], item) for item in plain]
    is_read_by_field = is_dataclass(kind) and not hasattr(kind, "STORED")
    if isinstance(plain, dict) and is_read_by_field:
        hints = _hints(kind)
        return {name: _known(hints[name], one) for name, one in plain.items() if name in hints}
    return plain


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def to_plain(value: object) -> Any:
    """Lists, dicts, strings and numbers, which a column of JSON keeps."""
    kind: Any = type(value)
    return _writer(kind)(value)


def from_plain(kind: type[Value], plain: Any) -> Value:
    """The instance of the dataclass `kind` that a column of JSON keeps."""
    try:
        return decode(kind, plain, may_lack_defaults=True)
    except ContractError as error:
        raise CanonicalError(str(error)) from error


class _Writer:
    """Writes values of one hint: what to do with each type of value is decided once."""

    def __init__(self, hint: Any) -> None:
        self.hint = hint
        self.by_type: dict[type, Callable[[Any], Any]] = {}

    def __call__(self, value: Any) -> Any:
        kind = type(value)
        write = self.by_type.get(kind)
        if write is None:
            write = self.by_type[kind] = self._of(kind)
        return write(value)

    def _of(self, kind: type) -> Callable[[Any], Any]:
        if issubclass(kind, StrEnum):
            return lambda value: value.value
        if issubclass(kind, datetime):
            return lambda value: value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        if hasattr(kind, "plain"):
            return lambda value: value.plain()
        if hasattr(kind, "STORED"):
            write = _writer(kind.STORED)
            return lambda value: write(value.stored())
        if is_dataclass(kind):
            return _fields_writer(kind)
        if issubclass(kind, tuple):
            inner = get_args(self.hint)
            return _items_writer(inner[0] if inner else None)
        if issubclass(kind, Mapping):
            item = _writer(get_args(self.hint)[1])
            return lambda value: {key: item(one) for key, one in value.items()}
        is_float = float in (_without_none(self.hint), self.hint)
        if is_float and issubclass(kind, int) and not issubclass(kind, bool):
            return float
        return _same


_AS_THEY_ARE = frozenset({str, float, bool, types.NoneType})
"""Written without asking the hint of the field: most values are of these types."""


def _same(value: Any) -> Any:
    return value


@cache
def _writer(hint: Any) -> _Writer:
    return _Writer(hint)


def _fields_writer(kind: Any) -> Callable[[Any], Any]:
    hints = _hints(kind)
    writers = [(field.name, _writer(hints[field.name])) for field in fields(kind)]
    added = [(field.name, field.default) for field in fields(kind) if field.metadata == ADDED]

    def write_all(value: Any) -> dict[str, Any]:
        return {
            name: one if type(one := getattr(value, name)) in _AS_THEY_ARE else write(one)
            for name, write in writers
        }

    def write_needed(value: Any) -> dict[str, Any]:
        plain = write_all(value)
        for name, default in added:
            if getattr(value, name) == default:
                del plain[name]
        return plain

    return write_needed if added else write_all


def _items_writer(hint: Any) -> Callable[[Any], Any]:
    """The items of a tuple; without a hint each has its own type for one."""
    if hint is None:
        return lambda value: [to_plain(item) for item in value]
    write = _writer(hint)
    return lambda value: [write(item) for item in value]


def _without_none(hint: Any) -> Any:
    """X of `X | None`, or the hint itself."""
    if get_origin(hint) is types.UnionType:
        rest = [part for part in get_args(hint) if part is not types.NoneType]
        return rest[0] if len(rest) == 1 else hint
    return hint
