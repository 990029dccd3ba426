#!/usr/bin/env python3
"""Write sluice_client/api.py from docs/openapi.json; with --check only say whether it differs.

A schema becomes a frozen dataclass, an operation a method of `Api`, under its own name.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill
from typing import Any

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs/openapi.json"
CLIENT = ROOT / "sluice_client/api.py"
HEAD = '''"""The API of Sluice, an operation a method. scripts/api_client.py makes this file."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from sluice_client.connection import Connection

'''
PLAIN = {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "null": "None"}
LINE = 95


def kind_of(schema: dict[str, Any]) -> str:
    """The type of a schema, as Python writes it."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        kinds = [kind_of(one) for one in schema["anyOf"]]
        return " | ".join(sorted(dict.fromkeys(kinds), key=lambda kind: kind == "None"))
    if "enum" in schema or "const" in schema:
        words = schema.get("enum", [schema.get("const")])
        return f"Literal[{', '.join(json.dumps(word) for word in words)}]"
    match schema.get("type"):
        case "array":
            return f"list[{kind_of(schema.get('items', {}))}]"
        case "object":
            return "dict[str, Any]"
        case "string" if schema.get("format") == "date-time":
            return "datetime"
        case None:
            return "Any"
        case other:
            return PLAIN[other]


def docstring(text: str, indent: str) -> str:
    """A text as the docstring of something."""
    words = " ".join(text.split())
    if len(words) < LINE - len(indent) - 6:
        return f'{indent}"""{words}"""\n'
    first, dot, rest = words.partition(". ")
    more = fill(rest or words, LINE, initial_indent=indent, subsequent_indent=indent)
    return f'{indent}"""{first + dot.strip() if rest else ""}\n\n{more}\n{indent}"""\n'


def classes(schemas: dict[str, Any]) -> Iterator[str]:
    """Enumerations first: they are defaults of fields."""
    for name, schema in sorted(schemas.items()):
        if "enum" in schema:
            words = "".join(f'    {_word(word)} = "{word}"\n' for word in schema["enum"])
            yield f"class {name}(StrEnum):\n{words}\n\n"
    for name, schema in sorted(schemas.items()):
        if "properties" in schema and name != "Problem":
            yield _dataclass(name, schema)


def _word(word: str) -> str:
    return re.sub(r"\W", "_", word).upper()


HIDDEN = ("secret", "password", "token")
"""What no log shows."""


def _dataclass(name: str, schema: dict[str, Any]) -> str:
    lines = []
    for key, one in schema["properties"].items():
        kind = kind_of(one)
        if key in schema.get("required", ()):
            # Whoever logs an answer does not log what is shown once.
            hidden = " = field(repr=False)" if key in HIDDEN else ""
            lines.append(f"    {key}: {kind}{hidden}\n")
        elif kind.startswith("list[") and not kind.endswith("| None"):
            lines.append(f"    {key}: {kind} = field(default_factory=list)\n")
        elif key in HIDDEN:
            lines.append(f"    {key}: {kind} = field(default={_default(one)}, repr=False)\n")
        else:
            lines.append(f"    {key}: {kind} = {_default(one)}\n")
    about = docstring(schema.get("description") or f"See `{name}` in openapi.json.", "    ")
    head = "@dataclass(frozen=True, slots=True, kw_only=True)\n"
    return f"{head}class {name}:\n{about}\n{''.join(lines)}\n\n"


def _default(schema: dict[str, Any]) -> str:
    if "default" in schema and "$ref" in schema:
        return f"{kind_of(schema)}.{_word(schema['default'])}"
    return repr(schema.get("default"))


def method(verb: str, path: str, operation: dict[str, Any]) -> str:
    """An operation as a method."""
    parameters = operation.get("parameters", [])
    of = {place: [one for one in parameters if one["in"] == place] for place in ("path", "query")}
    headers = [one["name"] for one in parameters if one["in"] == "header"]
    body = operation.get("requestBody")
    taken = ["self", *(f"{one['name']}: {kind_of(one['schema'])}" for one in of["path"])]
    if body:
        json_body = body["content"].get("application/json")
        taken.append(f"body: {kind_of(json_body['schema']) if json_body else 'bytes'}")
    named = [f"{one['name']}: {kind_of(one['schema'])} | None = None" for one in of["query"]]
    named += [f"{_argument(name)}: str | None = None" for name in headers]
    if named:
        taken += ["*", *named]
    answers = [code for code in operation["responses"] if code.startswith("2")]
    content = operation["responses"][answers[0]].get("content")
    answer = _answer(content) if content else "type(None)"
    given = [f'"{verb.upper()}"', _address(path, of["path"]), answer]
    if of["query"]:
        given.append(f"query={{{', '.join(_pair(one['name']) for one in of['query'])}}}")
    if body:
        given.append("body=body")
    if headers:
        pairs = ", ".join(f'"{name}": {_argument(name)}' for name in headers)
        given.append(f"headers={{{pairs}}}")
    asked = f"self.connection.ask({', '.join(given)})"
    shown = "None" if not content else answer
    return (
        f"    def {operation['operationId']}({', '.join(taken)}) -> {shown}:\n"
        f"{docstring(operation['description'], ' ' * 8)}"
        f"        {'return ' if content else ''}{asked}\n\n"
    )


def _answer(content: dict[str, Any]) -> str:
    """The type of an answer; a file is bytes."""
    in_json = content.get("application/json")
    return kind_of(in_json["schema"]) if in_json else "bytes"


def _argument(header: str) -> str:
    return header.lower().replace("-", "_")


def _pair(name: str) -> str:
    return f'"{name}": {name}'


def _address(path: str, parameters: list[dict[str, Any]]) -> str:
    return f'f"{path}"' if parameters else f'"{path}"'


def client(document: dict[str, Any]) -> str:
    """The module, formatted as everything is."""
    methods = [
        method(verb, path, operation)
        for path, operations in sorted(document["paths"].items())
        for verb, operation in sorted(operations.items())
    ]
    api = (
        'class Api:\n    """Every operation of the API, as the person of a token."""\n\n'
        "    def __init__(self, connection: Connection) -> None:\n"
        "        self.connection = connection\n\n"
    )
    text = HEAD + "\n" + "".join(classes(document["components"]["schemas"])) + api
    program = str(Path(sys.executable).with_name("ruff"))
    ruff = [program, "format", "-", "--stdin-filename", "sluice_client/api.py"]
    done = subprocess.run(
        ruff, input=text + "".join(methods), capture_output=True, text=True, check=True, cwd=ROOT
    )
    return done.stdout


def main() -> int:
    text = client(json.loads(DOCUMENT.read_text(encoding="utf-8")))
    if "--check" not in sys.argv[1:]:
        CLIENT.write_text(text, encoding="utf-8")
    elif not CLIENT.is_file() or CLIENT.read_text(encoding="utf-8") != text:
        print(f"{CLIENT} is not of {DOCUMENT}; write it: scripts/api_client.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
