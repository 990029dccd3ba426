"""From YAML to a policy file; whatever is wrong is told with its line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from hashlib import sha256
from math import isfinite
from typing import Any

from advisor.core.quantity import QuantityError, parse_rate
from advisor.core.resource import Unit
from advisor.decisions.policy_file.decide.document import (
    LISTED,
    AllocationEntry,
    Entry,
    Form,
    PolicyFile,
    PoolEntry,
    ResourceEntry,
    RolloutEntry,
)
from advisor.decisions.policy_file.decide.entry_checks import (
    ordered,
    problems_between,
    problems_of,
    settled,
)
from advisor.decisions.policy_file.decide.problems import PolicyFileError, Problem
from advisor.decisions.policy_file.decide.quantities import parse_length
from advisor.decisions.policy_file.decide.shape import Shape, is_record, shapes_of
from advisor.decisions.policy_file.decide.yaml_tree import Listing, Node, Scalar, Table, read_tree
from advisor.resource_kinds.registry import KINDS
from ingest.core.lengths import shortened


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A policy file, and the lines of its sections and entries for what is found wrong later.

    `digest` is the SHA-256 of its text.
    """

    file: str
    digest: str
    document: PolicyFile
    lines: Mapping[tuple[str, str], int]

    def refused(self, section: str, key: str, what: str) -> PolicyFileError:
        """The error that something of an entry is wrong."""
        line = self.lines.get((section, key)) or self.lines.get((section, ""), 1)
        return PolicyFileError(self.file, [Problem(line=line, what=what)])


def read_policy_file(text: str, *, file: str, units: Mapping[str, Unit] | None = None) -> Read:
    """The file; `units` are those of resources that it does not describe, None: unknown."""
    found = _Reading(file=file, units=units)
    root = read_tree(text, file=file)
    document = found.record(PolicyFile, root)
    if document is not None and not found.problems:
        found.problems += problems_between(document, found.lines)
    if document is None or found.problems:
        raise PolicyFileError(file, found.problems)
    digest = sha256(text.encode()).hexdigest()
    return Read(file=file, digest=digest, document=ordered(document), lines=found.lines)


class _Wrong(Exception):
    """A value that cannot be taken; the text says what it should be."""


class _Reading:
    def __init__(self, *, file: str, units: Mapping[str, Unit] | None) -> None:
        self.problems: list[Problem] = []
        self.lines: dict[tuple[str, str], int] = {}
        self._file = file
        self._elsewhere = units
        self._units: dict[str, Unit] | None = None

    def record(self, kind: type, node: Node, *, section: str = "") -> Any:
        """One object of the format; None if something in it is wrong."""
        if not isinstance(node, Table):
            self._wrong(node.line, f"{section or 'a policy file'} needs keys with values here")
            return None
        shapes = shapes_of(kind)
        before = len(self.problems)
        unit = self._unit_of(kind, node)
        values: dict[str, Any] = {}
        # Rates of allocations and pools are in the units of resources, wherever these stand.
        for pair in sorted(node.pairs, key=lambda pair: pair.key != "resources"):
            shape = shapes.get(pair.key)
            if shape is None:
                self._wrong(pair.line, _unknown(pair.key, list(shapes)))
                continue
            if kind is PolicyFile:
                self.lines[pair.key, ""] = pair.line
            values[shape.name] = self._field(shape, pair.value, unit)
        for shape in shapes.values():
            if shape.is_required and shape.name not in values:
                self._wrong(node.line, f'"{shape.key}" is missing: {shape.says.text}')
        if len(self.problems) > before:
            return None
        made = kind(**values)
        if isinstance(made, Entry | RolloutEntry):
            self.problems += [Problem(line=node.line, what=what) for what in problems_of(made)]
        return made if len(self.problems) > before else settled(made)

    def _field(self, shape: Shape, node: Node, unit: Unit | None) -> Any:
        try:
            if shape.items is not None:
                return self._listing(shape, node)
            if shape.record is not None:
                return self.record(shape.record, node, section=shape.key)
            return _value(shape, node, unit)
        except (_Wrong, QuantityError) as wrong:
            self._wrong(node.line, f"{shape.key}: {wrong}")
            return None

    def _listing(self, shape: Shape, node: Node) -> tuple[Any, ...]:
        if not isinstance(node, Listing):
            raise _Wrong("a list is needed; write each member behind a dash, or [] for none")
        if not is_record(shape.items):
            return tuple(_text(item) for item in node.items)
        found = []
        for item in node.items:
            one = self.record(shape.items, item, section=shape.key)
            if one is not None and shape.key in LISTED:
                self._remember(shape.key, one, item.line)
            found.append(one)
        if shape.key == "resources":
            self._units = {one.name: one.unit for one in found if one is not None}
        return tuple(one for one in found if one is not None)

    def _remember(self, section: str, entry: Entry, line: int) -> None:
        before = self.lines.setdefault((section, entry.key), line)
        if before != line:
            self._wrong(line, f"{entry.key} is on line {before} already")

    def _unit_of(self, kind: type, node: Table) -> Unit | None:
        """The unit of the rates of an entry, None if it has none or it cannot be known."""
        stated = {
            pair.key: pair.value.value for pair in node.pairs if isinstance(pair.value, Scalar)
        }
        if kind is ResourceEntry:
            if stated.get("unit") in list(Unit):
                return Unit(str(stated["unit"]))
            return next((one.units[0] for one in KINDS if one.name == stated.get("kind")), None)
        if kind in (AllocationEntry, PoolEntry):
            known = self._elsewhere if self._units is None else self._units
            return (known or {}).get(str(stated.get("resource")))
        return None

    def _wrong(self, line: int, what: str) -> None:
        self.problems.append(Problem(line=line, what=what))


def _unknown(key: str, known: list[str]) -> str:
    near = get_close_matches(key, known, n=1)
    hint = f'did you mean "{near[0]}"?' if near else f"there are: {', '.join(known)}"
    return f'there is no key "{shortened(key, 60)}"; {hint}'


def _value(shape: Shape, node: Node, unit: Unit | None) -> Any:
    if not isinstance(node, Scalar):
        raise _Wrong("one value is needed here")
    value = node.value
    if value is None:
        if shape.allows_none:
            return None
        raise _Wrong("there is no value")
    if value in shape.words and not isinstance(value, bool):
        return value
    for kind in shape.types:
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            return _member(kind, value)
        if kind is bool:
            return _flag(value)
        if kind is str:
            return _bounded_text(shape, _text(node))
        if kind in (int, float):
            return _number(shape, value, kind, unit)
    raise _Wrong(f"it may be {' or '.join(map(str, shape.words))}")


def _member(kind: type[StrEnum], value: Any) -> StrEnum:
    if value in list(kind):
        return kind(value)
    near = get_close_matches(str(value), list(kind), n=1)
    hint = f'; did you mean "{near[0]}"?' if near else ""
    raise _Wrong(f'"{value}" is none of {", ".join(kind)}{hint}')


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise _Wrong("it may be true or false")


def _text(node: Node) -> str:
    if not isinstance(node, Scalar) or node.value is None:
        raise _Wrong("a text is needed")
    if not isinstance(node.value, str):
        raise _Wrong("a text is needed; put it in quotes")
    return node.value


def _bounded_text(shape: Shape, text: str) -> str:
    longest = shape.says.longest
    if longest is not None and len(text) > longest:
        raise _Wrong(f"{len(text)} characters; it can have {longest}")
    if longest is not None and "\x00" in text:
        raise _Wrong("it holds a character that cannot be stored")
    if shape.is_required and not text.strip():
        raise _Wrong("it is empty")
    return text


def _number(shape: Shape, value: Any, kind: type, unit: Unit | None) -> float | int:
    found = _measured(shape.says.form, value, unit) if isinstance(value, str) else value
    words = "".join(f" or {word}" for word in shape.words)
    if isinstance(found, bool) or not isinstance(found, int | float) or not isfinite(found):
        raise _Wrong(f"a number is needed{words}")
    if kind is int and not isinstance(found, int):
        raise _Wrong("a whole number is needed")
    least, above = shape.says.least, shape.says.above
    if least is not None and found < least:
        raise _Wrong(f"{found} is too small; it is at least {least}")
    if above is not None and found <= above:
        raise _Wrong(f"{found} is too small; it is above {above}")
    if kind is int and found > _LARGEST:
        raise _Wrong(f"{found} is too large; it is at most {_LARGEST}")
    return found if kind is int else float(found)


_LARGEST = 2**31 - 1
"""The largest integer of a column."""


def _measured(form: Form | None, text: str, unit: Unit | None) -> float | None:
    """The number that a text with a unit stands for; None for a text that is none."""
    match form:
        case Form.BYTES:
            return parse_rate(text, Unit.BYTES_PER_S)
        case Form.RATE:
            return _rate(text, unit)
        case Form.LENGTH:
            seconds = parse_length(text)
            if seconds is None:
                raise _Wrong(f'"{text}" is not a length; write it like 90min, 2h or 1d')
            return seconds
        case None:
            return None


def _rate(text: str, unit: Unit | None) -> float:
    """In the unit; where that is unknown, in any in which the text is a rate."""
    if unit is not None:
        return parse_rate(text, unit)
    for one in Unit:
        try:
            return parse_rate(text, one)
        except QuantityError:
            continue
    raise _Wrong(f'"{text}" is not a rate; write it like 94Mbit, 20MB or 500')
