"""The groups of pages, which the first page lists.

A page of `docs/` that it does not name stands at the end of the how-tos, so none is out of reach.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from functools import cache

from web.documentation import sources

GROUPS = ("Tutorial", "How-to", "Reference", "Explanation")
UNLISTED = "How-to"
_LINE = re.compile(
    r"^## (?P<group>.+)$|^- \[(?P<name>[^]]+)\]\((?P<target>[^)#]+)\)", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A page under its short name."""

    path: str
    name: str

    @property
    def slug(self) -> str:
        return sources.slug_of(self.path)


@cache
def navigation() -> dict[str, tuple[Entry, ...]]:
    """The pages of each group, in order."""
    groups: dict[str, list[Entry]] = {name: [] for name in GROUPS}
    group = ""
    for line in _LINE.finditer(sources.text_of(sources.HOME)):
        if line["group"]:
            group = line["group"]
        elif group in groups:
            path = posixpath.normpath(posixpath.join("docs", line["target"]))
            path = sources.DECISIONS if path == "docs/decisions" else path
            groups[group].append(Entry(path=path, name=line["name"]))
    named = {entry.path for entries in groups.values() for entry in entries}
    for path in sources.page_paths():
        is_unlisted = path.startswith("docs/") and path not in named | {sources.HOME}
        if is_unlisted and not path.startswith("docs/decisions/"):
            groups[UNLISTED].append(Entry(path=path, name=sources.title_of(path)))
    return {name: tuple(entries) for name, entries in groups.items()}
