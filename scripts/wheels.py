"""Builds what can be published of this checkout, and checks it: python -m scripts.wheels [FOLDER]

Source and wheel of server and agent, and the wheel of the native part where there is Rust. They
are checked by twine, which pip obtains; nothing is uploaded.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.server_tree import CHECKOUT, build_backend, build_wheel, run

TWINE = "twine>=6,<7"


def main() -> None:
    """Build all, print each path, and end with 1 where twine finds fault or cannot be had."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else CHECKOUT / "dist/wheels").absolute()
    shutil.rmtree(folder, ignore_errors=True)
    build_wheel(folder, source_too=True)
    build_agent(folder)
    run("scripts/native", "--wheel", folder)
    built = sorted(path for path in folder.iterdir() if path.suffix in {".whl", ".gz"})
    for path in built:
        print(path)
    sys.exit(check(built))


def build_agent(folder: Path) -> None:
    """The agent's folder is its import package, which setuptools finds by its own settings."""
    with tempfile.TemporaryDirectory() as copied:
        copy = Path(copied) / "enforcers"
        left_out = shutil.ignore_patterns("__pycache__", "debian")
        shutil.copytree(CHECKOUT / "enforcers", copy, ignore=left_out)
        build_backend(copy, folder, "sw")


def check(built: list[Path]) -> int:
    """The status of `twine check`; 1 and why where there is no twine."""
    with tempfile.TemporaryDirectory() as place:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        if subprocess.run([*pip, f"--target={place}", TWINE], check=False).returncode != 0:
            print(f"wheels: built and not checked: pip cannot install {TWINE}", file=sys.stderr)
            return 1
        twine = [sys.executable, "-m", "twine", "check", "--strict", *map(str, built)]
        return subprocess.run(twine, env={"PYTHONPATH": place}, check=False).returncode


if __name__ == "__main__":
    main()
