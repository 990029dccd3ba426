"""The Markdown files that are pages of the documentation, and the address of each."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path, PurePosixPath

_CHECKOUT = Path(__file__).parents[2]
COPY = Path(__file__).parent / "copy"
"""Where a build of the package puts what a checkout has outside of it (setup.py)."""

HOME = "docs/README.md"
DECISIONS = "docs/decisions.md"
"""A page without a file: the list of all decisions."""
PATTERNS = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "docs/decisions/*.md",
    "advisor/advice/*/README.md",
    "bench/*.md",
    "enforcers/README.md",
    "enforcers/mechanisms/*/README.md",
    "helm/*/README.md",
    "ingest/sources/*/README.md",
    "ingest/telegraf/README.md",
)
FILES = ("docs/*.json", "docs/*.svg", "docs/screenshots/*.png")
"""What pages show or link beside pages."""


@cache
def root() -> Path:
    """The folder that holds all of it: the checkout, or the copy in an installed package."""
    return _CHECKOUT if (_CHECKOUT / HOME).is_file() else COPY


@cache
def page_paths() -> tuple[str, ...]:
    """The paths of all pages below the root, in order; none where nobody brought them along."""
    found = _found(PATTERNS)
    return (*found, DECISIONS) if HOME in found else ()


@cache
def file_paths() -> tuple[str, ...]:
    """The paths of pictures and other files that pages lead to."""
    return _found(FILES)


def _found(patterns: tuple[str, ...]) -> tuple[str, ...]:
    found = {path for pattern in patterns for path in root().glob(pattern) if path.is_file()}
    return tuple(sorted(str(PurePosixPath(path.relative_to(root()))) for path in found))


def slug_of(path: str) -> str:
    """The address of a page below /docs/; empty for the first page.

    `docs/backup.md` is `backup`, `enforcers/README.md` is `enforcers`.
    """
    if path == "README.md":
        return "readme"
    name = path.removeprefix("docs/").removesuffix(".md")
    if name == "README":
        return ""
    return name.removesuffix("/README").lower()


@cache
def path_of_slug() -> dict[str, str]:
    """Each page by its address."""
    return {slug_of(path): path for path in page_paths()}


def text_of(path: str) -> str:
    """The Markdown of a page."""
    if path != DECISIONS:
        return (root() / path).read_text(encoding="utf-8")
    lines = ["# Decisions", "", "Why Sluice is built as it is, and what was rejected.", ""]
    lines += [
        f"- [{title_of(one)}]({one.removeprefix('docs/')})"
        for one in page_paths()
        if one.startswith("docs/decisions/")
    ]
    return "\n".join(lines) + "\n"


def title_of(path: str) -> str:
    """The words of a page's first heading, as Markdown; its path without one."""
    heading = _HEADING.search(text_of(path))
    return heading[1] if heading else path


_HEADING = re.compile(r"^# (.+)$", re.MULTILINE)
