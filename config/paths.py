"""The files of the embedded mode, all below one data directory."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# A unix socket's path must fit `sun_path`, 108 bytes with its closing zero (unix(7)).
MAX_SOCKET_PATH_BYTES = 107
POSTGRES_PORT = 5432
SYSTEM_DATA_DIR = Path("/var/lib/sluice")


class DataDirError(Exception):
    """The data directory cannot be used; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class DataDir:
    """The places below one data directory."""

    root: Path

    @property
    def postgres(self) -> Path:
        """The database cluster."""
        return self.root / "postgres"

    @property
    def valkey(self) -> Path:
        """What valkey saves."""
        return self.root / "valkey"

    @property
    def sockets(self) -> Path:
        """The directory of both unix sockets."""
        return self.root / "run"

    @property
    def logs(self) -> Path:
        """One log file per child process."""
        return self.root / "log"

    @property
    def programs(self) -> Path:
        """Copies of server programs that the service user could not reach where they are."""
        return self.root / "programs"

    @property
    def lock(self) -> Path:
        """Held by the one supervisor that may use the directory."""
        return self.root / "lock"

    @property
    def running(self) -> Path:
        """The processes of the supervisor, for the next one if this one is killed."""
        return self.root / "running"

    @property
    def schedule(self) -> Path:
        """When the scheduler queued what, in a folder of its own: it makes the file anew."""
        return self.root / "scheduler" / "schedule"

    def alive_file(self, process: str) -> Path:
        """What a worker or the scheduler touches while it works."""
        return self.schedule.with_name(f"{process}.alive")

    @property
    def reader(self) -> Path:
        """The local reader's configuration, its token, and samples not delivered yet."""
        return self.root / "reader"

    @property
    def sample(self) -> Path:
        """The sample's token, and how far its hosts have sent."""
        return self.root / "sample"

    @property
    def backup(self) -> Path:
        """What waits for the target of backups, and when the last one was made."""
        return self.root / "backup"

    @property
    def secret_key(self) -> Path:
        """Django's SECRET_KEY, made once."""
        return self.root / "secret-key"

    @property
    def encryption_keys(self) -> Path:
        """The keys that encrypt secrets in the database, the newest first."""
        return self.root / "encryption-keys"

    @property
    def signing_keys(self) -> Path:
        """The secrets from which the keys of hosts are made, the newest first."""
        return self.root / "signing-keys"

    @property
    def signer_socket(self) -> Path:
        """Where the process listens that has them."""
        return self.root / "signer.sock"

    @property
    def fork_server_socket(self) -> Path:
        """Where the supervisor asks for workers."""
        return self.root / "fork-server.sock"

    @property
    def web_socket(self) -> Path:
        """The web server's socket beside its TCP address: for proxies and network namespaces."""
        return self.root / "web.sock"

    @property
    def database_socket(self) -> Path:
        """The socket that PostgreSQL listens on."""
        return self.sockets / f".s.PGSQL.{POSTGRES_PORT}"

    @property
    def valkey_socket(self) -> Path:
        """The socket that valkey listens on."""
        return self.sockets / "valkey.sock"

    @property
    def valkey_url(self) -> str:
        """The address of valkey as redis-py spells it."""
        return f"unix://{self.valkey_socket}"

    def check_socket_paths(self) -> None:
        """Refuse a data directory whose sockets could not be opened.

        Raises DataDirError with the length that is allowed.
        """
        longest = max(len(os.fsencode(p)) for p in (self.database_socket, self.valkey_socket))
        if longest > MAX_SOCKET_PATH_BYTES:
            allowed = MAX_SOCKET_PATH_BYTES - (longest - len(os.fsencode(self.root)))
            raise DataDirError(
                f"the data directory {self.root} has too long a path for unix sockets; "
                f"set SLUICE_DATA_DIR to one of at most {allowed} bytes"
            )


def data_dir(environ: Mapping[str, str] = os.environ) -> DataDir:
    """SLUICE_DATA_DIR, else ~/.local/share/sluice, and for root /var/lib/sluice.

    PostgreSQL refuses to run as root and its user cannot look into root's home.
    """
    if chosen := environ.get("SLUICE_DATA_DIR"):
        return DataDir(Path(chosen).expanduser().absolute())
    if os.geteuid() == 0:
        return DataDir(SYSTEM_DATA_DIR)
    return DataDir(Path.home() / ".local" / "share" / "sluice")
