"""An inventory as `govc` writes it with -json: of `collect`, `vm.info` and `datastore.info`.

A file may hold several documents after one another, as commands append them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ingest.core.source_errors import ExportError
from ingest.core.vcenter.managed_object import (
    ManagedObject,
    managed_objects,
    merged,
    reference,
    type_name,
)

_DEEPEST = 6
"""Lists of objects lie no deeper in a document."""


def read_export(document: str) -> list[ManagedObject]:
    """The objects of an export, each once; ExportError if there are none."""
    found = merged(one for value in _documents(document) for one in _objects(value))
    if not found:
        raise ExportError("it holds no objects of a vCenter; write it with: govc collect -json")
    return found


def _documents(document: str) -> Iterator[Any]:
    decoder, at = json.JSONDecoder(), 0
    rest = document.lstrip("\ufeff")
    while True:
        while at < len(rest) and rest[at].isspace():
            at += 1
        if at == len(rest):
            return
        try:
            value, at = decoder.raw_decode(rest, at)
        except (json.JSONDecodeError, RecursionError) as error:
            where = f"line {rest.count(chr(10), 0, at) + 1}"
            raise ExportError(f"it is no JSON from {where} on: {error}") from error
        yield value


def _objects(value: Any, depth: int = 0) -> Iterator[ManagedObject]:
    if isinstance(value, list):
        for one in value:
            yield from _objects(one, depth)
    elif isinstance(value, dict):
        if "Obj" in value or "Self" in value:
            raise ExportError("govc before 0.30 wrote it, with other names; take a newer one")
        kind, moid = reference(value.get("self"))
        if kind and moid:
            yield ManagedObject(kind=kind, moid=moid, properties=value)
        elif "obj" in value:
            yield from managed_objects([value])
        elif depth < _DEEPEST and not type_name(value):
            for one in value.values():
                yield from _objects(one, depth + 1)
