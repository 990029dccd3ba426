#!/usr/bin/env python3
"""Print the names that Django's templates and settings read, as Python in which vulture sees use.

A template names attributes, tags and filters; what stands in quotes is text. The fields of the
API's answers are read by programs: they are those of its document.
"""

import json
import re
from pathlib import Path

from django.conf import global_settings

TAG = re.compile(r"\{[{%].*?[%}]\}")
QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")


def template_names(text: str) -> set[str]:
    """Every word of the tags and variables of a template."""
    return {word for tag in TAG.findall(text) for word in re.findall(r"\w+", QUOTED.sub("", tag))}


def answered_names(document: str) -> set[str]:
    """Every property of the schemas of an OpenAPI document."""
    schemas = json.loads(document)["components"]["schemas"].values()
    return {name for schema in schemas for name in schema.get("properties", {})}


if __name__ == "__main__":
    names = set(dir(global_settings))
    root = Path(__file__).parents[1]
    names |= answered_names((root / "docs/openapi.json").read_text())
    for path in root.glob("[a-z]*/**/templates/**/*.html"):
        names |= template_names(path.read_text())
    print(*(f"getattr(None, {name!r})" for name in sorted(names)), sep="\n")
