"""The server's files as its package and its image have them, of this checkout.

An environment of Python at a fixed place, for the Python of a Debian 13 (`scripts/debian13`), with
the packages of the lock file: nothing is fetched where it is installed. It takes the checkout's
.venv, whose pip fetches, and no root. The same files give the same tree, byte for byte.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

from scripts.sbom import bill, python_parts
from web.documentation.sources import FILES, PATTERNS

CHECKOUT = Path(__file__).resolve().parents[1]
PLACE = "usr/lib/sluice"
DOCUMENTS = "usr/share/doc/sluice"
PACKAGES = (
    "accounts", "advisor", "appliance", "config", "enforcers", "ingest", "sluice_client", "web",
)  # fmt: skip
BUILD_ONLY = {"maturin", "setuptools"}
"""They build the native part, which is here already."""
OF_THE_BUILDER = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")
LARGE_TESTS = ("numpy", "scipy", "sklearn", "joblib")
LIBC = range(5, 42)
"""Debian 13 has version 2.41 of the GNU C library."""
COMMAND = """#!/{place}/bin/python3
import sys

from appliance.cli import main

sys.exit(main())
"""


def default_base() -> Path:
    """Where `scripts/debian13` puts its Debian."""
    cache = os.environ.get("SLUICE_CACHE_DIR") or Path.home() / ".cache/sluice"
    return Path(cache) / "debian13"


def committed_s() -> int:
    """Until when files of this checkout were changed: the time of its newest commit."""
    said = os.environ.get("SOURCE_DATE_EPOCH")
    return int(said or run("git", "log", "-1", "--format=%ct"))


def server_version() -> str:
    """The version that the checkout says it is."""
    (version,) = re.findall(r'(?m)^version = "(.+)"$', (CHECKOUT / "pyproject.toml").read_text())
    return str(version)


def build_tree(root: Path, *, base: Path) -> None:
    """Put the environment, the command and the bill of materials below the root."""
    python = _python_of(base)
    place = root / PLACE
    site = place / "lib" / python / "site-packages"
    site.mkdir(parents=True)
    _install_locked(site, python)
    _install_native(site)
    _install_product(site)
    _prune(site)
    _make_environment(place, python)
    _compile(root, site, base=base, python=python)
    documents = root / DOCUMENTS
    documents.mkdir(parents=True)
    found = bill("sluice", server_version(), python_parts(site), made_s=committed_s())
    (documents / "sbom.cdx.json").write_bytes(found)


def run(*argv: str | Path, cwd: Path = CHECKOUT, env: dict[str, str] | None = None) -> str:
    """What a program said; raises CalledProcessError."""
    done = subprocess.run(argv, cwd=cwd, env=env, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def _python_of(base: Path) -> str:
    found = sorted(base.glob("usr/bin/python3.[0-9]*"))
    names = [path.name for path in found if path.name.removeprefix("python3.").isdecimal()]
    if len(names) != 1:
        raise SystemExit(
            f"there is no Debian with a Python in {base}; scripts/debian13 obtains one"
        )
    return names[0]


def _pip(*words: str | Path) -> None:
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *words)


def _install_locked(site: Path, python: str) -> None:
    """Unpack the locked packages for that Python, each checked by its hash."""
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder) / "lock.txt"
        lock.write_text("\n".join(_locked_for(python)))
        kinds = [
            "manylinux1",
            "manylinux2010",
            "manylinux2014",
            *(f"manylinux_2_{n}" for n in LIBC),
        ]
        _pip(
            "install", f"--target={site}", "--no-deps", "--no-compile", "--only-binary=:all:",
            f"--python-version={python.removeprefix('python')}",
            # It would ask the Python that installs.
            "--ignore-requires-python", "--implementation=cp",
            *(f"--platform={kind}_x86_64" for kind in kinds),
            "--require-hashes", "--requirement", lock,
        )  # fmt: skip


def _locked_for(python: str) -> Iterator[str]:
    """The requirements of the lock file whose conditions hold there; pip asks those of here."""
    version = python.removeprefix("python")
    there = {
        "python_version": version, "python_full_version": f"{version}.0", "sys_platform": "linux",
        "platform_machine": "x86_64", "platform_system": "Linux", "os_name": "posix",
        "implementation_name": "cpython", "platform_python_implementation": "CPython",
    }  # fmt: skip
    joined = (CHECKOUT / "requirements.txt").read_text().replace("\\\n", " ")
    for line in joined.splitlines():
        if not line or line[0] in "#-":
            continue
        stated, *hashes = line.split(" --hash=")
        wanted = Requirement(stated.strip())
        if wanted.name in BUILD_ONLY or (wanted.marker and not wanted.marker.evaluate(there)):
            continue
        yield " ".join([f"{wanted.name}{wanted.specifier}", *(f"--hash={one}" for one in hashes)])


def _install_native(site: Path) -> None:
    """The native reader of lines; without Rust on this machine the package goes without it."""
    with tempfile.TemporaryDirectory() as folder:
        run("scripts/native", "--wheel", folder)
        for wheel in Path(folder).glob("*.whl"):
            _unpack(wheel, site)


def _install_product(site: Path) -> None:
    """Our own packages, by the wheel that is published too."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(Path(folder))
        _unpack(wheel, site)


def build_wheel(folder: Path, *, source_too: bool = False) -> Path:
    """The server's wheel; also what it was built from, beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as copied:
        copy = Path(copied) / "sluice"
        copy_sources(copy)
        run(CHECKOUT / "scripts/bpf")
        kinds = "sw" if source_too else "w"
        return build_backend(copy, folder, kinds)


def copy_sources(copy: Path) -> None:
    """What the wheel is made of; setuptools leaves its own files where it builds."""
    for name in PACKAGES:
        shutil.copytree(
            CHECKOUT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "target")
        )
    for path in (*map(Path, ("pyproject.toml", "setup.py", "README.md", "LICENSE")), *_pages()):
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / path, copy / path)


def _pages() -> Iterator[Path]:
    """The documentation, which the server shows (`setup.py`)."""
    for pattern in (*PATTERNS, *FILES):
        yield from (path.relative_to(CHECKOUT) for path in CHECKOUT.glob(pattern))


def build_backend(copy: Path, folder: Path, kinds: str) -> Path:
    """Let setuptools build, `s` the source and `w` the wheel, which is given."""
    # setuptools sets the arguments of the process anew.
    program = "import sys;from setuptools import build_meta as b;f,k=sys.argv[1:];"
    program += "'s' in k and b.build_sdist(f);print(b.build_wheel(f))"
    # A wheel's files have no time before 1980, nor is any later than the commit.
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(committed_s())}
    said = run(sys.executable, "-c", program, folder, kinds, cwd=copy, env=environment)
    return folder / said.split()[-1]


def _unpack(wheel: Path, site: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)


def _prune(site: Path) -> None:
    """Take away what nothing runs, and what tells one builder from another."""
    # Commands with the path of the builder's Python.
    shutil.rmtree(site / "bin", ignore_errors=True)
    for name in OF_THE_BUILDER:
        for path in site.glob(f"*.dist-info/{name}"):
            path.unlink()
    for package in LARGE_TESTS:
        for folder in sorted((site / package).rglob("tests")):
            shutil.rmtree(folder, ignore_errors=True)
    for folder in sorted(site.rglob("__pycache__")):
        shutil.rmtree(folder)


def _make_environment(place: Path, python: str) -> None:
    """What `python -m venv` makes, where it will be."""
    (place / "bin").mkdir()
    (place / "bin/python3").symlink_to(f"/usr/bin/{python}")
    command = place / "bin/sluice"
    command.write_text(COMMAND.format(place=PLACE))
    command.chmod(0o755)
    (place / "pyvenv.cfg").write_text(
        f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {python[6:]}\n"
    )


def _compile(root: Path, site: Path, *, base: Path, python: str) -> None:
    """By the Python of that Debian, which runs here by its own loader."""
    libraries = base / "usr/lib/x86_64-linux-gnu"
    run(
        base / "usr/lib64/ld-linux-x86-64.so.2", "--library-path", libraries,
        base / "usr/bin" / python, "-s", "-m", "compileall", "-q", "--invalidation-mode",
        "unchecked-hash", "-s", root, "-p", "/", site,
        env={"PYTHONHOME": str(base / "usr"), "PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0"},
    )  # fmt: skip
