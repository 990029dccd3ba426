"""Which user the private servers run as: PostgreSQL refuses to run as root."""

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.paths import DataDirError

CANDIDATES = ("postgres", "sluice-database", "sluice", "nobody")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceUser:
    """An unprivileged user that root starts the servers as."""

    name: str
    uid: int
    gid: int
    home: str = "/"


def service_user(cluster: Path | None = None) -> ServiceUser | None:
    """The unprivileged user to start servers as; None means this process already is one.

    Whoever has the cluster goes on with it: PostgreSQL serves no other user's, and a user that
    comes before in the list may have been made since.
    """
    if os.geteuid() != 0:
        return None
    if cluster is not None and (owner := _owner(cluster)) is not None:
        return owner
    for name in CANDIDATES:
        if (user := user_of_name(name)) is not None:
            return user
    raise DataDirError(
        "running as root, but there is no unprivileged user for PostgreSQL; "
        f"create one of {', '.join(CANDIDATES)}, or run as another user"
    )


def _owner(path: Path) -> ServiceUser | None:
    """Who has it; None for root, nobody that is known, or where there is nothing."""
    try:
        entry = pwd.getpwuid(path.stat().st_uid)
    except (OSError, KeyError):
        return None
    return user_of_name(entry.pw_name) if entry.pw_uid != 0 else None


def user_of_name(name: str) -> ServiceUser | None:
    """The user of this machine that is called so."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return ServiceUser(name=name, uid=entry.pw_uid, gid=entry.pw_gid, home=entry.pw_dir)


def process_identity(user: ServiceUser | None) -> dict[str, Any]:
    """The arguments that make subprocess start a program as the user."""
    if user is None:
        return {}
    return {"user": user.uid, "group": user.gid, "extra_groups": []}


def make_directory(path: Path, user: ServiceUser | None, *, with_files: bool = False) -> None:
    """Create a directory that only the service user may enter; its files become the user's too."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if user is not None:
        for own in (path, *(path.iterdir() if with_files else ())):
            os.chown(own, user.uid, user.gid, follow_symlinks=False)


def can_run(program: Path, user: ServiceUser | None) -> bool:
    """Whether the user can reach and start the program: `program --version` tells."""
    try:
        done = subprocess.run(
            [program, "--version"],
            cwd="/",
            capture_output=True,
            check=False,
            **process_identity(user),
        )
    except OSError:
        return False
    return done.returncode == 0


def reachable_copy(trees: tuple[Path, ...], *, into: Path, version: str) -> Path:
    """Copy program trees, side by side, to where the service user can reach them.

    Root's home is closed to other users, so what lies there cannot be started as one.
    A copy of the same version is kept.
    """
    marker = into / ".version"
    if marker.is_file() and marker.read_text() == version:
        return into
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(mode=0o755, parents=True)
    for tree in trees:
        if tree.is_dir():
            shutil.copytree(tree, into / tree.name, symlinks=True)
        else:
            shutil.copy2(tree, into / tree.name)
    marker.write_text(version)
    return into
