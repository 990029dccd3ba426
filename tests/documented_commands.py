"""Blocks of commands in the documentation, and what each says of how a test treats it.

```sh run                  run, in the order of the page; the exit status is 0
```sh run exit=1           the exit status is 1
```sh run wait=600         tried again until it is as told, for so many seconds
```sh not-run="why"        not run

`python -m tests.documented_commands` prints how many are run, and why the others are not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from markdown_it.token import Token

from web.documentation.rendering import parse

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/*.md", "enforcers/README.md", "helm/*/README.md")
ELSEWHERE = {"docs/api.md": "tests/web/api/test_api_page.py"}
"""Pages whose blocks without a mark another test runs, word for word."""
COMMANDS = {
    "apt", "apt-get", "chmod", "cp", "curl", "docker", "dpkg", "echo", "esxtop", "export", "git",
    "grep", "helm", "ip", "journalctl", "kubectl", "make", "mkdir", "openssl", "pip", "podman",
    "pvesh", "python", "python3", "sluice", "sluice-enforcer", "systemctl", "tc", "virsh",
}  # fmt: skip
"""What a block begins with that a person is to type, whatever the block is called."""
_BEFORE = re.compile(r"^(?:\$ |sudo |[A-Z_]+=\S+ )*")
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
    """All pages for people who run Sluice; neither decisions nor measurements."""
    return sorted(str(path.relative_to(ROOT)) for one in PAGES for path in ROOT.glob(one))


def blocks_of(page: str) -> Iterator[Block]:
    """The blocks of shell commands. Raises ValueError for one that is not marked."""
    return blocks_in((ROOT / page).read_text(), page)


def blocks_in(text: str, page: str) -> Iterator[Block]:
    """The same of a text."""
    for token in parse(text):
        if not _is_typed(token) or (token.info == "sh" and page in ELSEWHERE):
            continue
        mark = _MARK.fullmatch(token.info)
        if mark is None:
            line = token.content.strip().split("\n", 1)[0]
            raise ValueError(f'{page}: "{line}" must be in ```sh run or ```sh not-run="why"')
        yield Block(
            page=page,
            text=token.content,
            why_not=mark[4] or "",
            exit_status=int(mark[2] or 0),
            wait_s=int(mark[3] or 0),
        )


def _is_typed(token: Token) -> bool:
    """Whether it is a block for a shell: by its name, or without one by its first word."""
    if token.type not in ("fence", "code_block"):
        return False
    kind = token.info.split(" ")[0]
    words = _BEFORE.sub("", token.content.strip()).split()
    program = PurePosixPath(words[0]).name if words else ""
    return kind == "sh" or (kind in ("", "text") and program in COMMANDS)


def main() -> None:
    """Print a line for each page, the sum, and each reason."""
    found = [block for page in pages() for block in blocks_of(page)]
    for page in dict.fromkeys(block.page for block in found):
        of_page = [block for block in found if block.page == page]
        print(f"{page}: {_counted(of_page)}")
        for why, count in Counter(one.why_not for one in of_page if one.why_not).items():
            print(f"    {count} not run: {why}")
    elsewhere = ", ".join(f"{page} by {test}" for page, test in ELSEWHERE.items())
    print(f"together: {_counted(found)}; beside them {elsewhere}")


def _counted(blocks: list[Block]) -> str:
    run = sum(not block.why_not for block in blocks)
    return f"{run} run, {len(blocks) - run} not run"


if __name__ == "__main__":
    main()
