"""A private PostgreSQL cluster: made once, listening on one unix socket only."""

import os
import signal
import subprocess
from dataclasses import dataclass

import psycopg
from psycopg import sql

from appliance.embedded.child import ChildSpec
from appliance.embedded.errors import ChildFailed
from appliance.embedded.kill_order import KillOrder
from appliance.embedded.postgres_memory import memory_settings
from appliance.embedded.postgres_programs import PostgresPrograms, choose_programs, runnable_by
from appliance.embedded.service_user import ServiceUser, make_directory, process_identity
from config.database_roles import EMBEDDED_USERS
from config.paths import POSTGRES_PORT, DataDir

ROLE = DATABASE = "sluice"
# Written into a cluster whose tables need the extension: it must be loaded at every start.
TIMESCALEDB_MARKER = "sluice-timescaledb"
ARCHIVE_WITHIN = "60s"
"""About as much can be lost with the whole machine; pieces hardly filled pack well."""
MEMORY_FILE = "sluice-memory.conf"
MEMORY_HEAD = (
    "# Written at each start, by the memory of the machine; docs/settings.md has the rule."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresCluster:
    """The database files below a data directory, and the programs that serve them."""

    data: DataDir
    programs: PostgresPrograms
    user: ServiceUser | None
    timescaledb: bool

    @property
    def exists(self) -> bool:
        """Whether the cluster has been made."""
        return (self.data.postgres / "PG_VERSION").is_file()

    def create(self) -> None:
        """Make the cluster; a half-made one of an interrupted run is made again.

        Raises ChildFailed with what initdb said.
        """
        make_directory(self.data.postgres, self.user)
        arguments = [
            f"--pgdata={self.data.postgres}",
            f"--username={ROLE}",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            # The socket's directory is closed to every other user.
            "--auth=trust",
            # Damage on the disk is then an error, and no wrong answer.
            "--data-checksums",
            "--no-instructions",
        ]
        done = subprocess.run(
            [self.programs.bin_dir / "initdb", *arguments],
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            **process_identity(self.user),
        )
        if done.returncode != 0:
            raise ChildFailed(f"initdb could not make {self.data.postgres}: {done.stderr.strip()}")
        if self.timescaledb:
            (self.data.postgres / TIMESCALEDB_MARKER).touch()

    def configure(self, memory_bytes: int) -> None:
        """Write the memory settings of a machine of this size, in force from the next start.

        Lines that stand in postgresql.conf after the one that includes them win.
        """
        settings = memory_settings(memory_bytes)
        lines = [MEMORY_HEAD, *(f"{name} = {value}" for name, value in settings.items())]
        target = self.data.postgres / MEMORY_FILE
        target.write_text("\n".join(lines) + "\n")
        if self.user is not None:
            os.chown(target, self.user.uid, self.user.gid)
        main = self.data.postgres / "postgresql.conf"
        include = f"include_if_exists = '{MEMORY_FILE}'"
        if include not in main.read_text().splitlines():
            with main.open("a") as file:
                file.write(f"\n{include}\n")

    def server(self, *, durable: bool = True, archive_command: str | None = None) -> ChildSpec:
        """The server process. A server that is not durable is fast and fit for tests only.

        With `archive_command` it runs that for each finished piece of its log, and finishes one
        in use after ARCHIVE_WITHIN.
        """
        options = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.data.sockets),
            # The folder decides who comes so far.
            "unix_socket_permissions": "0777",
            "port": str(POSTGRES_PORT),
            "max_connections": "300",
            "timezone": "UTC",
            "log_timezone": "UTC",
            # Our statements are done in the time that compiling them would take.
            "jit": "off",
        }
        if self.timescaledb:
            options |= {
                "shared_preload_libraries": "timescaledb",
                "timescaledb.telemetry_level": "off",
            }
        if archive_command is not None:
            options |= {
                "archive_mode": "on",
                "archive_command": archive_command,
                "archive_timeout": ARCHIVE_WITHIN,
            }
        if not durable:
            options |= {
                "fsync": "off",
                "full_page_writes": "off",
                "synchronous_commit": "off",
                # What a transaction writes to a table that it made or emptied is not logged.
                "wal_level": "minimal",
                "max_wal_senders": "0",
            }
        settings = [part for k, v in options.items() for part in ("-c", f"{k}={v}")]
        return ChildSpec(
            name="postgres",
            argv=(
                str(self.programs.bin_dir / "postgres"),
                "-D",
                str(self.data.postgres),
                *settings,
            ),
            log=self.data.logs / "postgres.log",
            user=self.user,
            kill_order=KillOrder.DATABASE,
            # SIGINT is PostgreSQL's fast shutdown: it ends sessions and writes a checkpoint.
            stop_signal=signal.SIGINT,
            stop_timeout_s=60.0,
            # After a power cut it reads its log first, however long that takes.
            ready_timeout_s=600.0,
            is_ready=self.answers,
            is_alive=self.is_alive,
        )

    def address(self, database: str) -> str:
        """The connection string of one database of this cluster."""
        return f"host={self.data.sockets} port={POSTGRES_PORT} user={ROLE} dbname={database}"

    def answers(self) -> bool:
        """Whether the server takes connections."""
        return self._said_to_a_connection() is None

    def is_alive(self) -> bool:
        """Whether the server says anything, if only that it starts or that it is full."""
        said = self._said_to_a_connection()
        return said is None or "FATAL" in said

    def _said_to_a_connection(self) -> str | None:
        """Why it took no connection; None if it took one."""
        try:
            psycopg.connect(self.address("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError as error:
            return str(error)
        return None

    def create_database(self) -> None:
        """Create the product's database and its users unless they are there.

        Migrations add the extension and give the users their rights.
        """
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            found = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
            if found.fetchone() is None:
                connection.execute(f"CREATE DATABASE {DATABASE}")
            for name in EMBEDDED_USERS.values():
                found = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name])
                if found.fetchone() is None:
                    connection.execute(
                        sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name))
                    )


def find_cluster(data: DataDir, user: ServiceUser | None) -> PostgresCluster:
    """The cluster of a data directory, with programs that fit it; a new one gets the best.

    Raises NoServerProgram when nothing installed can serve it.
    """
    version_file = data.postgres / "PG_VERSION"
    if version_file.is_file():
        needs_timescaledb = (data.postgres / TIMESCALEDB_MARKER).is_file()
        programs = choose_programs(
            cluster_major=int(version_file.read_text()), timescaledb=needs_timescaledb
        )
        has_timescaledb = needs_timescaledb
    else:
        programs = choose_programs()
        has_timescaledb = programs.has_timescaledb
    return PostgresCluster(
        data=data,
        programs=runnable_by(programs, user, copies=data.programs),
        user=user,
        timescaledb=has_timescaledb,
    )
