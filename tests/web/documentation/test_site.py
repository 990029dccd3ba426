"""The documentation as a whole: nothing in it is broken, and a folder has all of it."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.web.documentation.conftest import Write, forget
from web.documentation import site, sources
from web.documentation.navigation import navigation


@pytest.mark.slow
def test_nothing_is_wrong_with_the_documentation() -> None:
    forget()

    assert site.problems() == []


@pytest.mark.parametrize(
    ("path", "text", "problem"),
    [
        ("docs/one.md", "# One\n\n[a](gone.md)", "docs/one.md: docs/gone.md is no page"),
        ("docs/one.md", "# One\n\n[a](../gone.py)", "docs/one.md: there is no gone.py"),
        ("docs/one.md", "# One\n\n[a](others.md#b)", "docs/one.md: docs/others.md has no heading"),
        ("docs/one.md", "# One\n\n[a](#b)", "docs/one.md: docs/one.md has no heading #b"),
        ("docs/one.md", "# One\n\n![a](gone.png)", "docs/one.md: there is no docs/gone.png"),
        ("docs/one.md", "# One\n\n### Deep", "docs/one.md: the heading 'Deep' is not one level"),
        ("docs/one.md", "# One\n\n# Two", "docs/one.md: the heading 'Two' is not one level"),
        ("docs/search.md", "# Search", "docs/search.md: the address /docs/search/ is taken"),
        ("enforcers/README.md", "# A\n\n[a](b.md)", "enforcers/README.md: enforcers/b.md is no"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_and_nothing_is_built(
    write: Write, tmp_path: Path, path: str, text: str, problem: str
) -> None:
    assert site.problems() == []
    write(path, text)

    (found,) = site.problems()

    assert found.startswith(problem)
    with pytest.raises(site.DocumentationError, match=re.escape(problem)):
        site.build(tmp_path / "built")
    assert not (tmp_path / "built").exists()


def test_two_pages_of_one_address_are_refused(write: Write) -> None:
    write("docs/enforcers.md", "# One")
    write("enforcers/README.md", "# Two")

    assert site.problems() == ["enforcers/README.md: the address /docs/enforcers/ is taken"]


def test_page_that_the_first_page_does_not_name_is_a_how_to(write: Write) -> None:
    write("docs/kubernetes.md", "# On Kubernetes")

    groups = {
        group: [(entry.name, entry.slug) for entry in entries]
        for group, entries in navigation().items()
    }

    assert groups == {
        "Tutorial": [],
        "How-to": [("On Kubernetes", "kubernetes"), ("Decisions", "decisions")],
        "Reference": [("Others", "others")],
        "Explanation": [],
    }


def test_every_page_of_docs_is_in_the_navigation() -> None:
    forget()
    named = {entry.path for entries in navigation().values() for entry in entries}

    pages = {
        path
        for path in sources.page_paths()
        if path.startswith("docs/") and not path.startswith("docs/decisions/")
    }
    assert named >= pages - {sources.HOME}
    assert all(navigation().values())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the real documentation."""
    forget()
    folder = tmp_path_factory.mktemp("built") / "docs"
    assert site.build(folder) == len(sources.page_paths()) > 100
    return folder


@pytest.mark.slow
def test_folder_has_every_page_with_links_that_lead_to_files(built: Path) -> None:
    pages = list(built.rglob("index.html"))

    broken = [
        (str(page.relative_to(built)), target)
        for page in pages
        for target in targets_of(page)
        if not (page.parent / unquote(target)).is_file()
    ]
    assert broken == []
    assert len(pages) > 100


def targets_of(page: Path) -> set[str]:
    """Files that a page asks for or leads to."""
    found = re.findall(r'(?:href|src)="([^"#]+)[^"]*"', page.read_text())
    return {unescape(one) for one in found if "://" not in one and not one.startswith("mailto:")}


@pytest.mark.slow
def test_pages_of_a_folder_need_no_server(built: Path) -> None:
    text = (built / "backup/index.html").read_text()

    assert '<link rel="stylesheet" href="../files/sluice.css">' in text
    assert "<form" not in text
    assert "<script" not in text
    assert 'href="/' not in text


@pytest.mark.slow
def test_no_page_has_an_id_twice(built: Path) -> None:
    twice = {
        str(page.relative_to(built)): [name for name, count in ids.items() if count > 1]
        for page in built.rglob("index.html")
        if (ids := Counter(re.findall(r' id="([^"]+)"', page.read_text()))).total() > len(ids)
    }

    assert twice == {}
