"""Reading pages as a person or a screen reader would, with the standard library's parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

from django.http import HttpResponse

VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
)
SILENT = frozenset({"script", "style", "template"})


@dataclass(slots=True)
class Element:
    """One element with its attributes; text children stand between the elements."""

    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)
    parent: Element | None = None

    def __getitem__(self, name: str) -> str:
        return self.attributes[name]

    def get(self, name: str, default: str = "") -> str:
        return self.attributes.get(name, default)

    @property
    def classes(self) -> set[str]:
        return set(self.get("class").split())

    def walk(self) -> Iterator[Element]:
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def elements_of(self, tag: str) -> list[Element]:
        return [element for element in self.walk() if element.tag == tag]

    def ancestors(self) -> Iterator[Element]:
        element = self.parent
        while element is not None:
            yield element
            element = element.parent

    def all_text(self) -> str:
        parts = [
            child if isinstance(child, str) else "" if child.tag in SILENT else child.all_text()
            for child in self.children
        ]
        return re.sub(r"\s+", " ", "".join(parts))


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("#root", {})
        self.current = self.root

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        element = Element(tag, attributes, parent=self.current)
        self.current.children.append(element)
        if tag not in VOID:
            self.current = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.current.tag == tag, f"</{tag}> closes <{self.current.tag}>"
        assert self.current.parent is not None
        self.current = self.current.parent

    def handle_data(self, data: str) -> None:
        self.current.children.append(data)


class Page:
    """A parsed page; every element must be closed by its own tag."""

    def __init__(self, html: str) -> None:
        builder = _Builder()
        builder.feed(html)
        builder.close()
        assert builder.current is builder.root, f"<{builder.current.tag}> is never closed"
        self.root = builder.root

    def elements(self, selector: str) -> list[Element]:
        """The elements of `tag`, `.class`, `#id`, or of such one inside another."""
        *outer, last = selector.split()
        return [
            element
            for element in self.root.walk()
            if _matches(element, last) and _inside(element, outer)
        ]

    def find(self, tag: str, **attributes: str) -> Element:
        """The one element with these attributes; `_` in a name stands for `-`."""
        wanted = {name.replace("_", "-"): value for name, value in attributes.items()}
        found = [
            element
            for element in self.elements(tag)
            if wanted.items() <= element.attributes.items()
        ]
        assert len(found) == 1, f"{len(found)} of <{tag}> with {wanted}"
        return found[0]

    def fields(self, selector: str) -> dict[str, str]:
        """What a browser sends of the first such form that nobody changes."""
        (form, *_) = self.elements(selector)
        sent = {}
        for element in form.walk():
            kind = element.get("type")
            if element.tag == "input" and (kind not in ("checkbox", "radio", "submit")):
                sent[element["name"]] = element.get("value")
            elif element.tag == "input" and "checked" in element.attributes:
                sent[element["name"]] = element.get("value", "on")
            elif element.tag == "textarea":
                sent[element["name"]] = element.all_text()
            elif element.tag == "select":
                options = element.elements_of("option")
                chosen = [one for one in options if "selected" in one.attributes] or options
                sent[element["name"]] = chosen[0].get("value", chosen[0].all_text())
        return sent

    def text(self, selector: str) -> str:
        """The text of the first such element."""
        return self.elements(selector)[0].all_text().strip().replace("\N{NO-BREAK SPACE}", " ")

    def all_text(self) -> str:
        return self.root.all_text().replace("\N{NO-BREAK SPACE}", " ")

    def links(self) -> dict[str, str]:
        """Where links lead, by their text."""
        return {link.all_text().strip(): link.get("href") for link in self.elements("a")}

    def row(self, selector: str, name: str) -> list[str]:
        """The cells, as text, of the table row with this name in its head."""
        for row in self.elements(f"{selector} tr"):
            cells = [child for child in row.children if isinstance(child, Element)]
            if cells and cells[0].all_text().strip() == name:
                return [
                    cell.all_text().strip().replace("\N{NO-BREAK SPACE}", " ")
                    for cell in cells[1:]
                ]
        raise AssertionError(f"no row {name!r} in {selector}")


def _matches(element: Element, simple: str) -> bool:
    if simple.startswith("."):
        return simple[1:] in element.classes
    if simple.startswith("#"):
        return element.get("id") == simple[1:]
    return element.tag == simple


def _inside(element: Element, outer: list[str]) -> bool:
    rest = list(outer)
    for ancestor in element.ancestors():
        if rest and _matches(ancestor, rest[-1]):
            rest.pop()
    return not rest


def page_of(answer: HttpResponse, *, status: int = 200) -> Page:
    """The page of an answer that has this status."""
    assert answer.status_code == status, answer.content.decode()[:500]
    return Page(answer.content.decode())
