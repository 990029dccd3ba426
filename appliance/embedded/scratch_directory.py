"""A directory that lives as long as one command, and the logs in it."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "sluice-scratch-"
OUR_NAME = re.compile(rf"{PREFIX}(\d+)-\w+")
TAIL_LINES = 12


@contextmanager
def scratch_directory(within: Path | None = None) -> Iterator[Path]:
    """Make an empty directory and remove it at the end, and those of killed commands now.

    It is in the system's place of temporary files unless another one is given.
    """
    folder = within or Path(tempfile.gettempdir())
    _remove_leavings_of_the_dead(folder)
    path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=folder))
    # As root the database runs as another user, who has to pass through to what is theirs.
    path.chmod(0o711)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def tails(scratch: Path) -> str:
    """Show the ends of all logs that say something, oldest log first."""
    logs = [path for path in scratch.rglob("*.log") if path.stat().st_size]
    return "\n".join(_tail(path) for path in sorted(logs, key=lambda path: path.stat().st_mtime))


def _tail(path: Path) -> str:
    lines = path.read_text(errors="replace").splitlines()[-TAIL_LINES:]
    return "\n".join([f"--- the end of {path.name}", *(f"    {line}" for line in lines)])


def _remove_leavings_of_the_dead(folder: Path) -> None:
    for path in folder.glob(f"{PREFIX}*"):
        match = OUR_NAME.fullmatch(path.name)
        if match and not Path(f"/proc/{match.group(1)}").exists():
            shutil.rmtree(path, ignore_errors=True)
