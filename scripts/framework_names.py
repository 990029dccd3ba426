#!/usr/bin/env python3
"""Print the names that Django's templates and settings read, as Python in which vulture sees use.

A template names attributes, tags and filters; what stands in quotes is text.
"""

import re
from pathlib import Path

from django.conf import global_settings

TAG = re.compile(r"\{[{%].*?[%}]\}")
QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")


def template_names(text: str) -> set[str]:
    """Every word of the tags and variables of a template."""
    return {word for tag in TAG.findall(text) for word in re.findall(r"\w+", QUOTED.sub("", tag))}


if __name__ == "__main__":
    names = set(dir(global_settings))
    for path in Path(__file__).parents[1].glob("[a-z]*/**/templates/**/*.html"):
        names |= template_names(path.read_text())
    print(*(f"getattr(None, {name!r})" for name in sorted(names)), sep="\n")
