"""The whole documentation: what is wrong with it, and the same pages as a folder of HTML."""

from __future__ import annotations

import posixpath
import shutil
from collections.abc import Iterator
from pathlib import Path

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string

from web.documentation import sources
from web.documentation.navigation import navigation
from web.documentation.rendering import Page, Places, render

SHEETS = ("sluice.css", "dark.css", "docs.css")
ICON = "favicon.svg"
RESERVED = ("search", "files")
"""First parts of addresses that are no pages."""
_NOWHERE = Places(page=str, file=str)


class DocumentationError(Exception):
    """The documentation cannot be built; the words say where and why."""


def problems() -> list[str]:
    """Every link, anchor, picture and heading that is wrong, in a checkout."""
    pages = {path: render(path, _NOWHERE) for path in sources.page_paths()}
    return [
        *_of_addresses(),
        *(words for page in pages.values() for words in _of_page(page, pages)),
        *(words for words in _of_navigation(pages)),
    ]


def _of_addresses() -> Iterator[str]:
    slugs: dict[str, str] = {}
    for path in sources.page_paths():
        slug = sources.slug_of(path)
        if slug.split("/")[0] in RESERVED or slug in slugs:
            yield f"{path}: the address /docs/{slug}/ is taken"
        slugs[slug] = path


def _of_page(page: Page, pages: dict[str, Page]) -> Iterator[str]:
    level = 0
    for heading in page.headings:
        if heading.level > level + 1 or (heading.level == 1 and level):
            yield f"{page.path}: the heading {heading.text!r} is not one level below that above it"
        level = heading.level
    for link in page.links:
        if link.path in pages:
            anchors = {heading.anchor for heading in pages[link.path].headings}
            if link.anchor and link.anchor not in anchors:
                yield f"{page.path}: {link.path} has no heading #{link.anchor}"
        elif link.path.endswith(".md"):
            yield f"{page.path}: {link.path} is no page (web/documentation/sources.py lists them)"
        elif not (sources.root() / link.path).exists():
            yield f"{page.path}: there is no {link.path}"


def _of_navigation(pages: dict[str, Page]) -> Iterator[str]:
    for group, entries in navigation().items():
        for entry in entries:
            if entry.path not in pages:
                yield f"{sources.HOME}: {entry.path} of {group} is no page"


def build(folder: Path) -> int:
    """Write all pages into a folder, which is made anew; how many there are.

    Raises DocumentationError if anything is wrong.
    """
    found = problems()
    if found:
        raise DocumentationError("\n".join(found))
    if folder.exists():
        shutil.rmtree(folder)
    for path in sources.page_paths():
        slug = sources.slug_of(path)
        places = places_from(slug)
        text = render_to_string("web/docs.html", frame(render(path, places), places))
        file = folder / slug / "index.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for name in sources.file_paths():
        _copy(sources.root() / name, folder / "files" / name)
    for sheet in (*SHEETS, ICON):
        _copy(Path(str(finders.find(sheet))), folder / "files" / sheet)
    return len(sources.page_paths())


def _copy(origin: Path, copy: Path) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(origin, copy)


def places_from(slug: str) -> Places:
    """Links of a page that is read from a folder, without a server."""

    def relative(target: str) -> str:
        return posixpath.relpath(target, slug or ".")

    return Places(
        page=lambda other: relative(posixpath.join(other, "index.html")),
        file=lambda name: relative(posixpath.join("files", name)),
    )


def frame(page: Page | None, places: Places) -> dict[str, object]:
    """What the template of every page of a folder is told."""
    return {
        "page": page,
        "groups": listed(page, places),
        "home": places.page(""),
        "icon": places.file(ICON),
        "light_sheets": [places.file(one) for one in ("sluice.css", "docs.css")],
        "dark_sheet": places.file("dark.css"),
    }


def listed(page: Page | None, places: Places) -> list[dict[str, object]]:
    """The navigation as the template draws it."""
    return [
        {
            "name": group,
            "entries": [
                {
                    "name": entry.name,
                    "address": places.page(entry.slug),
                    "is_current": page is not None and entry.path == page.path,
                }
                for entry in entries
            ],
        }
        for group, entries in navigation().items()
    ]
