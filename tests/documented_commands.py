"""Blocks of commands in the documentation, and what each says of how a test treats it.

```sh run                  run, in the order of the page; the exit status is 0
```sh run exit=1           the exit status is 1
```sh run wait=600         tried again until it is as told, for so many seconds
```sh not-run="why"        not run
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from web.documentation.rendering import parse

ROOT = Path(__file__).resolve().parents[1]
ELSEWHERE = {"docs/api.md": "tests/web/api/test_api_page.py"}
"""Pages whose blocks another test runs, word for word."""
_MARK = re.compile(r'sh (?:(run)(?: exit=(\d+))?(?: wait=(\d+))?|not-run="([^"]+)")')


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Commands of a page; `why_not` is empty if they are run."""

    page: str
    text: str
    why_not: str = ""
    exit_status: int = 0
    wait_s: int = 0


def pages() -> list[str]:
    """All pages of docs/, without decisions."""
    found = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))
    return [page for page in found if page not in ELSEWHERE]


def blocks_of(page: str) -> Iterator[Block]:
    """The blocks of shell commands. Raises ValueError for one that is not marked."""
    for token in parse((ROOT / page).read_text()):
        if token.type != "fence" or token.info.split(" ")[0] != "sh":
            continue
        mark = _MARK.fullmatch(token.info)
        if mark is None:
            raise ValueError(f'{page}: ```{token.info} must be ```sh run or ```sh not-run="why"')
        yield Block(
            page=page,
            text=token.content,
            why_not=mark[4] or "",
            exit_status=int(mark[2] or 0),
            wait_s=int(mark[3] or 0),
        )
