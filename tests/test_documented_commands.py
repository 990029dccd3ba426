"""Each block of commands in the documentation is run by a test, or says why not."""

from __future__ import annotations

import pytest

from tests.documented_commands import ELSEWHERE, ROOT, blocks_of, pages


@pytest.mark.parametrize("page", pages())
def test_every_block_of_commands_is_run_or_says_why_not(page: str) -> None:
    found = list(blocks_of(page))

    assert [one.text for one in found if one.why_not and len(one.why_not.split()) < 3] == []


def test_pages_of_another_test_are_read_by_it() -> None:
    for page, test in ELSEWHERE.items():
        assert page in (ROOT / test).read_text()


def test_some_pages_have_blocks_that_are_run() -> None:
    run = {page for page in pages() for one in blocks_of(page) if not one.why_not}

    assert run >= {"docs/tutorial.md", "docs/upgrade.md", "docs/policy-file.md"}
