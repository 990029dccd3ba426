"""Each block of commands in the documentation is run by a test, or says why not."""

from __future__ import annotations

import pytest

from tests.documented_commands import ELSEWHERE, ROOT, blocks_in, blocks_of, main, pages


@pytest.mark.parametrize("page", pages())
def test_every_block_of_commands_is_run_or_says_why_not(page: str) -> None:
    found = list(blocks_of(page))

    assert [one.text for one in found if one.why_not and len(one.why_not.split()) < 3] == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("```\nsluice status\n```", id="fence without a name"),
        pytest.param("```text\nmake run\n```", id="fence of text"),
        pytest.param("Type\n\n    sluice status", id="indented lines"),
        pytest.param("    sudo apt install ./sluice.deb", id="as root"),
        pytest.param("    SLUICE_DATA_DIR=/srv .venv/bin/sluice status", id="with a variable"),
        pytest.param("1. First\n\n   ```\n   kubectl get pods\n   ```", id="within a list"),
        pytest.param("```sh\nls\n```", id="sh without a mark"),
    ],
)
def test_commands_without_a_mark_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r'must be in ```sh run or ```sh not-run="why"'):
        list(blocks_in(text, "docs/page.md"))


@pytest.mark.parametrize(
    "text",
    ["```\ntime=10:02 level=info\n```", "    5,000 lines of 504 series", "```toml\na = 1\n```"],
)
def test_what_nobody_types_needs_no_mark(text: str) -> None:
    assert list(blocks_in(text, "docs/page.md")) == []


def test_blocks_are_counted_for_people(capsys) -> None:
    main()

    said = capsys.readouterr().out
    found = [one for page in pages() for one in blocks_of(page)]
    run = sum(not one.why_not for one in found)
    assert f"together: {run} run, {len(found) - run} not run" in said
    assert "python -m tests.documented_commands" in (ROOT / "docs/README.md").read_text()


def test_pages_of_another_test_are_read_by_it() -> None:
    for page, test in ELSEWHERE.items():
        assert page in (ROOT / test).read_text()


def test_some_pages_have_blocks_that_are_run() -> None:
    run = {page for page in pages() for one in blocks_of(page) if not one.why_not}

    assert run >= {
        "docs/advice.md", "docs/backup.md", "docs/install.md", "docs/operations.md",
        "docs/policy-file.md", "docs/simulation.md", "docs/tutorial.md", "docs/upgrade.md",
    }  # fmt: skip
