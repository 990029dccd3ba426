"""Finding sections of the documentation by words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from web.documentation import sources
from web.documentation.rendering import anchor_of, parse, plain_text

MOST_HITS = 30
_AROUND = 90
"""So many letters are shown before and after the first word that was found."""
_IN_TITLE, _IN_HEADING, _IN_TEXT_AT_MOST = 20, 8, 5
_HISTORY = ("docs/decisions/", "CHANGELOG.md")
"""Pages that tell how it came about; what tells how it is comes before them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What stands below one heading of a page."""

    path: str
    title: str
    heading: str
    anchor: str
    text: str

    @property
    def slug(self) -> str:
        return sources.slug_of(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A section that has all the words, with the place where they stand, cut at each word."""

    section: Section
    snippet: tuple[tuple[str, bool], ...]


def search(asked: str) -> tuple[Hit, ...]:
    """Sections that have every word, or words that begin with it; the best first."""
    words = list(dict.fromkeys(re.findall(r"[\w./-]+", asked.lower())))
    if not words:
        return ()
    scored = [(score, section) for section in _sections() if (score := _score(section, words))]
    scored.sort(key=lambda one: (-one[0], one[1].path))
    return tuple(
        Hit(section=section, snippet=_snippet(section.text, words))
        for _, section in scored[:MOST_HITS]
    )


def _score(section: Section, words: list[str]) -> float:
    """How well a section fits; 0 unless it has every word."""
    total = 0.0
    for word in words:
        found = re.compile(rf"(?<!\w){re.escape(word)}")
        title = bool(found.search(section.title.lower()))
        heading = bool(found.search(section.heading.lower()))
        times = min(len(found.findall(section.text.lower())), _IN_TEXT_AT_MOST)
        if not (title or heading or times):
            return 0.0
        total += _IN_TITLE * title * (section.anchor == "") + _IN_HEADING * heading + times
    return total / 10 if section.path.startswith(_HISTORY) else total


def _snippet(text: str, words: list[str]) -> tuple[tuple[str, bool], ...]:
    any_word = re.compile(rf"((?<!\w)(?:{'|'.join(map(re.escape, words))}))", re.IGNORECASE)
    first = any_word.search(text)
    start = max(0, first.start() - _AROUND) if first else 0
    end = start + 2 * _AROUND
    start = text.find(" ", start) + 1 if start else 0
    cut = ("… " if start else "") + text[start:end].rpartition(" ")[0]
    pieces = any_word.split(cut + (" …" if end < len(text) else ""))
    return tuple((piece, number % 2 == 1) for number, piece in enumerate(pieces) if piece)


@cache
def _sections() -> tuple[Section, ...]:
    return tuple(one for path in sources.page_paths() for one in _sections_of(path))


def _sections_of(path: str) -> Iterator[Section]:
    title = heading = anchor = ""
    taken: set[str] = set()
    words: list[str] = []
    tokens = parse(sources.text_of(path))
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            if title:
                yield Section(
                    path=path, title=title, heading=heading, anchor=anchor, text=" ".join(words)
                )
            heading, words = plain_text(tokens[number + 1]), []
            anchor = anchor_of(heading, taken)
            if token.tag == "h1":
                title, heading, anchor = heading, "", ""
        elif token.type == "inline" and tokens[number - 1].type != "heading_open":
            words += plain_text(token).split()
        elif token.type in ("fence", "code_block"):
            words += token.content.split()
    yield Section(path=path, title=title, heading=heading, anchor=anchor, text=" ".join(words))
