"""One JSON text per value, and a decoder that accepts nothing it does not know.

The dataclass is the schema: field types decide what is accepted, and every refusal
names the JSON path.
"""

import dataclasses
import functools
import json
import math
import types
import typing
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

from enforcers.errors import ContractError

LARGEST_INTEGER = 2**63 - 1

T = TypeVar("T")
UNSAID = {"unsaid": True}
"""Metadata of a field that is written only where it is not None: former readers know it not."""


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def encode(value: Any) -> bytes:
    """The canonical bytes of a dataclass: sorted keys, no spaces, ASCII, no NaN."""
    return b"".join(_pieces(value))


def _pieces(value: Any) -> Iterator[bytes]:
    """Long lists become text item by item, so that their plain form is never whole in memory."""
    kind: Any = type(value)
    if isinstance(value, tuple):
        begins = b"["
        for item in value:
            yield begins + dump(to_plain(item))
            begins = b","
        yield b"]" if value else b"[]"
    elif names := _field_names(kind):
        begins = b"{"
        unsaid = [name for name in unsaid_names(kind) if getattr(value, name) is None]
        for name in sorted(set(names).difference(unsaid)):
            yield b'%b"%b":' % (begins, name.encode())
            yield from _pieces(getattr(value, name))
            begins = b","
        yield b"}"
    else:
        yield dump(to_plain(value))


def dump(plain: Any) -> bytes:
    """The canonical bytes of plain JSON data."""
    return _ENCODER.encode(plain).encode("ascii")


def to_plain(value: Any) -> Any:
    """Turn a dataclass into dicts, lists and scalars."""
    kind: Any = type(value)
    names = _field_names(kind)
    if names:
        plain = {name: to_plain(getattr(value, name)) for name in names}
        for name in unsaid_names(kind):
            if plain[name] is None:
                del plain[name]
        return plain
    if isinstance(value, tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, datetime):
        return _format_time(value)
    if isinstance(value, StrEnum):
        return value.value
    return value


@functools.cache
def _field_names(kind: Any) -> tuple[str, ...]:
    """Looked up once for each type, and not for each value."""
    if not dataclasses.is_dataclass(kind):
        return ()
    return tuple(field.name for field in dataclasses.fields(kind))


@functools.cache
def unsaid_names(kind: Any) -> tuple[str, ...]:
    """The fields of a dataclass that are left out where they say nothing."""
    return tuple(field.name for field in dataclasses.fields(kind) if field.metadata == UNSAID)


def parse(data: bytes | str) -> Any:
    """Parse JSON strictly: no NaN, no infinity, no repeated key.

    Raises ContractError.
    """
    try:
        return json.loads(data, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys)
    except UnicodeDecodeError as error:
        raise ContractError("$", f"not UTF-8 text ({error.reason})") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise ContractError("$", f"not JSON ({error.msg}, {where})") from error
    except RecursionError as error:
        raise ContractError("$", "nested too deeply") from error
    except ValueError as error:
        raise ContractError("$", f"not JSON ({error})") from error


def decode_versioned(kind: type[T], data: bytes | str, *, known: int) -> T:
    """Parse and build `kind`, its schema version first: a newer format may differ in all else."""
    return decode_known(kind, parse(data), known=known)


def decode_known(kind: type[T], plain: Any, *, known: int) -> T:
    """Build `kind` from parsed JSON of the known version; raises ContractError."""
    if isinstance(plain, dict) and "schema_version" in plain:
        check_version(plain["schema_version"], known=known)
    return decode(kind, plain)


def check_version(version: Any, *, known: int) -> None:
    """Refuse every schema version but the known one."""
    if type(version) is not int or version != known:
        raise ContractError(
            "$.schema_version", f"version {version!r} is unknown; known is {known}"
        )


def decode(kind: type[T], plain: Any, *, may_lack_defaults: bool = False) -> T:
    """Build `kind` from parsed JSON. Raises ContractError with the path of the first problem.

    A key that is missing is refused, unless `may_lack_defaults` and the field has a default.
    """
    schema: Any = kind
    result: T = _decoder(schema)(plain, may_lack_defaults)
    return result


Decoder = Callable[[Any, bool], Any]
"""Takes parsed JSON, and whether keys with a default may lack. Paths of refusals begin here."""


@functools.cache
def _decoder(kind: Any) -> Decoder:
    """Made once for each type, so that its hints are looked up once and not for each value."""
    origin = typing.get_origin(kind)
    if origin is tuple:
        return _list_decoder(typing.get_args(kind)[0])
    if origin in (types.UnionType, typing.Union):
        inner = next(arg for arg in typing.get_args(kind) if arg is not types.NoneType)
        return _optional_decoder(_decoder(inner))
    if hasattr(kind, "STORED"):
        return _stored_decoder(kind)
    if dataclasses.is_dataclass(kind):
        return _object_decoder(kind)
    if issubclass(kind, StrEnum):
        return _enum_decoder(kind)
    return _scalar_decoder(kind)


def _list_decoder(kind: Any) -> Decoder:
    item = _decoder(kind)

    def decode_list(plain: Any, lax: bool) -> tuple[Any, ...]:
        if not isinstance(plain, list):
            raise ContractError("$", f"expected a list, got {_describe(plain)}")
        if _are_finite_floats(kind, plain):
            return tuple(plain)
        found = []
        for place, one in enumerate(plain):
            try:
                found.append(item(one, lax))
            except ContractError as error:
                raise _below(f"$[{place}]", error) from error
        return tuple(found)

    return decode_list


def _are_finite_floats(kind: Any, items: list[Any]) -> bool:
    """Whether the items are what they become: long columns are looked at as a whole."""
    if kind is float:
        return set(map(type, items)) <= {float} and all(map(math.isfinite, items))
    if kind != float | None:
        return False
    known = [item for item in items if item is not None]
    return set(map(type, known)) <= {float} and all(map(math.isfinite, known))


def _optional_decoder(inner: Decoder) -> Decoder:
    return lambda plain, lax: None if plain is None else inner(plain, lax)


def _object_decoder(kind: Any) -> Decoder:
    optional = _names_with_default(kind)
    hints = typing.get_type_hints(kind)
    fields = {field.name: _decoder(hints[field.name]) for field in dataclasses.fields(kind)}

    def decode_object(plain: Any, lax: bool) -> Any:
        if not isinstance(plain, dict):
            raise ContractError("$", f"expected an object, got {_describe(plain)}")
        if plain.keys() != fields.keys():
            _check_keys(plain, fields, optional if lax else frozenset())
        values = {}
        for name, field in fields.items():
            if name in plain:
                try:
                    values[name] = field(plain[name], lax)
                except ContractError as error:
                    raise _below(f"$.{name}", error) from error
        try:
            return kind(**values)
        except ValueError as error:
            raise ContractError("$", str(error)) from error

    return decode_object


def _stored_decoder(kind: Any) -> Decoder:
    """Of a type that is written as the dataclass `STORED`, and made of it by `of`."""
    stored = _decoder(kind.STORED)

    def decode_stored(plain: Any, lax: bool) -> Any:
        try:
            return kind.of(stored(plain, lax))
        except ValueError as error:
            raise ContractError("$", str(error)) from error

    return decode_stored


def _check_keys(plain: Any, fields: Collection[str], optional: Collection[str]) -> None:
    unknown = sorted(set(plain) - set(fields))
    if unknown:
        raise ContractError(f"$.{unknown[0]}", "unknown key")
    missing = [name for name in fields if name not in plain and name not in optional]
    if missing:
        raise ContractError(f"$.{missing[0]}", "missing")


def _below(path: str, error: ContractError) -> ContractError:
    return ContractError(path + error.path.removeprefix("$"), error.problem)


def _enum_decoder(kind: type[StrEnum]) -> Decoder:
    members = {member.value: member for member in kind}

    def decode_enum(plain: Any, _lax: bool) -> StrEnum:
        if not isinstance(plain, str) or plain not in members:
            wanted = ", ".join(members)
            raise ContractError("$", f"expected one of {wanted}, got {_describe(plain)}")
        return members[plain]

    return decode_enum


def _scalar_decoder(kind: Any) -> Decoder:
    if kind is float:
        return _decode_float
    if kind is datetime:
        return _decode_time

    def decode_scalar(plain: Any, _lax: bool) -> Any:
        # bool is a subclass of int, so the exact type decides.
        if type(plain) is not kind:
            raise ContractError("$", f"expected {kind.__name__}, got {_describe(plain)}")
        if kind is int and abs(plain) > LARGEST_INTEGER:
            raise ContractError("$", f"integer beyond {LARGEST_INTEGER}")
        return plain

    return decode_scalar


def _decode_float(plain: Any, _lax: bool) -> float:
    if type(plain) not in (int, float):
        raise ContractError("$", f"expected float, got {_describe(plain)}")
    try:
        number = float(plain)
    except OverflowError as error:
        raise ContractError("$", "number is not finite") from error
    if not math.isfinite(number):
        raise ContractError("$", "number is not finite")
    return number


def _decode_time(plain: Any, _lax: bool) -> datetime:
    if not isinstance(plain, str):
        raise ContractError("$", f"expected an RFC 3339 time, got {_describe(plain)}")
    try:
        moment = datetime.fromisoformat(plain)
    except ValueError as error:
        raise ContractError("$", f"expected an RFC 3339 time, got {_describe(plain)}") from error
    if moment.tzinfo is None:
        raise ContractError("$", "time without a zone")
    return moment.astimezone(UTC)


def _format_time(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise ContractError("$", "time without a zone")
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _names_with_default(kind: Any) -> frozenset[str]:
    return frozenset(
        field.name
        for field in dataclasses.fields(kind)
        if field.default is not dataclasses.MISSING
        or field.default_factory is not dataclasses.MISSING
    )


def _describe(plain: Any) -> str:
    text = json.dumps(plain, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not allowed")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {repeated!r} appears twice")
    return result
