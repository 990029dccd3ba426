"""A PostgreSQL that lives as long as a block, beside whatever server there is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management import call_command
from django.db import OperationalError, connection

from appliance.embedded.child import Child
from appliance.embedded.errors import EmbeddedError
from appliance.embedded.postgres_cluster import DATABASE, ROLE, PostgresCluster
from appliance.embedded.postgres_programs import choose_programs, runnable_by
from appliance.embedded.service_user import make_directory, service_user
from config.paths import POSTGRES_PORT, DataDir


@contextmanager
def scratch_cluster(
    data: DataDir, *, timescaledb: bool = False, memory_bytes: int = 0, durable: bool = False
) -> Iterator[PostgresCluster]:
    """A running server below `data`; a cluster that lies there already is used.

    `memory_bytes` above 0 tunes it for a machine of this size.
    Raises NoServerProgram, ChildFailed.
    """
    user = service_user()
    programs = runnable_by(choose_programs(timescaledb=timescaledb), user, copies=data.programs)
    cluster = PostgresCluster(data=data, programs=programs, user=user, timescaledb=timescaledb)
    data.logs.mkdir(exist_ok=True)
    make_directory(data.sockets, user)
    if not cluster.exists:
        cluster.create()
    if memory_bytes:
        cluster.configure(memory_bytes)
    server = Child(cluster.server(durable=durable))
    try:
        server.wait_until_ready()
        yield cluster
    finally:
        server.stop()


@contextmanager
def on_scratch_database(data: DataDir, *, timescaledb: bool = False) -> Iterator[None]:
    """Django works on a new database with the product's empty tables while this lasts.

    Raises EmbeddedError if that database fails meanwhile, NoServerProgram, ChildFailed.
    """
    with scratch_cluster(data, timescaledb=timescaledb) as cluster:
        cluster.create_database()
        connection.close()
        before = dict(connection.settings_dict)
        connection.settings_dict |= {
            "HOST": str(data.sockets), "PORT": str(POSTGRES_PORT), "NAME": DATABASE,
            "USER": ROLE, "PASSWORD": "",
        }  # fmt: skip
        try:
            call_command("migrate", verbosity=0)
            yield
        except OperationalError as error:
            # Told as it is, a person would look for the fault in the product's own database.
            reason = str(error).splitlines()[0]
            raise EmbeddedError(f"the database made for this command failed: {reason}") from error
        finally:
            connection.close()
            connection.settings_dict |= before
