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

    django.setup()
    from django.core.management import call_command

    from appliance.embedded.postgres_memory import machine_memory_bytes
    from appliance.embedded.scratch_database import scratch_cluster
    from config.paths import POSTGRES_PORT, data_dir

    data = data_dir()
    with scratch_cluster(
        data, timescaledb=timescaledb, memory_bytes=machine_memory_bytes(), durable=durable
    ) as cluster:
        cluster.create_database()
        call_command("migrate", verbosity=0)
        psql = [
            str(cluster.programs.bin_dir / "psql"), "-X", "-q", "-h", str(data.sockets),
            "-p", str(POSTGRES_PORT), "-U", "sluice", "-v", "ON_ERROR_STOP=1",
        ]  # fmt: skip
        yield [*psql, "-d", "sluice"]
