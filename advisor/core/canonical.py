"""One text per value: frozen dataclasses to JSON and back, always the same bytes.

Keys are sorted, numbers of a float field are floats, times are UTC. Reading is strict: a key that
is unknown or missing, or a value of another type, is refused with its path.
"""

import json
import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Value = TypeVar("Value")


class CanonicalError(ValueError):
    """The text does not fit the dataclass; the message names the path and the expected value."""


def dumps(value: object) -> str:
    """The canonical text of a dataclass instance."""
    plain = _plain(value, type(value))
    return json.dumps(
        plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def loads(kind: type[Value], text: str) -> Value:
    """The instance of the dataclass `kind` that `text` stands for."""
    try:
        plain = json.loads(text)
    except json.JSONDecodeError as error:
        raise CanonicalError(f"$: not JSON: {error}") from error
    made = _build(kind, plain, "$")
    assert isinstance(made, kind)
    return made


def _plain(value: Any, hint: Any) -> Any:
    """Lists, dicts, strings and numbers that JSON knows."""
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


def _build(hint: Any, plain: Any, path: str) -> Any:
    if plain is None and types.NoneType in get_args(hint):
        return None
    kind = _without_none(hint)
    if is_dataclass(kind) and isinstance(kind, type):
        return _build_dataclass(kind, plain, path)
    if get_origin(kind) is tuple:
        if not isinstance(plain, list):
            raise CanonicalError(f"{path}: {plain!r} is not a list")
        inner = get_args(kind)[0]
        return tuple(_build(inner, item, f"{path}[{index}]") for index, item in enumerate(plain))
    return _build_scalar(kind, plain, path)


def _build_dataclass(kind: type, plain: Any, path: str) -> Any:
    if not isinstance(plain, dict):
        raise CanonicalError(f"{path}: {plain!r} is not an object")
    hints = get_type_hints(kind)
    own = {field.name: field for field in fields(kind)}
    if unknown := sorted(plain.keys() - own.keys()):
        raise CanonicalError(f"{path}.{unknown[0]}: unknown key")
    for name, field in own.items():
        required = field.default is MISSING and field.default_factory is MISSING
        if required and name not in plain:
            raise CanonicalError(f"{path}.{name}: missing")
    values = {name: _build(hints[name], plain[name], f"{path}.{name}") for name in plain}
    try:
        return kind(**values)
    except ValueError as error:
        raise CanonicalError(f"{path}: {error}") from error


def _build_scalar(kind: Any, plain: Any, path: str) -> Any:
    number = isinstance(plain, (int, float)) and not isinstance(plain, bool)
    if kind is float and number and math.isfinite(plain):
        return float(plain)
    if kind in (str, bool, int) and type(plain) is kind:
        return plain
    if isinstance(plain, str) and isinstance(kind, type):
        try:
            if issubclass(kind, StrEnum):
                return kind(plain)
            if kind is datetime:
                return datetime.fromisoformat(plain)
        except ValueError as error:
            raise CanonicalError(f"{path}: {error}") from error
    name = getattr(kind, "__name__", str(kind))
    raise CanonicalError(f"{path}: {plain!r} is not a {name}")
