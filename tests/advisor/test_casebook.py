"""The casebook that comes with the product, through the real path.

Only bundles with an even number: the odd ones are for `sluice trust` alone.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from advisor.core.casebook.bundle import read_bundle
from advisor.core.casebook.score import Case, score
from advisor.core.natural_order import natural_key
from advisor.decisions.casebook.replay import CASEBOOK, replay
from bench.lab.disk_case import disk_case

ROOT = Path(__file__).parents[2]
FEWEST = 25


def number(file: Path) -> int:
    return int(file.stem.rpartition("-")[2])


EVEN = sorted(file for file in CASEBOOK.glob("*.bundle") if number(file) % 2 == 0)


@pytest.mark.django_db
def test_who_let_loose_is_named_with_nearly_all_who_lost() -> None:
    bundles = {file.name: read_bundle(file.read_bytes()) for file in EVEN}
    cases = [Case(name=name, truth=one.truth, found=replay(one)) for name, one in bundles.items()]

    rows = {row.what: row.measured for row in score(cases)}

    assert rows["congestion found"] == 1.0
    assert rows["incidents where there was no congestion"] == 0
    assert rows["culprit named first"] == 1.0
    assert rows["stalls found as such"] == 1.0
    lost, named = (
        rows[what]
        for what in ("victims named, of those who lost", "victims who lost, of those named")
    )
    assert lost is not None
    assert named is not None
    # Who loses and still gets what is due is no victim of anybody.
    assert lost >= 0.9
    assert named >= 0.65


@pytest.mark.django_db
@pytest.mark.parametrize(
    "file", [one for one in EVEN if one.stem.startswith("ring-")], ids=lambda one: one.stem
)
def test_service_that_waits_at_its_ring_without_any_io_is_no_victim(file: Path) -> None:
    bundle = read_bundle(file.read_bytes())
    # The lab puts it behind all that do I/O (`bench.lab.rare_case`).
    idle = max((one.workload for one in bundle.resource.allocations), key=natural_key)

    found = replay(bundle)

    assert isinstance(found.answer, dict)
    rates = {one["workload"]: one["measured"] for one in found.answer["allocations"]}
    assert rates[idle] == 0
    assert all(rate > 0 for name, rate in rates.items() if name != idle)
    assert found.victims
    assert idle not in (*found.victims, *found.aggressors)


ASYNCHRONOUS = {"bursts", "deferred", "steady"}
"""Loads of `bench.lab.disk_load` that do not wait for an I/O before the next one."""


def starved(file: Path) -> set[str]:
    """Who lost on a disk though it does not wait for its I/O."""
    bundle = read_bundle(file.read_bytes())
    assert bundle.truth is not None
    names = [one.workload for one in bundle.resource.allocations]
    loads = disk_case(number(file)).loads
    unseen = {
        name for name, load in zip(names, loads, strict=True) if load["kind"] in ASYNCHRONOUS
    }
    return unseen & {*bundle.truth.victims}


STARVED = {one: starved(one) for one in EVEN if one.stem.startswith("disk-")}


@pytest.mark.django_db
@pytest.mark.parametrize(
    "file", [one for one in STARVED if STARVED[one]], ids=lambda one: one.stem
)
def test_asynchronous_io_that_starves_is_a_victim(file: Path) -> None:
    found = replay(read_bundle(file.read_bytes()))

    assert STARVED[file] <= {*found.victims}


def test_casebook_has_cases_of_disks_and_uplinks_and_calm_ones() -> None:
    kinds = {file.stem.rpartition("-")[0] for file in CASEBOOK.glob("*.bundle")}

    assert kinds >= {"disk", "uplink", "calm-disk", "calm-uplink"}
    assert kinds >= {"hang-disk", "hog-disk", "ring-disk"}
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
