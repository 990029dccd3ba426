"""A server with the fleet on it, judged, for as long as a benchmark takes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bench.fleet.kept_cluster import put_fleet
from bench.fleet.shape import FleetShape, History
from bench.private_server import private_server

if TYPE_CHECKING:
    from bench.fleet.stage import Stage


@contextmanager
def own_server(*, timescaledb: bool) -> Iterator[None]:
    """A server of this run with the product's empty tables."""
    with (
        _own_folder() as folder,
        private_server(folder, timescaledb=timescaledb),
        _queue_server(),
    ):
        yield


@contextmanager
def staged_fleet(shape: FleetShape, history: History, *, timescaledb: bool) -> Iterator[Stage]:
    """The fleet from the cache, or newly made, with its congestion judged."""
    begin = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - begin:7.0f} s  {text}", flush=True)

    with _own_folder() as folder:
        made = put_fleet(folder, shape, history, timescaledb=timescaledb)
        say("the fleet is made and kept" if made else "the fleet is copied from the cache")
        with private_server(folder, timescaledb=timescaledb), _queue_server():
            from bench.fleet import databases, product
            from bench.fleet.clock import frozen_at
            from bench.fleet.shape import END
            from bench.fleet.stage import catch_up, find_stage

            databases.keep_still()
            stage = find_stage(shape, history, say)
            with frozen_at(END):
                catch_up(stage)
                product.look_outside(stage.stores[:1], END)
                product.advise_policy(stage.stores[0], END)
            say("the fleet is judged, and advised on its first datastore")
            yield stage
            databases.close()


@contextmanager
def _own_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sluice-bench-", dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


@contextmanager
def _queue_server() -> Iterator[None]:
    """The queue of the workers, in which judging notes its lag as well."""
    from django.conf import settings

    from appliance.embedded.child import Child
    from appliance.embedded.service_user import make_directory, service_user
    from appliance.embedded.valkey import valkey_server

    user = service_user()
    make_directory(settings.DATA_DIR.valkey, user)
    server = Child(valkey_server(settings.DATA_DIR, user))
    try:
        server.wait_until_ready()
        yield
    finally:
        server.stop()
