"""Every message that the page on troubleshooting quotes is word for word in the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("accounts", "advisor", "appliance", "config", "enforcers", "ingest", "web")
PAGE = (ROOT / "docs/troubleshooting.md").read_text()
QUOTED = re.findall(r"^### `(.+)`$", PAGE, re.MULTILINE)
GAP = "\0"
"""What the code fills in, where the page has an ellipsis."""


@cache
def texts() -> frozenset[str]:
    """All texts of the code that people can read, with a gap for what is filled in."""
    return frozenset(
        text
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("*.py")
        for text in texts_of(ast.parse(file.read_text()))
    )


def texts_of(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.sub(r"\{[^}]*\}|%[sd]", GAP, node.value)
        elif isinstance(node, ast.JoinedStr):
            yield "".join(
                str(one.value) if isinstance(one, ast.Constant) else GAP for one in node.values
            )


def is_in_code(message: str) -> bool:
    """Whether one text of the code has it, with a gap wherever it has an ellipsis."""
    parts = [re.escape(part) for part in message.split("…")]
    wanted = re.compile(f"[^{GAP}]*{GAP}[^{GAP}]*".join(parts) if len(parts) > 1 else parts[0])
    return any(wanted.search(text) for text in texts())


@pytest.mark.parametrize("message", QUOTED)
def test_quoted_message_is_in_the_code(message: str) -> None:
    assert is_in_code(message)


@pytest.mark.parametrize(
    "message",
    [
        "port … on … is taken by somebody",
        "Dry run: the agent plans and reports, and changes nothing!",
        "no policy is … held",
    ],
)
def test_message_that_nobody_says_is_noticed(message: str) -> None:
    assert not is_in_code(message)


@pytest.mark.parametrize("message", QUOTED)
def test_symptom_says_what_to_do(message: str) -> None:
    section = PAGE.partition(f"### `{message}`\n")[2].partition("\n#")[0]

    assert "**Do.** " in section or "That is no fault." in section


def test_page_has_the_symptoms_of_every_part() -> None:
    parts = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)

    assert len(QUOTED) == len(set(QUOTED)) >= 15
    assert len(parts) == 7
