"""The documentation of exactly this version, for everybody who reaches the server."""

from __future__ import annotations

from functools import cache

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.http import require_safe

from web.documentation import search as found
from web.documentation import site, sources
from web.documentation.rendering import Page, Places
from web.documentation.rendering import render as rendered

LONGEST_TEXT = 100


@require_safe
def page(request: HttpRequest, slug: str = "") -> HttpResponse:
    """A page, or the first one."""
    path = sources.path_of_slug().get(slug)
    if path is None:
        raise Http404(f"no page {slug}")
    return render(request, "web/docs.html", _frame(_page(path)))


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """Sections that have the words of `?q=`."""
    text = request.GET.get("q", "").strip()[:LONGEST_TEXT]
    hits = [{"hit": hit, "address": _section_address(hit.section)} for hit in found.search(text)]
    context = {"search_text": text, "hits": hits, "most": found.MOST_HITS}
    return render(request, "web/docs_search.html", {**_frame(None), **context})


@require_safe
def file(request: HttpRequest, name: str) -> HttpResponseBase:  # noqa: ARG001  Django names it
    """A picture, or another file that a page leads to."""
    if name not in sources.file_paths():
        raise Http404(f"no file {name}")
    return FileResponse((sources.root() / name).open("rb"))


def _address(slug: str) -> str:
    return reverse("docs-page", kwargs={"slug": slug}) if slug else reverse("docs")


def _section_address(section: found.Section) -> str:
    anchor = f"#{section.anchor}" if section.anchor else ""
    return _address(section.slug) + anchor


_PLACES = Places(page=_address, file=lambda name: reverse("docs-file", kwargs={"name": name}))


@cache
def _page(path: str) -> Page:
    return rendered(path, _PLACES)


def _frame(page: Page | None) -> dict[str, object]:
    return {
        "page": page,
        "groups": site.listed(page, _PLACES),
        "home": _address(""),
        "icon": static(site.ICON),
        "light_sheets": [static("sluice.css"), static("docs.css")],
        "dark_sheet": static("dark.css"),
        "is_served": True,
    }
