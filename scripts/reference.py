#!/usr/bin/env python3
"""Write the reference pages that are made from code; with --check only say which differ.

The pages: commands (from their parsers), operations of the API (from docs/openapi.json), and
mechanisms of the agent (from their READMEs and sample.toml).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MADE = "This page is made from the code by `scripts/reference.py`; change the code, then run it."


def commands_page() -> Iterator[str]:
    """Every command with its arguments, from the parsers that read them."""
    from django.core.management import get_commands, load_command_class

    from accounts.management.plain_command import DJANGO_OPTIONS
    from appliance.cli import COMMANDS
    from enforcers import cli, command_line

    yield f"# Commands\n\n{MADE}"
    yield "`sluice COMMAND --help` prints the same; `sluice --help` lists all commands."
    known = get_commands()
    for group, commands in COMMANDS.items():
        yield f"## {group}"
        for name, line in commands.items():
            parser = load_command_class(known[name], name).create_parser("sluice", name)
            yield f"### sluice {name}\n\n{_sentence(line)}"
            yield from _of_parser(parser, f"sluice {name}", hidden=DJANGO_OPTIONS)
    yield "## The agent"
    yield "`sluice-enforcer` runs on each host. These options stand before a command:"
    agent = command_line.parser(cli.DEFAULT_CONFIG)
    yield from _of_parser(agent, "sluice-enforcer", hidden=set(), level="###")


def _of_parser(
    parser: ArgumentParser, name: str, *, hidden: set[str], level: str = "####"
) -> Iterator[str]:
    """A table of what a command takes, then the same of each verb of it."""
    rows = [
        f"| {_written(action)} | {_meaning(parser, action)} |"
        for action in parser._actions  # noqa: SLF001 - argparse lists its options nowhere else
        if action.dest not in {*hidden, "help"}
        and action.help != argparse.SUPPRESS
        and not isinstance(action, argparse._SubParsersAction)  # noqa: SLF001 - as above
    ]
    if rows:
        yield "\n".join(("| Argument | Meaning |", "|---|---|", *rows))
    for action in parser._actions:  # noqa: SLF001 - as above
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            helps = {one.dest: one.help for one in action._choices_actions}  # noqa: SLF001
            for verb, inner in action.choices.items():
                yield f"{level} {name} {verb}"
                if helps.get(verb):
                    yield _sentence(_cell(str(helps[verb])))
                yield from _of_parser(inner, f"{name} {verb}", hidden=hidden, level=level)


def _written(action: argparse.Action) -> str:
    """How an argument is typed."""
    value = ""
    if action.nargs != 0:
        names = action.metavar or (
            "{" + ",".join(map(str, action.choices)) + "}"
            if action.choices
            else action.dest.upper().replace("-", "_")
        )
        value = names if isinstance(names, str) else " ".join(names)
        many = {"*": f"[{value} ...]", "+": f"{value} ...", "?": f"[{value}]"}
        value = many.get(str(action.nargs), value)
    if not action.option_strings:
        return _code(value)
    return ", ".join(_code(f"{option} {value}".strip()) for option in action.option_strings)


def _meaning(parser: ArgumentParser, action: argparse.Action) -> str:
    text = parser._get_formatter()._expand_help(action) if action.help else ""  # noqa: SLF001
    return _cell(f"{text} (required)" if action.required and action.option_strings else text)


def operations_page() -> Iterator[str]:
    """Every operation of the API, from its description."""
    document = json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))
    schemas = document["components"]["schemas"]
    tags: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            tags.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    yield f"# API operations\n\n{MADE}"
    yield (
        "[The API](api.md) says how programs get a token and what holds for all operations; "
        "[openapi.json](openapi.json) has every field of every answer. "
        "Parameters and fields of a body in **bold** are required."
    )
    for tag in sorted(tags):
        yield f"## {tag[:1].upper()}{tag[1:]}"
        for method, path, operation in tags[tag]:
            yield f"### {method} {path}\n\n{_cell(operation['description'])}"
            yield from _of_operation(operation, schemas)


def _of_operation(operation: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    lines = []
    for place, word in (("query", "Parameters"), ("header", "Headers")):
        names = [
            _named(one["name"], is_required=one["required"])
            for one in operation.get("parameters", ())
            if one["in"] == place
        ]
        if names:
            lines.append(f"- {word}: {', '.join(names)}")
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body:
        lines.append(f"- Body: {_fields(body['schema'], schemas, tells_required=True)}")
    answers = [
        one["content"]["application/json"]["schema"]
        for status, one in operation["responses"].items()
        if status.startswith("2") and "application/json" in one.get("content", {})
    ]
    lines += [f"- Answer: {_fields(schema, schemas)}" for schema in answers]
    if lines:
        yield "\n".join(lines)


def _fields(
    schema: dict[str, Any], schemas: dict[str, Any], *, tells_required: bool = False
) -> str:
    """The names of a schema's fields."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    if schema.get("type") == "array":
        return "a list of objects with " + _fields(schema["items"], schemas)
    required = schema.get("required", ()) if tells_required else ()
    names = [_named(one, is_required=one in required) for one in schema.get("properties", ())]
    return ", ".join(names) or "an object"


def _named(name: str, *, is_required: bool) -> str:
    return f"**`{name}`**" if is_required else f"`{name}`"


def mechanisms_page() -> Iterator[str]:
    """What the agent changes in the kernel: of each mechanism its summary and its settings."""
    from enforcers.registry import MECHANISMS

    yield f"# Mechanisms\n\n{MADE}"
    yield (
        "A mechanism is a part of the agent that changes settings of one kind on its host, and "
        "puts back what it found. [What holds, and how exactly](enforcement.md), is on a page "
        "of its own; so is [how to add one](adding-a-mechanism.md)."
    )
    for kind in MECHANISMS:
        folder = ROOT / "enforcers" / "mechanisms" / kind.name
        readme = (folder / "README.md").read_text(encoding="utf-8")
        title = readme.splitlines()[0].removeprefix("# ")
        about = readme.partition("## What it does\n\n")[2].split("\n\n")[0]
        link = f"../enforcers/mechanisms/{kind.name}/README.md"
        # Links of the README are to places on its own page.
        about = about.replace("](#", f"]({link}#")
        sample = (folder / "sample.toml").read_text(encoding="utf-8").strip()
        yield f"## {title}\n\n{about}"
        yield f"[All of it]({link}): what it needs, how policies map to the kernel, and outcomes."
        yield "Its part of `agent.toml`, with all settings and their defaults:"
        yield f"```toml\n{sample}\n```"


def _cell(text: str) -> str:
    """Words as they stand in a cell of a table, whatever they are."""
    words = " ".join(text.split())
    for sign, written in (("&", "&amp;"), ("<", "&lt;"), ("|", "\\|"), ("*", "\\*"), ("_", "\\_")):
        words = words.replace(sign, written)
    return words


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "commands.md": commands_page,
    "api-operations.md": operations_page,
    "mechanisms.md": mechanisms_page,
}


def text_of(name: str) -> str:
    """A page as it is to be."""
    return "\n\n".join(PAGES[name]()) + "\n"


def main() -> None:
    sys.path.insert(0, str(ROOT))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("SLUICE_SECRET_KEY", "unused")
    import django

    django.setup()
    texts = {DOCS / name: text_of(name) for name in PAGES}
    if "--check" not in sys.argv[1:]:
        for file, text in texts.items():
            file.write_text(text, encoding="utf-8")
        return
    for file, text in texts.items():
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            sys.exit(
                f"{file.relative_to(ROOT)} is not of this code; write it: scripts/reference.py"
            )


if __name__ == "__main__":
    main()
