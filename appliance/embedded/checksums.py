"""Checksums of the database's pages: whether there are any, and how they are added."""

from __future__ import annotations

import re
import subprocess

from appliance.embedded.errors import EmbeddedError
from appliance.embedded.leftovers import processes_in
from appliance.embedded.postgres_cluster import PostgresCluster
from appliance.embedded.service_user import process_identity


def has_checksums(cluster: PostgresCluster) -> bool:
    """Whether each page of the cluster has a checksum; PostgreSQL then notices a damaged one.

    Raises EmbeddedError if the cluster cannot be read.
    """
    said = _run(cluster, "pg_controldata", str(cluster.data.postgres))
    found = re.search(r"Data page checksum version:\s+(\d+)", said)
    return found is not None and found[1] != "0"


def add_checksums(cluster: PostgresCluster) -> None:
    """Write a checksum into every page of a cluster that is stopped.

    Raises EmbeddedError if it runs, or with what pg_checksums said.
    """
    if processes_in(cluster.data.postgres):
        raise EmbeddedError(
            f"the database in {cluster.data.root} is running; stop it first (Ctrl-C of sluice run)"
        )
    _run(cluster, "pg_checksums", "--enable", f"--pgdata={cluster.data.postgres}")


def _run(cluster: PostgresCluster, program: str, *arguments: str) -> str:
    done = subprocess.run(
        [cluster.programs.bin_dir / program, *arguments],
        cwd="/",
        env={"LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
        **process_identity(cluster.user),
    )
    if done.returncode != 0:
        raise EmbeddedError(f"{program} failed: {done.stderr.strip()}")
    return str(done.stdout)
