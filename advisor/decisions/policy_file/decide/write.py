"""A policy file as YAML, in one way: the same state gives the same bytes."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import yaml

from advisor.core.resource import Unit
from advisor.decisions.policy_file.decide.document import (
    AllocationEntry,
    Form,
    PolicyFile,
    PoolEntry,
    ResourceEntry,
)
from advisor.decisions.policy_file.decide.quantities import (
    length_text,
    number,
    rate_text,
    size_text,
)
from advisor.decisions.policy_file.decide.shape import Shape, shapes_of
from advisor.decisions.policy_file.decide.yaml_tree import plain_value


def policy_file_text(document: PolicyFile, *, units: dict[str, Unit]) -> str:
    """The YAML of a document; `units` are those of resources that it does not describe."""
    known = {**units, **{one.name: one.unit for one in document.resources or () if one.unit}}
    text: str = yaml.dump(
        plain_record(document, known),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=100_000,
    )
    return text


def plain_record(record: Any, units: dict[str, Unit]) -> dict[str, Any]:
    """The keys and values of an object, without those that say what is so anyhow."""
    unit = None
    if isinstance(record, ResourceEntry):
        unit = record.unit
    elif isinstance(record, AllocationEntry | PoolEntry):
        unit = units.get(record.resource)
    found = {}
    for shape in shapes_of(type(record)).values():
        value = getattr(record, shape.name)
        if shape.is_required or value != shape.default:
            found[shape.key] = _plain(shape, value, unit, units)
    return found


def _plain(shape: Shape, value: Any, unit: Unit | None, units: dict[str, Unit]) -> Any:
    if shape.record is not None:
        return plain_record(value, units)
    if isinstance(value, tuple):
        return [item if isinstance(item, str) else plain_record(item, units) for item in value]
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    match shape.says.form:
        case Form.RATE:
            return number(value) if unit is None else rate_text(value, unit)
        case Form.BYTES:
            return size_text(value)
        case Form.LENGTH:
            return length_text(value)
        case None:
            return number(value)


class _Dumper(yaml.SafeDumper):
    """Lines of text stand as lines."""


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    # What YAML 1.2 takes for a number stands in quotes, though PyYAML would not need them.
    if not isinstance(plain_value(text), str):
        style = "'"
    # Such a character would be read back as the end of a line.
    if any(one in text for one in "\x85\u2028\u2029"):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text_node)
