"""The casebook that comes with the product, through the real path.

Only bundles with an even number: the odd ones are for `sluice trust` alone.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from advisor.core.casebook.bundle import read_bundle
from advisor.core.casebook.score import Case
from advisor.decisions.casebook.replay import CASEBOOK, replay

ROOT = Path(__file__).parents[2]
FEWEST = 25
EVERY = 4
"""Of the even ones so many are left out in turn."""


def number(file: Path) -> int:
    return int(file.stem.rpartition("-")[2])


EVEN = sorted(file for file in CASEBOOK.glob("*.bundle") if number(file) % 2 == 0)


@pytest.mark.django_db
@pytest.mark.parametrize("file", EVEN[::EVERY], ids=lambda file: file.stem)
def test_who_let_loose_is_named_with_all_who_lost(file: Path) -> None:
    bundle = read_bundle(file.read_bytes())

    case = Case(name=file.name, truth=bundle.truth, found=replay(bundle))

    assert bundle.truth is not None
    assert not case.false_alarms
    if bundle.truth.is_congested:
        assert case.is_detected
        assert case.is_culprit_named
        assert {*case.found.victims} >= {*bundle.truth.victims}


def test_casebook_has_cases_of_disks_and_uplinks_and_calm_ones() -> None:
    kinds = {file.stem.rpartition("-")[0] for file in CASEBOOK.glob("*.bundle")}

    assert kinds >= {"disk", "uplink", "calm-disk", "calm-uplink"}
    assert len(list(CASEBOOK.glob("*.bundle"))) >= FEWEST


def test_nobody_names_an_odd_one() -> None:
    odd = [str(number(file)) for file in CASEBOOK.glob("*.bundle") if number(file) % 2]
    pattern = re.compile("|".join(map(re.escape, odd)))
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.md", "*.toml", "*.json"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip

    named = [name for name in listed if pattern.search((ROOT / name).read_text())]

    assert odd
    assert named == []
