"""Builds the server's Debian package from this checkout, for Debian 13 on amd64:

    .venv/bin/python -m scripts.server_deb [--base DIRECTORY] [--version VERSION] [FOLDER]

It needs dpkg-deb, the checkout's .venv, and the Debian that `scripts/debian13` obtains, whose
Python the package is made for; no root. The same files give the same package, byte for byte.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path

from scripts.server_tree import (
    CHECKOUT,
    DOCUMENTS,
    PLACE,
    build_tree,
    committed_s,
    default_base,
    run,
    server_version,
)

DEBIAN = CHECKOUT / "appliance/debian"
PAGES = ("install", "operations", "settings", "backup", "connect")


def main() -> None:
    """Build it, and print its path."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--base", type=Path, default=default_base())
    parser.add_argument("--version", default=server_version())
    parser.add_argument("folder", type=Path, nargs="?", default=CHECKOUT / "dist")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        root.chmod(0o755)
        build_tree(root, base=chosen.base)
        print(pack(root, chosen.version, chosen.folder))


def pack(root: Path, version: str, folder: Path) -> Path:
    """The package of a tree that is there."""
    _add_own_files(root)
    _describe(root, version)
    _make_old(root, committed_s())
    folder.mkdir(parents=True, exist_ok=True)
    package = folder / f"sluice_{version}_amd64.deb"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(committed_s())}
    # Half of it is compiled code: zstd takes seconds where xz takes minutes.
    run(
        "dpkg-deb", "--root-owner-group", "-Zzstd", "-z9", "--threads-max=1", "--build", root,
        package, env=environment,
    )  # fmt: skip
    return package


def _add_own_files(root: Path) -> None:
    _install(DEBIAN / "sluice", root / "usr/bin/sluice", 0o755)
    _install(DEBIAN / "sluice.service", root / "usr/lib/systemd/system/sluice.service", 0o644)
    _install(DEBIAN / "sluice.env", root / "etc/sluice/sluice.env", 0o644)
    _install(CHECKOUT / "LICENSE", root / DOCUMENTS / "copyright", 0o644)
    for page in PAGES:
        _install(CHECKOUT / f"docs/{page}.md", root / DOCUMENTS / f"{page}.md", 0o644)
    for name in ("postinst", "prerm", "postrm"):
        _install(DEBIAN / name, root / "DEBIAN" / name, 0o755)


def _install(source: Path, target: Path, mode: int) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def _describe(root: Path, version: str) -> None:
    """Package's own description: compiled modules are of one minor version of Python alone."""
    (python,) = (path.name for path in (root / PLACE / "lib").iterdir())
    minor = int(python.rpartition(".")[2])
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    size_kib = sum(-(-path.stat().st_size // 1024) for path in files)
    text = (DEBIAN / "control").read_text()
    for name, value in (
        ("VERSION", version),
        ("SIZE", str(size_kib)),
        ("PYTHON", f"python3 (>= 3.{minor}), python3 (<< 3.{minor + 1})"),
    ):
        text = text.replace(f"@{name}@", value)
    (root / "DEBIAN/control").write_text(text)
    (root / "DEBIAN/conffiles").write_text("/etc/sluice/sluice.env\n")


def _make_old(root: Path, made_s: int) -> None:
    """No file newer than the commit, and each for all to read, whoever built it."""
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        if path.lstat().st_mtime > made_s:
            os.utime(path, (made_s, made_s), follow_symlinks=False)
    # Passwords may be in it.
    (root / "etc/sluice/sluice.env").chmod(0o640)


if __name__ == "__main__":
    main()
