"""Documentation of a few pages, in the place of the real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from web.documentation import navigation, search, sources
from web.views import docs

CACHED = (
    sources.root, sources.page_paths, sources.file_paths, sources.path_of_slug,
    navigation.navigation, search._sections, docs._page,
)  # fmt: skip
"""What is read once."""
Write = Callable[[str, str], None]


def forget() -> None:
    for one in CACHED:
        one.cache_clear()  # type: ignore[attr-defined]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write a page below the root of a documentation of its own, which has a first page."""
    monkeypatch.setattr(sources, "_CHECKOUT", tmp_path)

    def written(path: str, text: str) -> None:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
        forget()

    written("docs/README.md", "# First\n\n## Reference\n\n- [Others](others.md)\n")
    written("docs/others.md", "# Others\n\n## A part\n\nWords.\n")
    yield written
    forget()
