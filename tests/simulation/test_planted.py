"""Bugs that the project once had are each found by the invariant that their patch names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from django.db import connection

pytestmark = [pytest.mark.slow, pytest.mark.any_database]

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("accounts", "advisor", "appliance", "config", "enforcers", "ingest", "web")
PLANTED = sorted(Path(__file__).with_name("planted").glob("*.patch"))
MOST_SEEDS = 40
PLAYS = """
import sys
import django
django.setup()
from appliance.simulation.play import play
for outcome in play(range(1, int(sys.argv[1]) + 1), hosts=5, minutes=20.0):
    if outcome.violation is not None:
        print("found:", outcome.violation.invariant, "by seed", outcome.seed)
        print(outcome.violation.text("-"))
        if outcome.violation.invariant == sys.argv[2]:
            break
"""


def invariant_of(patch: Path) -> str:
    found = re.match(r"Invariant: (\S+)\n(?:First named: \S+\n)?Bug: ", patch.read_text())
    assert found is not None, f"{patch.name} does not begin with its invariant and its bug"
    return found[1]


def test_ten_bugs_are_planted_and_each_invariant_that_they_name_is_in_the_table() -> None:
    table = (ROOT / "docs/simulation.md").read_text()

    assert len(PLANTED) == 10
    for patch in PLANTED:
        assert f"| {invariant_of(patch)} |" in table


@pytest.mark.parametrize("patch", PLANTED, ids=lambda path: path.stem)
def test_planted_bug_fits_the_present_code(patch: Path) -> None:
    fits = ["git", "apply", "--check", str(patch)]
    done = subprocess.run(fits, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(1200)
@pytest.mark.long
@pytest.mark.parametrize("patch", PLANTED, ids=lambda path: path.stem)
def test_planted_bug_breaks_the_invariant_that_its_patch_names(
    tmp_path: Path, patch: Path
) -> None:
    for name in PACKAGES:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.pyc"))
    subprocess.run(["git", "apply", str(patch)], cwd=tmp_path, check=True)

    done = subprocess.run(
        [sys.executable, "-c", PLAYS, str(MOST_SEEDS), invariant_of(patch)],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )

    assert f"found: {invariant_of(patch)} " in done.stdout, done.stdout + done.stderr


def environment(folder: Path) -> dict[str, str]:
    """That of a process on the database of this test, in which nobody else is."""
    server = connection.settings_dict
    host = quote(str(server["HOST"]), safe="")
    url = f"postgres://{server['USER']}@{host}:{server['PORT']}/{server['NAME']}"
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(Path.home()),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": url,
        "SLUICE_DATA_DIR": str(folder / "data"),
        "PYTHONPATH": str(folder),
        "SLUICE_SECRET_KEY": "simulated",
    }
