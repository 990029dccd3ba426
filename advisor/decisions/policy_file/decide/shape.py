"""The fields of the format, as its classes state them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from advisor.decisions.policy_file.decide.document import PolicyFile, Says


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One field: its name in Python and in the file, and what it may hold.

    `types` are the alternatives without None; `items` is the type of a list's members,
    `record` that of an object. A section
    is left out or has a value: an empty one could mean both.
    """

    name: str
    key: str
    says: Says
    types: tuple[Any, ...]
    items: Any
    record: Any
    words: tuple[Any, ...]
    is_required: bool
    default: Any
    is_compared: bool
    allows_none: bool


def shapes_of(record: type) -> Mapping[str, Shape]:
    """The fields of a class by their key in the file, in the order in which they are written."""
    if record not in _KNOWN:
        _KNOWN[record] = _shapes(record)
    return _KNOWN[record]


_KNOWN: dict[type, Mapping[str, Shape]] = {}


def _shapes(record: type) -> Mapping[str, Shape]:
    hints = get_type_hints(record, include_extras=True)
    found = [_shape(one, hints[one.name], record) for one in fields(record)]
    return {one.key: one for one in found}


def is_record(kind: Any) -> bool:
    """Whether a type is one of the format's classes."""
    return isinstance(kind, type) and is_dataclass(kind)


def _shape(one: Field[Any], hint: Any, record: type) -> Shape:
    kind, says = _parts(hint)
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    plain = [option for option in options if option is not NoneType]
    words = [word for option in plain for word in _words(option)]
    lists = [option for option in plain if get_origin(option) is tuple]
    return Shape(
        name=one.name,
        key=says.key or one.name,
        says=says,
        types=tuple(option for option in plain if get_origin(option) not in (Literal, tuple)),
        items=get_args(lists[0])[0] if lists else None,
        record=next(filter(is_record, plain), None),
        words=tuple(words),
        is_required=one.default is MISSING,
        default=None if one.default is MISSING else one.default,
        is_compared=bool(one.compare),
        allows_none=one.default is None and record is not PolicyFile,
    )


def _parts(hint: Any) -> tuple[Any, Says]:
    if get_origin(hint) is Annotated:
        kind, *notes = get_args(hint)
        return kind, next(note for note in notes if isinstance(note, Says))
    raise TypeError(f"{hint} says nothing of itself")


def _words(option: Any) -> tuple[Any, ...]:
    return get_args(option) if get_origin(option) is Literal else ()
