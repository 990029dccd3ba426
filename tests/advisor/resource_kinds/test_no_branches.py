"""What differs by the kind of a resource stands in `advisor/resource_kinds` and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PRODUCT = ("accounts", "advisor", "appliance", "config", "enforcers", "ingest", "web")
SUFFIXES = {".py", ".html", ".js", ".txt"}

BRANCH = re.compile(
    r"""
    \bis_(?:uplink|datastore|volume)\b            # a property or a flag that tells kinds apart
    | \bResourceKind\.(?:UPLINK|DATASTORE)\b      # a member that something is compared with
    | (?:==|!=|\bis|\bin|\bcase)\s*[(\[{]?\s*["'](?:uplink|datastore|volume)["']
    | \bkind\s+(?:is|==|!=)\s+ResourceKind\b
    """,
    re.VERBOSE,
)

HOME = "advisor/resource_kinds/"
ALLOWED = (
    HOME,
    # Rows of the past are told apart as they were stored.
    "advisor/migrations/",
    # The laboratory simulates both kinds of device, the simulation states a datastore.
    "advisor/lab/",
    "appliance/simulation/",
)


def branching_files() -> set[str]:
    files = (file for folder in PRODUCT for file in (ROOT / folder).rglob("*"))
    return {
        name
        for file in files
        if file.suffix in SUFFIXES
        and not (name := file.relative_to(ROOT).as_posix()).startswith(ALLOWED)
        and BRANCH.search(file.read_text())
    }


def test_nothing_else_branches_on_the_kind_of_a_resource() -> None:
    assert branching_files() == set()


@pytest.mark.parametrize(
    "text",
    [
        "if resource.is_uplink:",
        "return Unit.IOPS if kind == ResourceKind.DATASTORE else Unit.BITS_PER_S",
        "kind is ResourceKind.UPLINK",
        '{% if resource.kind == "uplink" %}',
        "{% if line.kind != 'datastore' %}",
        'if kind in ("uplink", "lan"):',
        'case "datastore":',
    ],
)
def test_branch_is_recognised(text: str) -> None:
    assert BRANCH.search(text)


@pytest.mark.parametrize(
    "text",
    [
        "resource.traits.needs_capacity",
        'help="repeat for a shared datastore"',
        "if row.kind == DRAFT:",
        "throttled(rate, limits, counted_before=True)",
    ],
)
def test_what_is_no_branch_is_let_through(text: str) -> None:
    assert not BRANCH.search(text)
