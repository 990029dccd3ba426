"""One page of the documentation, from Markdown to HTML that the pages' strict policy allows."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from web.documentation import sources


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """How links are written: of a page by its slug, of a file by its path."""

    page: Callable[[str], str]
    file: Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading with the anchor that leads to it."""

    level: int
    anchor: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Where a link or picture of a page leads: a path below the root, and perhaps an anchor."""

    path: str
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A rendered page."""

    path: str
    title: str
    html: str
    headings: tuple[Heading, ...]
    links: tuple[Link, ...]

    @property
    def slug(self) -> str:
        return sources.slug_of(self.path)

    @property
    def sections(self) -> tuple[Heading, ...]:
        """What stands in the list of contents."""
        return tuple(one for one in self.headings if one.level == 2)


def parse(text: str) -> list[Token]:
    """The tokens of a text: CommonMark with tables."""
    return _PARSER.parse(text)


def render(path: str, places: Places) -> Page:
    """The page of this path. Raises ValueError if it has no title."""
    tokens = parse(sources.text_of(path))
    headings = tuple(_set_anchors(tokens))
    links = tuple(_lead_on(tokens, path, places))
    _make_accessible(tokens)
    title = next((one.text for one in headings if one.level == 1), None)
    if title is None:
        raise ValueError(f"{path} has no heading of the first level")
    html = _RENDERER.render(tokens, _PARSER.options, {})
    return Page(path=path, title=title, html=html, headings=headings, links=links)


def plain_text(token: Token) -> str:
    """The words of a line of text, without what marks them."""
    return "".join(
        one.content if one.type in ("text", "code_inline") else " "
        for one in token.children or ()
        if one.type in ("text", "code_inline", "softbreak", "hardbreak")
    )


def anchor_of(text: str, taken: set[str]) -> str:
    """The anchor of a heading, as code hosts make it; `taken` are those above it."""
    plain = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
    anchor, number = plain, 0
    while anchor in taken:
        number += 1
        anchor = f"{plain}-{number}"
    taken.add(anchor)
    return anchor


def _set_anchors(tokens: Sequence[Token]) -> Iterator[Heading]:
    taken: set[str] = set()
    for token, line in pairwise(tokens):
        if token.type == "heading_open":
            text = plain_text(line)
            anchor = anchor_of(text, taken)
            token.attrSet("id", anchor)
            yield Heading(level=int(token.tag[1]), anchor=anchor, text=text)


def _lead_on(tokens: Sequence[Token], path: str, places: Places) -> Iterator[Link]:
    """Write all links for where the page is read, and tell where they lead."""
    for line in tokens:
        closes: list[str] = []
        for token in line.children or ():
            if token.type == "link_open":
                link = _link(token, "href", path, places)
                closes.append(token.tag)
                if link is not None:
                    yield link
            elif token.type == "link_close":
                token.tag = closes.pop()
            elif token.type == "image":
                link = _link(token, "src", path, places)
                if link is not None:
                    yield link


def _link(token: Token, attribute: str, path: str, places: Places) -> Link | None:
    """The link of a token, which is changed; None for one that leads to another site."""
    address = str(token.attrGet(attribute))
    if "://" in address or address.startswith("mailto:"):
        return None
    target, _, anchor = address.partition("#")
    if target:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    else:
        target = path
    if target == "docs/decisions":
        target = sources.DECISIONS
    suffix = f"#{anchor}" if anchor else ""
    if target in sources.page_paths():
        token.attrSet(attribute, places.page(sources.slug_of(target)) + suffix)
    elif target in sources.file_paths():
        token.attrSet(attribute, places.file(target))
    else:
        # It is in the source alone, which nobody who reads this needs to have.
        token.tag = "span"
        token.attrs = {"title": f"{target}, in the source"}
    return Link(path=target, anchor=anchor)


def _make_accessible(tokens: Sequence[Token]) -> None:
    heading, is_empty = "", False
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            heading = plain_text(tokens[number + 1])
        elif token.type == "table_open":
            token.meta["caption"] = heading
        elif token.type == "th_open":
            is_empty = not tokens[number + 1].content
            token.attrSet("scope", "col")
            if is_empty:
                token.tag, token.attrs = "td", {}
        elif token.type == "th_close" and is_empty:
            token.tag = "td"
        # What is aligned is aligned by a class: inline styles are forbidden.
        if token.attrs.get("style") == "text-align:right":
            token.attrs = {"class": "num"}
        token.attrs.pop("style", None)


class _Renderer(RendererHTML):
    """Wide things scroll by themselves, by keyboard too; HTML in a text is text."""

    def table_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: object
    ) -> str:
        del options, env
        caption = escape(tokens[idx].meta["caption"])
        return (
            '<div class="table-scroll" tabindex="0"><table>'
            f'<caption class="visually-hidden">{caption}</caption>\n'
        )

    def table_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: object
    ) -> str:
        del tokens, idx, options, env
        return "</table></div>\n"

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: object) -> str:
        del options, env
        return f'<pre tabindex="0"><code>{escape(tokens[idx].content)}</code></pre>\n'

    code_block = fence

    def html_inline(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: object
    ) -> str:
        del options, env
        content = tokens[idx].content
        return "" if content.startswith("<!--") else escape(content)

    html_block = html_inline


_PARSER = MarkdownIt("commonmark").enable("table")
_RENDERER = _Renderer()
