"""The agent's own distribution: builds, installs alone, runs without anything else."""

import ast
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import enforcers.contract
from enforcers.mechanisms.tc_htb.program import OBJECT
from enforcers.version import VERSION

pytestmark = pytest.mark.slow

SOURCE = Path(enforcers.contract.__file__).parent


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if "build" not in path.parts)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy so that the checkout stays clean."""
    folder = tmp_path_factory.mktemp("wheel")
    unwanted = shutil.ignore_patterns("__pycache__", "build", "dist", "*.egg-info")
    shutil.copytree(SOURCE, folder / "source", ignore=unwanted)
    build = (
        "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
    )
    subprocess.run(
        [sys.executable, "-c", build, str(folder)],
        cwd=folder / "source",
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def alone(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty virtual environment into which the wheel is installed, without an index."""
    place = tmp_path_factory.mktemp("alone") / "venv"
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    install = [place / "bin/python", "-m", "pip", "install", "--no-index", "-q", wheel]
    subprocess.run(install, check=True, capture_output=True)
    return place


def run_alone(alone: Path, *argv: str) -> str:
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        argv, cwd=alone, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout


def test_agent_imports_the_standard_library_and_itself_only() -> None:
    roots = set()
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                roots |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0
                roots.add((node.module or "").partition(".")[0])

    assert roots - set(sys.stdlib_module_names) == {"enforcers"}


def test_distribution_lists_every_package_and_needs_nothing() -> None:
    project = tomllib.loads((SOURCE / "pyproject.toml").read_text())

    packages = {
        ".".join(("enforcers", *path.parent.relative_to(SOURCE).parts))
        for path in modules()
        if path.name == "__init__.py"
    }
    assert set(project["tool"]["setuptools"]["packages"]) == packages
    assert project["project"]["dependencies"] == []


def test_wheel_has_all_modules_and_samples(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())

    expected = {f"enforcers/{path.relative_to(SOURCE)}" for path in modules()}
    samples = {f"enforcers/{path.relative_to(SOURCE)}" for path in SOURCE.rglob("sample.toml")}
    assert wheel.name == f"sluice_enforcer-{VERSION}-py3-none-any.whl"
    assert expected | samples <= names


@pytest.mark.skipif(not OBJECT.exists(), reason="scripts/bpf has not built the program")
def test_wheel_has_the_program_beside_its_loader(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())

    folder = "enforcers/mechanisms/tc_htb"
    assert {f"{folder}/{OBJECT.name}", f"{folder}/load_classifier.py"} <= names


def test_installed_command_checks_the_host_alone(alone: Path) -> None:
    shown = run_alone(alone, str(alone / "bin/sluice-enforcer"), "--check", "--json")

    answer = json.loads(shown)
    assert answer["agent_version"] == VERSION
    names = [item["mechanism"] for item in answer["mechanisms"]]
    assert names == ["tc_htb", "cgroup_io", "qemu_throttle"]


def test_installed_agent_loads_no_module_from_elsewhere(alone: Path) -> None:
    code = (
        "import json, sys\n"
        "before = set(sys.modules)\n"
        "import enforcers.cli\n"
        "new = [sys.modules[name] for name in set(sys.modules) - before]\n"
        "files = [getattr(module, '__file__', None) or '' for module in new]\n"
        "print(json.dumps([file for file in files if 'site-packages' in file]))"
    )

    loaded = json.loads(run_alone(alone, str(alone / "bin/python"), "-c", code))

    assert loaded
    assert all("site-packages/enforcers/" in file for file in loaded)


def test_agent_that_runs_has_no_module_in_memory_that_other_commands_need_alone() -> None:
    code = (
        "import json, sys; from enforcers import cli; "
        "options = cli._options(['run', '--config', 'agent.toml']); "
        "print(json.dumps([options.command, str(options.config), *sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    command, config, *modules = json.loads(done.stdout)
    assert (command, config) == ("run", "agent.toml")
    others = {
        "argparse",
        "enforcers.command_line",
        "enforcers.dead_man",
        "enforcers.doctor",
        "enforcers.inspection",
        "enforcers.mechanisms.cgroup_io.followed_devices",
        "enforcers.mechanisms.cgroup_io.names",
        "enforcers.mechanisms.qemu_throttle.guests",
        "enforcers.metrics.endpoint",
        "enforcers.reader.collecting",
    }
    assert others.isdisjoint(modules)
