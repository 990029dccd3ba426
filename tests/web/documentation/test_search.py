"""Sections are found by their words, and the best come first."""

from __future__ import annotations

import pytest

from tests.web.documentation.conftest import Write, forget
from web.documentation.search import MOST_HITS, search


def found(asked: str) -> list[tuple[str, str]]:
    return [(hit.section.path, hit.section.heading) for hit in search(asked)]


def test_section_is_found_by_every_word_in_it(write: Write) -> None:
    write("docs/one.md", "# One\n\n## Keys\n\nA lease ends.\n\n## Tokens\n\nA token ends.\n")

    assert found("lease ends") == [("docs/one.md", "Keys")]
    assert found("lease token") == []
    assert found("") == []
    assert found("  ?! ") == []


def test_a_page_comes_before_a_section_and_a_section_before_a_mention(write: Write) -> None:
    write("docs/one.md", "# One\n\nBackup and backup.\n")
    write("docs/two.md", "# Two\n\n## Backup\n\nWords.\n")
    write("docs/zero.md", "# Backup\n\nWords.\n")

    assert found("backup") == [
        ("docs/zero.md", ""),
        ("docs/two.md", "Backup"),
        ("docs/one.md", ""),
    ]


def test_decisions_come_after_pages_that_say_as_much(write: Write) -> None:
    write("docs/decisions/0001-ends.md", "# Ends\n\nA lease.\n")
    write("docs/one.md", "# One\n\nA lease.\n")

    assert found("lease") == [("docs/one.md", ""), ("docs/decisions/0001-ends.md", "")]


def test_beginning_of_a_word_counts_and_its_middle_does_not(write: Write) -> None:
    write("docs/one.md", "# One\n\nEnforcement.\n")

    assert found("enforce") == [("docs/one.md", "")]
    assert found("force") == []


def test_commands_are_found(write: Write) -> None:
    write("docs/one.md", "# One\n\n```sh\nsluice-enforcer doctor --fix\n```\n")

    assert found("sluice-enforcer doctor") == [("docs/one.md", "")]


def test_snippet_shows_the_words_where_they_stand(write: Write) -> None:
    write("docs/one.md", f"# One\n\n{'before ' * 40} The Lease of a host {'after ' * 60}\n")

    (hit,) = search("lease host")

    marked = [piece for piece, is_word in hit.snippet if is_word]
    text = "".join(piece for piece, _ in hit.snippet)
    assert marked == ["Lease", "host"]
    assert "The Lease of a host after" in text
    assert text.startswith("… before")
    assert text.endswith("after …")
    assert len(text) < 200


@pytest.mark.slow
def test_real_questions_lead_to_their_pages() -> None:
    forget()

    assert found("restore backup")[0][0] == "docs/backup.md"
    assert found("taken by another program")[0][0] == "docs/troubleshooting.md"
    assert ("docs/upgrade.md", "") in found("upgrade")[:3]
    assert len(search("sluice")) == MOST_HITS
