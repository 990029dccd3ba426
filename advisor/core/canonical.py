"""One text per value: frozen dataclasses to JSON and back, always the same bytes.

Keys are sorted, numbers of a float field are floats, times are UTC. Reading is that of the agent's
wire: a key that is unknown or missing, or a value of another type, is refused with its path. What
is written differs from the wire in how times and numbers look, and texts are stored, so it stays.
"""

import json
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from enforcers.contract import ContractError, decode, parse

Value = TypeVar("Value")


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


def to_plain(value: object) -> Any:
    """Lists, dicts, strings and numbers, which a column of JSON keeps."""
    return _plain(value, type(value))


def from_plain(kind: type[Value], plain: Any) -> Value:
    """The instance of the dataclass `kind` that a column of JSON keeps."""
    try:
        return decode(kind, plain, may_lack_defaults=True)
    except ContractError as error:
        raise CanonicalError(str(error)) from error


def _plain(value: Any, hint: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if is_dataclass(value):
        hints = get_type_hints(type(value))
        return {
            field.name: _plain(getattr(value, field.name), hints[field.name])
            for field in fields(value)
        }
    if isinstance(value, tuple):
        inner = get_args(hint)
        return [_plain(item, inner[0] if inner else type(item)) for item in value]
    if isinstance(value, Mapping):
        inner = get_args(hint)
        return {key: _plain(item, inner[1]) for key, item in value.items()}
    if isinstance(value, int) and float in (_without_none(hint), hint):
        return float(value)
    return value


def _without_none(hint: Any) -> Any:
    """X of `X | None`, or the hint itself."""
    if get_origin(hint) is types.UnionType:
        rest = [part for part in get_args(hint) if part is not types.NoneType]
        return rest[0] if len(rest) == 1 else hint
    return hint
