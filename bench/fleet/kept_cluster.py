"""A database cluster with a fleet in it, made once and kept in the cache.

A copy is used, so that a run changes nothing of what is kept. A change of the generator or of a
migration makes a new one, which takes the place of the old.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.fleet.shape import FleetShape, History
from bench.private_server import private_server

ROOT = Path(__file__).resolve().parents[2]
GENERATOR = (
    "copy_history",
    "copy_rows",
    "fill",
    "inventory",
    "past_states",
    "sample_writer",
    "sealed_figures",
    "sealed_hours",
    "shape",
    "traffic",
)
"""The files of this folder that decide what is written."""
APPLICATIONS = ("accounts", "advisor", "ingest", "web")


def put_fleet(folder: Path, shape: FleetShape, history: History, *, timescaledb: bool) -> bool:
    """Put the cluster with this fleet into an empty data directory; whether it had to be made."""
    kind = f"{'timescale' if timescaledb else 'plain'}-{shape.workloads}"
    kept = cache_dir() / "fleet" / kind / cache_key(shape, history)
    kept.parent.mkdir(parents=True, exist_ok=True)
    with _locked(kept.parent / "lock"):
        if not kept.is_dir():
            _make(folder, shape, history, timescaledb=timescaledb)
            _forget_all(kept.parent)
            unfinished = kept.with_suffix(".part")
            _copy(folder / "postgres", unfinished)
            unfinished.rename(kept)
            return True
        _copy(kept, folder / "postgres")
        return False


def cache_dir() -> Path:
    """The cache of this checkout's tools, as in the Makefile."""
    chosen = os.environ.get("SLUICE_CACHE_DIR")
    return Path(chosen) if chosen else Path.home() / ".cache" / "sluice"


def cache_key(shape: FleetShape, history: History) -> str:
    """Differs for another fleet, another generator and other tables."""
    digest = hashlib.sha256(f"{shape} {history}".encode())
    files = [Path(__file__).with_name(f"{name}.py") for name in GENERATOR]
    for application in APPLICATIONS:
        files += sorted((ROOT / application).glob("migrations/*.py"))
    for file in files:
        digest.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _make(folder: Path, shape: FleetShape, history: History, *, timescaledb: bool) -> None:
    with private_server(folder, timescaledb=timescaledb, durable=False):
        from django.db import connection

        from bench.fleet.fill import fill

        fill(shape, history)
        connection.close()


def _copy(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(target)], check=True)


def _forget_all(folder: Path) -> None:
    for old in folder.iterdir():
        if old.is_dir():
            shutil.rmtree(old)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One run at a time makes or copies a cluster."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
