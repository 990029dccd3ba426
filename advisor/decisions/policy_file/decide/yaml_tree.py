"""YAML as a tree that remembers lines, of the part of YAML that needs no second reading.

Anchors, aliases, tags and second documents are refused, so no text grows while it is read. Plain
words are values as YAML 1.2 has them: `no`, `on` and `12:30` are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import yaml

from advisor.decisions.policy_file.decide.problems import PolicyFileError, Problem

try:
    from yaml import CSafeLoader as Loader
except ImportError:  # PyYAML that was built without libyaml: the same, but slower.
    from yaml import SafeLoader as Loader  # type: ignore[assignment]

MOST_CHARACTERS = 8_000_000
"""Enough for 50,000 allocations."""
DEEPEST = 8
"""The format needs 4."""

Plain: TypeAlias = str | int | float | bool | None
_WORDS: dict[str, Plain] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NO_NUMBER = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """One value."""

    line: int
    value: Plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Values in an order."""

    line: int
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One key of a table with its value."""

    line: int
    key: str
    value: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Values by key; no key stands twice."""

    line: int
    pairs: tuple[Pair, ...]


Node: TypeAlias = Scalar | Listing | Table


def read_tree(text: str, *, file: str) -> Node:
    """The tree of a text; PolicyFileError names the line that is refused."""
    if len(text) > MOST_CHARACTERS:
        what = f"the file has {len(text):,} characters; it may have {MOST_CHARACTERS:,}"
        raise PolicyFileError(file, [Problem(line=1, what=what)])
    try:
        return _Reader(file, yaml.parse(text, Loader=Loader)).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise PolicyFileError(file, [Problem(line=line, what=f"{error.problem}")]) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        what = f"a character that YAML does not allow: {error.reason}"
        raise PolicyFileError(file, [Problem(line=line, what=what)]) from error


def plain_value(text: str) -> Plain:
    """What a plain word means in YAML 1.2; numbers that are none here stay what they are not."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text) and len(text) < _LONGEST_INTEGER:
        return int(text)
    if _NUMBER.fullmatch(text) or _NO_NUMBER.fullmatch(text):
        return _float(text)
    return text


_LONGEST_INTEGER = 18
"""Longer ones are read as floating point, which cannot be slow."""


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:  # Octal, hexadecimal, infinite or no number: nothing here can be that.
        return float("nan")


class _Reader:
    """Builds the tree from the parser's events."""

    def __init__(self, file: str, events: Iterator[yaml.Event]) -> None:
        self._file = file
        self._events = events

    def document(self) -> Node:
        node: Node | None = None
        for event in self._events:
            match event:
                case yaml.DocumentStartEvent():
                    if node is not None:
                        raise self._refused(event, "a second document; a policy file has one")
                    node = self._node(next(self._events), depth=0)
                case yaml.StreamStartEvent() | yaml.StreamEndEvent() | yaml.DocumentEndEvent():
                    pass
        return Scalar(line=1, value=None) if node is None else node

    def _node(self, event: yaml.Event, *, depth: int) -> Node:
        if isinstance(event, yaml.AliasEvent):
            raise self._refused(
                event, f'the alias "*{event.anchor}"; write out what it stands for'
            )
        if not isinstance(event, yaml.NodeEvent):
            raise self._refused(event, "there is no value")
        self._check(event, depth)
        match event:
            case yaml.SequenceStartEvent():
                return Listing(line=_line(event), items=tuple(self._items(depth)))
            case yaml.MappingStartEvent():
                return Table(line=_line(event), pairs=tuple(self._pairs(depth)))
            case yaml.ScalarEvent():
                # A plain word; what stands in quotes or a block is text.
                value = plain_value(event.value) if event.implicit[0] else event.value
                return Scalar(line=_line(event), value=value)
        raise self._refused(event, "there is no value")

    def _check(self, event: yaml.NodeEvent, depth: int) -> None:
        if event.anchor is not None:
            raise self._refused(event, f'the anchor "&{event.anchor}"; aliases are not read')
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise self._refused(event, f'the tag "{tag}"; types follow from the keys')
        if depth > DEEPEST:
            raise self._refused(event, f"more than {DEEPEST} levels of lists and tables")

    def _items(self, depth: int) -> Iterator[Node]:
        for event in self._events:
            if isinstance(event, yaml.SequenceEndEvent):
                return
            yield self._node(event, depth=depth + 1)

    def _pairs(self, depth: int) -> Iterator[Pair]:
        lines: dict[str, int] = {}
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                return
            key = self._node(event, depth=depth + 1)
            if not (isinstance(key, Scalar) and isinstance(key.value, str)):
                raise self._refused(event, "a key that is no word")
            if key.value in lines:
                before = lines[key.value]
                raise self._refused(event, f'the key "{key.value}" is on line {before} already')
            lines[key.value] = key.line
            value = self._node(next(self._events), depth=depth + 1)
            yield Pair(line=key.line, key=key.value, value=value)

    def _refused(self, event: yaml.Event, what: str) -> PolicyFileError:
        return PolicyFileError(self._file, [Problem(line=_line(event), what=what)])


def _line(event: yaml.Event) -> int:
    return 1 if event.start_mark is None else event.start_mark.line + 1
