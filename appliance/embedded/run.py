"""`sluice run`: every process of the product below one data directory, step by step."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from appliance.backup.places import BackupPlaces, archive_command
from appliance.embedded import children
from appliance.embedded.checksums import has_checksums
from appliance.embedded.child import ChildSpec
from appliance.embedded.errors import EmbeddedError
from appliance.embedded.fork_server import adopt_orphans, await_orphans
from appliance.embedded.leftovers import Running, clear_leftovers, processes_in
from appliance.embedded.listening import allowed_hosts, check_address_is_free
from appliance.embedded.own_process import in_own_process
from appliance.embedded.postgres_cluster import find_cluster
from appliance.embedded.postgres_memory import machine_memory_bytes
from appliance.embedded.prepared import NewLogin, Prepared, prepare_database
from appliance.embedded.product_users import (
    ProductUsers,
    open_sockets,
    open_to_product,
    product_users,
)
from appliance.embedded.service_manager import ServiceManager
from appliance.embedded.service_user import ServiceUser, make_directory, service_user
from appliance.embedded.supervisor import Supervisor
from appliance.embedded.valkey import valkey_answers, valkey_server
from config import env
from config.paths import DataDir, DataDirError

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the caller chose."""

    host: str
    port: int
    with_reader: bool
    with_sample: bool = False


def run(options: RunOptions, say: Say) -> None:
    """Start everything and stay until a signal raises KeyboardInterrupt; then stop everything.

    Raises EmbeddedError with what failed and what to do.
    """
    data: DataDir = settings.DATA_DIR
    data.check_socket_paths()
    user, users = service_user(data.postgres), product_users()
    _make_directories(data, user, users)
    with _held_lock(data.lock):
        running = Running(data.running)
        # PostgreSQL has work to end with, and is asked for that below.
        if done := running.end(but=processes_in(data.postgres)):
            say(done)
        check_address_is_free(options.host, options.port)
        supervisor, systemd = Supervisor(say, running), ServiceManager()
        try:
            if users.said:
                say(users.said)
            _start_servers(data, user, supervisor, say)
            say("database: bringing its tables up to date")
            prepared = in_own_process(
                lambda: prepare_database(data, with_reader=options.with_reader)
            )
            if prepared.warning:
                say(prepared.warning)
            open_to_product(data, users)
            _start_product(data, options, users, prepared, supervisor=supervisor, say=say)
            _welcome(options, prepared.login, data, say)
            systemd.ready(children.web_url(options.host, options.port))
            supervisor.watch(lambda: _after_a_look(supervisor, systemd))
        finally:
            systemd.stopping()
            supervisor.stop()


def _after_a_look(supervisor: Supervisor, systemd: ServiceManager) -> None:
    await_orphans(supervisor.processes())
    systemd.alive()


@contextmanager
def _held_lock(path: Path) -> Iterator[None]:
    """One supervisor per data directory; the system gives the lock back however this one ends.

    Raises DataDirError with the number of the process that has it.
    """
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise DataDirError(
                f"the data directory {path.parent} is in use by another sluice run "
                f"(process {holder}); stop that one, or set SLUICE_DATA_DIR to another directory"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _make_directories(data: DataDir, user: ServiceUser | None, users: ProductUsers) -> None:
    # As root the servers run as another user, who has to pass through to what is theirs.
    data.root.mkdir(mode=0o700 if user is None else 0o711, parents=True, exist_ok=True)
    data.logs.mkdir(mode=0o700, exist_ok=True)
    make_directory(data.sockets, user)
    open_sockets(data.sockets, users)
    make_directory(data.valkey, user)
    # Another user may have had the scheduler before.
    make_directory(data.schedule.parent, users.product, with_files=True)


def _start_servers(
    data: DataDir, user: ServiceUser | None, supervisor: Supervisor, say: Say
) -> None:
    """The private PostgreSQL and valkey, except where the environment names real ones."""
    if env.secret("DATABASE_URL"):
        say("database: the one of DATABASE_URL")
    else:
        if done := clear_leftovers(data.postgres):
            say(f"database: {done}")
        cluster = find_cluster(data, user)
        if not cluster.exists:
            say(f"database: making a new one in {data.postgres}")
            cluster.create()
        elif not has_checksums(cluster):
            say(
                "database: its pages have no checksums, so damage on the disk may go unseen; "
                "stop it and run once: sluice checksums --enable"
            )
        cluster.configure(machine_memory_bytes())
        say(f"database: starting {cluster.programs}")
        supervisor.start(cluster.server(archive_command=_archive_command(data, user)))
        cluster.create_database()
    if env.secret("REDIS_URL"):
        if not valkey_answers(settings.REDIS_URL):
            raise EmbeddedError("the server of REDIS_URL does not answer; is it running?")
        say("queue: the one of REDIS_URL")
    else:
        server = valkey_server(data, user)
        say(f"queue: starting {server.argv[0]}")
        supervisor.start(server)


def _archive_command(data: DataDir, user: ServiceUser | None) -> str | None:
    """What PostgreSQL does with its log; None where backups have no target."""
    if not settings.BACKUP_TARGET:
        return None
    places = BackupPlaces(data)
    places.make(user)
    return archive_command(places)


def _start_product(
    data: DataDir,
    options: RunOptions,
    users: ProductUsers,
    prepared: Prepared,
    *,
    supervisor: Supervisor,
    say: Say,
) -> None:
    say("starting the signer and the web server")
    supervisor.start(children.signer(data, users))
    names = allowed_hosts(options.host)
    supervisor.start(
        children.web(
            data, host=options.host, port=options.port, allowed_hosts=names, user=users.product
        )
    )
    sample = in_own_process(lambda: _with_history(data, say)) if options.with_sample else None
    say("starting the workers and the scheduler")
    has_fork_server = adopt_orphans()
    if has_fork_server:
        supervisor.start(children.fork_server(data, users.product))
    supervisor.start(
        *children.workers(data, users.product, by_fork_server=has_fork_server),
        children.scheduler(data, users.product, by_fork_server=has_fork_server),
    )
    if sample is not None:
        supervisor.start(sample)
    if settings.BACKUP_TARGET:
        say(f"backing up to {settings.BACKUP_TARGET}")
        supervisor.start(children.backup_keeper(data))
    if settings.UDP_TOKEN:
        say("receiving line protocol over UDP, which nobody acknowledges")
        supervisor.start(children.udp(data, users.product))
    if prepared.reader is not None:
        say("starting the reader of this machine's own disks and interfaces")
        supervisor.start(prepared.reader)


def _with_history(data: DataDir, say: Say) -> ChildSpec:
    """The sample's hosts, whose last hours were sent.

    Before anything is judged: what comes afterwards would be judged again, later.
    """
    from appliance.sample.fleet import ORGANISATION_NAME
    from appliance.sample.organisation import sample_hosts, send_history

    say(f"sending the last hours of the organisation {ORGANISATION_NAME}")
    sample = sample_hosts(data)
    send_history(sample)
    return sample


def _welcome(options: RunOptions, login: NewLogin | None, data: DataDir, say: Say) -> None:
    say("")
    say(f"Sluice is ready: {children.web_url(options.host, options.port)}/")
    if login is not None:
        say(f"  log in as {login.username} with the password {login.password}")
        say("  (shown once; set a new one with: sluice changepassword admin)")
    else:
        say("  log in as before; a lost password is set anew with: sluice changepassword admin")
    say(f"  data and logs: {data.root}")
    say("  Ctrl-C stops everything")
