"""Markdown becomes HTML that the pages' policy allows and everybody can read."""

from __future__ import annotations

import pytest

from tests.web.documentation.conftest import Write
from web.documentation.rendering import Link, Places, render

PLACES = Places(page=lambda slug: f"/at/{slug}", file=lambda path: f"/files/{path}")


def html_of(write: Write, text: str, path: str = "docs/one.md") -> str:
    write(path, f"# One\n\n{text}\n")
    return render(path, PLACES).html


@pytest.mark.parametrize(
    ("link", "written"),
    [
        ("others.md", 'href="/at/others"'),
        ("others.md#a-part", 'href="/at/others#a-part"'),
        ("../docs/others.md", 'href="/at/others"'),
        ("#one", 'href="/at/one#one"'),
        ("README.md", 'href="/at/"'),
        ("https://example.org/a", 'href="https://example.org/a"'),
    ],
)
def test_link_leads_to_the_address_of_its_page(write: Write, link: str, written: str) -> None:
    assert written in html_of(write, f"[words]({link})")


def test_link_to_a_source_file_is_words_with_its_path(write: Write) -> None:
    html = html_of(write, "see [the solver](../advisor/core/allocation.py) there")

    assert 'see <span title="advisor/core/allocation.py, in the source">the solver</span>' in html
    assert "<a" not in html


def test_picture_is_read_from_the_files(write: Write) -> None:
    write("docs/flow.svg", "<svg/>")

    assert 'src="/files/docs/flow.svg" alt="Flow"' in html_of(write, "![Flow](flow.svg)")


def test_links_are_told_with_where_they_lead(write: Write) -> None:
    write(
        "docs/one.md", "# One\n\n[a](others.md#a-part), ![b](flow.svg), [c](https://d.example)\n"
    )

    links = render("docs/one.md", PLACES).links

    assert links == (
        Link(path="docs/others.md", anchor="a-part"),
        Link(path="docs/flow.svg", anchor=""),
    )


def test_headings_have_the_anchors_of_code_hosts(write: Write) -> None:
    write("docs/one.md", "# One\n\n## What `sluice run` does: all\n\n## Part\n\n## Part\n")

    found = render("docs/one.md", PLACES)

    # GitHub leaves letters, digits, hyphens and underscores, and numbers what comes again.
    anchors = [heading.anchor for heading in found.headings]
    assert anchors == ["one", "what-sluice-run-does-all", "part", "part-1"]
    assert '<h2 id="part-1">' in found.html
    assert found.title == "One"


def test_html_in_a_text_is_text_and_comments_are_gone(write: Write) -> None:
    html = html_of(
        write, "a <script>alert(1)</script> b <!-- tests/x.py::y -->\n\n<div onclick=x>"
    )

    assert "&lt;script&gt;" in html
    assert "&lt;div onclick=x&gt;" in html
    assert "tests/x.py" not in html
    assert "<script" not in html
    assert "<div onclick" not in html


def test_code_is_not_read_as_markup(write: Write) -> None:
    html = html_of(write, "```sh run\necho '<b>' && ls\n```")

    assert "<code>echo &#x27;&lt;b&gt;&#x27; &amp;&amp; ls\n</code>" in html


def test_table_has_heads_and_a_caption_and_scrolls_by_keyboard(write: Write) -> None:
    html = html_of(write, "## Roles\n\n| Role | |\n|---|--:|\n| viewer | 1 |")

    assert '<div class="table-scroll" tabindex="0"><table>' in html
    assert '<caption class="visually-hidden">Roles</caption>' in html
    assert '<th scope="col">Role</th>' in html
    # A head without words would be read out as one.
    assert "<td></td>" in html
    assert '<td class="num">1</td>' in html
    assert "style=" not in html


def test_page_without_a_title_is_refused(write: Write) -> None:
    write("docs/one.md", "Words alone.\n")

    with pytest.raises(ValueError, match=r"docs/one\.md has no heading of the first level"):
        render("docs/one.md", PLACES)
