"""A PostgreSQL of one benchmark alone, with the product's tables, gone when it ends."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def private_server(
    folder: Path, *, timescaledb: bool, durable: bool = True
) -> Iterator[list[str]]:
    """A PostgreSQL of this run with the product's tables and settings; yields the psql command.

    A cluster that lies in the folder already is used.
    """
    os.environ |= {"SLUICE_DATA_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "config.settings"}
    os.environ.pop("DATABASE_URL", None)
    import django
    from django.core.management import call_command

    from appliance.embedded.child import Child
    from appliance.embedded.postgres_cluster import PostgresCluster
    from appliance.embedded.postgres_memory import machine_memory_bytes
    from appliance.embedded.postgres_programs import choose_programs, runnable_by
    from appliance.embedded.service_user import make_directory, service_user
    from config.paths import POSTGRES_PORT, data_dir

    data, user = data_dir(), service_user()
    programs = runnable_by(choose_programs(timescaledb=timescaledb), user, copies=data.programs)
    cluster = PostgresCluster(data=data, programs=programs, user=user, timescaledb=timescaledb)
    data.logs.mkdir(exist_ok=True)
    make_directory(data.sockets, user)
    if not cluster.exists:
        cluster.create()
    cluster.configure(machine_memory_bytes())
    server = Child(cluster.server(durable=durable))
    try:
        server.wait_until_ready()
        psql = [
            str(programs.bin_dir / "psql"), "-X", "-q", "-h", str(data.sockets),
            "-p", str(POSTGRES_PORT), "-U", "sluice", "-v", "ON_ERROR_STOP=1",
        ]  # fmt: skip
        cluster.create_database()
        django.setup()
        call_command("migrate", verbosity=0)
        yield [*psql, "-d", "sluice"]
    finally:
        server.stop()
