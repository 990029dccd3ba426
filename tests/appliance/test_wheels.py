"""What `make wheels` builds: installed in an empty environment, they are whole."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from enforcers.version import VERSION
from scripts.server_tree import CHECKOUT, PACKAGES, build_wheel, server_version
from scripts.wheels import build_agent, check

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

# Packages and sources of the native part are built from them and hold none of them.
NOT_INSTALLED = ("ingest/native/", "appliance/debian/", "enforcers/debian/", "enforcers/pyproject")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wheels")


@pytest.fixture(scope="module")
def wheel(folder: Path) -> Path:
    return build_wheel(folder, source_too=True)


@pytest.fixture(scope="module")
def environment(folder: Path, wheel: Path) -> Path:
    """An empty environment with both wheels, and nothing else."""
    build_agent(folder)
    place = folder / "environment"
    venv.create(place, symlinks=True)
    (agent,) = folder.glob("sluice_enforcer-*.whl")
    pip = [sys.executable, "-m", "pip", f"--python={place}/bin/python", "install", "--no-deps"]
    subprocess.run([*pip, "--quiet", "--no-index", wheel, agent], check=True)
    return place


def said(environment: Path, *argv: str) -> str:
    """What a program says that has the packages it needs and not this checkout."""
    # Other packages come from the environment of the tests, whose own link to the checkout works
    # in that environment alone.
    needed = {"PYTHONPATH": sysconfig.get_path("purelib"), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [environment / "bin" / argv[0], *argv[1:]],
        cwd="/", env=needed, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def test_command_of_the_server_runs_from_its_wheel(environment: Path) -> None:
    where = said(environment, "python", "-c", "import appliance.cli as c; print(c.__file__)")

    assert Path(where.strip()).is_relative_to(environment)
    assert said(environment, "sluice", "--help").startswith("usage: sluice COMMAND")


def test_command_of_the_agent_runs_from_its_wheel(environment: Path) -> None:
    assert said(environment, "sluice-enforcer", "--version").strip().endswith(VERSION)


def test_wheel_has_every_file_of_the_product(wheel: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", *PACKAGES], cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())

    missing = [name for name in tracked if name not in inside]
    assert [name for name in missing if not name.startswith(NOT_INSTALLED)] == []
    assert len(tracked) - len(missing) > 500


def test_source_and_wheel_are_of_the_version(folder: Path, wheel: Path) -> None:
    names = {path.name for path in folder.iterdir() if path.is_file()}

    assert wheel.name == f"sluice-{server_version()}-py3-none-any.whl"
    assert f"sluice-{server_version()}.tar.gz" in names


def test_wheels_that_nobody_could_check_are_no_success(wheel: Path, monkeypatch, capfd) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    status = check([wheel])

    assert status == 1
    assert "wheels: built and not checked: pip cannot install twine" in capfd.readouterr().err
