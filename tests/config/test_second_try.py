"""The second try of `scripts/leg.py`, seen from runs of small suites."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTEST = Path(sys.executable).with_name("pytest")
SETTINGS = "[pytest]\nmarkers =\n    outside\n"
SUITE = """
from pathlib import Path
import pytest

def passes_at(try_, name):
    tries = Path(name)
    tries.write_text(tries.read_text() + "." if tries.exists() else ".")
    assert len(tries.read_text()) >= try_
"""
SHAKY = """
@pytest.mark.outside
def test_shaky{n}(): passes_at(2, "shaky{n}")
"""
BROKEN = """
@pytest.mark.outside
def test_broken(): passes_at(9, "broken")
"""
PURE = """
def test_pure(): passes_at(2, "pure")
"""


@pytest.fixture
def leg(tmp_path: Path):
    def run(*tests: str, **more: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "pytest.ini").write_text(SETTINGS)
        (tmp_path / "test_small.py").write_text(SUITE + "\n".join(tests))
        return subprocess.run(
            [sys.executable, ROOT / "scripts/leg.py", PYTEST, "-q", "-p", "no:django"],
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "SERVICES": "outside",
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                **more,
            },
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def tries(folder: Path, name: str) -> int:
    return len((folder / name).read_text())


def test_shaky_test_passes_the_leg_and_is_named(leg):
    told = leg(SHAKY.format(n=1))

    assert told.returncode == 0, told.stdout
    assert "PASSED ONLY AT THE SECOND TRY: test_small.py::test_shaky1" in told.stdout


def test_leg_without_failures_runs_once(leg, tmp_path):
    told = leg("def test_plain(): passes_at(1, 'plain')")

    assert told.returncode == 0
    assert tries(tmp_path, "plain") == 1


def test_broken_test_fails_the_leg_after_two_tries(leg, tmp_path):
    told = leg(BROKEN, SHAKY.format(n=1))

    assert told.returncode == 1
    assert tries(tmp_path, "broken") == 2
    assert "PASSED ONLY" not in told.stdout


@pytest.mark.parametrize(
    ("tests", "tried"),
    [
        pytest.param([PURE], "pure", id="waits for nothing outside"),
        pytest.param(
            [PURE, SHAKY.format(n=1)], "shaky1", id="one of two waits for nothing outside"
        ),
        pytest.param([SHAKY.format(n=n) for n in (1, 2, 3)], "shaky1", id="three failed"),
    ],
)
def test_other_failures_get_no_second_try(leg, tmp_path, tests, tried):
    assert leg(*tests).returncode == 1
    assert tries(tmp_path, tried) == 1


def test_run_that_could_not_start_gets_no_second_try(leg):
    told = leg("import no_such_module")

    assert told.returncode == 2
    assert "second try" not in told.stdout


def test_leg_that_would_begin_too_late_is_left_out_by_name(leg, tmp_path):
    told = leg(BROKEN, SLUICE_LAST_LEG_AT="1000")

    assert told.returncode == 0
    assert "NOT RUN" in told.stdout
    assert not (tmp_path / "broken").exists()


def test_leg_that_begins_in_time_runs(leg):
    assert leg(BROKEN, SLUICE_LAST_LEG_AT="1e12").returncode == 1


def test_script_is_told_the_services_by_make():
    told = subprocess.run(
        ["make", "--no-print-directory", "--eval", "told: ; @echo $$SERVICES", "told"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "browser" in told.stdout
