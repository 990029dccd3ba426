"""The JSON Schema of policy files, from the classes that the reader goes by."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from advisor.decisions.policy_file.decide.document import Form, PolicyFile
from advisor.decisions.policy_file.decide.shape import Shape, is_record, shapes_of

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_QUANTITIES = {
    Form.RATE: r"^\s*[0-9]+(\.[0-9]+)?([eE][0-9]+)?\s*[A-Za-z/]*\s*$",
    Form.BYTES: r"^\s*[0-9]+(\.[0-9]+)?([eE][0-9]+)?\s*[A-Za-z/]*\s*$",
    Form.LENGTH: r"^[0-9]+(\.[0-9]+)?(min|h|d)$",
}


def policy_file_schema() -> dict[str, Any]:
    """What an editor checks a policy file against while it is written."""
    return {"$schema": DIALECT, "title": "Sluice policy file", **_record(PolicyFile)}


def _record(kind: type) -> dict[str, Any]:
    shapes = shapes_of(kind)
    return {
        "type": "object",
        "description": " ".join((kind.__doc__ or "").split()),
        "additionalProperties": False,
        "required": [key for key, shape in shapes.items() if shape.is_required],
        "properties": {key: _field(shape) for key, shape in shapes.items()},
    }


def _field(shape: Shape) -> dict[str, Any]:
    if shape.items is not None:
        items = _record(shape.items) if is_record(shape.items) else {"type": "string"}
        return {"description": shape.says.text, "type": "array", "items": items}
    if shape.record is not None:
        return {**_record(shape.record), "description": shape.says.text}
    options = [option for kind in shape.types for option in _options(shape, kind)]
    options += [{"const": word} for word in shape.words]
    if shape.allows_none:
        options.append({"type": "null"})
    found = options[0] if len(options) == 1 else {"anyOf": options}
    default = {} if shape.is_required or shape.default is None else {"default": shape.default}
    return {"description": shape.says.text, **found, **default}


def _options(shape: Shape, kind: Any) -> list[dict[str, Any]]:
    if issubclass(kind, StrEnum):
        return [{"enum": [str(one) for one in kind]}]
    if kind is bool:
        return [{"type": "boolean"}]
    if kind is str:
        longest = shape.says.longest
        bounds = {} if longest is None else {"maxLength": longest}
        return [{"type": "string", **({"minLength": 1} if shape.is_required else {}), **bounds}]
    limits = {"minimum": shape.says.least, "exclusiveMinimum": shape.says.above}
    numbers = {name: value for name, value in limits.items() if value is not None}
    plain = {"type": "integer" if kind is int else "number", **numbers}
    form = shape.says.form
    return [plain] if form is None else [plain, {"type": "string", "pattern": _QUANTITIES[form]}]
