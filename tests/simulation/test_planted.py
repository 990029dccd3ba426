"""Bugs that the project once had are each found by the invariant that their patch names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.db import connection

from appliance.simulation.play import play

pytestmark = [pytest.mark.slow, pytest.mark.any_database]

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("accounts", "advisor", "appliance", "config", "enforcers", "ingest", "web")
PLANTED = sorted(Path(__file__).with_name("planted").glob("*.patch"))
PLAYS = """
import sys
import django
django.setup()
from appliance.simulation.play import play
for outcome in play([int(sys.argv[1])], hosts=5, minutes=20.0):
    print("found:", outcome.violation.invariant if outcome.violation else "nothing")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What a patch says of itself."""

    invariant: str
    seed: int


def head_of(patch: Path) -> Head:
    text = patch.read_text().partition("diff --git")[0]
    said = dict(re.findall(r"^(Invariant|Found by seed): (\S+)$", text, re.MULTILINE))
    return Head(invariant=said["Invariant"], seed=int(said["Found by seed"]))


def test_ten_bugs_are_planted_and_each_invariant_that_they_name_is_in_the_table() -> None:
    table = (ROOT / "docs/simulation.md").read_text()

    assert len(PLANTED) == 10
    for patch in PLANTED:
        assert f"| {head_of(patch).invariant} |" in table


@pytest.mark.django_db
@pytest.mark.timeout(600)
def test_present_code_breaks_nothing_in_the_seeds_that_find_the_bugs() -> None:
    seeds = sorted({head_of(patch).seed for patch in PLANTED})

    found = {one.seed: one.violation for one in play(seeds, hosts=5, minutes=20.0)}

    assert found == dict.fromkeys(seeds)


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(600)
@pytest.mark.parametrize("patch", PLANTED, ids=lambda path: path.stem)
def test_planted_bug_breaks_exactly_the_invariant_that_its_patch_names(
    tmp_path: Path, patch: Path
) -> None:
    for name in PACKAGES:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.pyc"))
    subprocess.run(["git", "apply", str(patch)], cwd=tmp_path, check=True)

    done = subprocess.run(
        [sys.executable, "-c", PLAYS, str(head_of(patch).seed)],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )

    assert f"found: {head_of(patch).invariant}" in done.stdout, done.stderr


def environment(folder: Path) -> dict[str, str]:
    """That of a process on the database of this test, in which nobody else is."""
    server = connection.settings_dict
    url = f"postgres://{server['USER']}@/{server['NAME']}?host={server['HOST']}&port={server['PORT']}"
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(Path.home()),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": url,
        "SLUICE_DATA_DIR": str(folder / "data"),
        "PYTHONPATH": str(folder),
    }
