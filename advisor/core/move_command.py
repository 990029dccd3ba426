"""The command that moves a workload to another host: a template of words, filled with names.

No shell reads it. A name that could be taken for an option, a path or more than one word is
refused, because a remote shell may read it after all: that of `ssh`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

PLACEHOLDERS = ("workload", "source", "target")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}")


def parse_template(text: str) -> tuple[str, ...]:
    """The words of a template, a JSON list; ValueError with what it should be."""
    try:
        words = json.loads(text)
    except ValueError as error:
        raise ValueError('it is no JSON list of words, such as ["virsh", "migrate"]') from error
    if not (isinstance(words, list) and words and all(isinstance(one, str) for one in words)):
        raise ValueError('it is no JSON list of words, such as ["virsh", "migrate"]')
    if not words[0] or "\x00" in text or _PLACEHOLDER.search(words[0]):
        raise ValueError("its first word is the program, without a placeholder")
    named = {name for word in words for name in _PLACEHOLDER.findall(word)}
    if odd := sorted(named - set(PLACEHOLDERS)):
        raise ValueError(f'"{{{odd[0]}}}" is none of {{{"}, {".join(PLACEHOLDERS)}}}')
    if missing := sorted({"workload", "target"} - named):
        raise ValueError(f"{{{missing[0]}}} is missing")
    return tuple(words)


def filled(template: tuple[str, ...], names: Mapping[str, str]) -> list[str]:
    """The words of the command; ValueError for a name that cannot stand in one."""
    for what in PLACEHOLDERS:
        if not _NAME.fullmatch(names[what]):
            raise ValueError(
                f'the name of the {what}, "{names[what]}", cannot be passed to a command: '
                "letters, digits and . _ : @ - can"
            )
    return [_PLACEHOLDER.sub(lambda found: names[found[1]], word) for word in template]
