"""A valkey with a replica, and three sentinels who replace it when it is gone; all on loopback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import redis

from appliance.embedded.valkey import find_valkey

HOST = "127.0.0.1"
MASTER = "sluice-queue"
SERVERS_PASSWORD, SENTINELS_PASSWORD = "p@ss/of:servers", "p@ss+of sentinels"
DOWN_AFTER_MS = 1000
DEADLINE_S = 30.0


@dataclass(kw_only=True)
class WatchedValkeys:
    """The processes by their ports, and where the sentinels listen."""

    servers: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    sentinels: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """As the setting states it."""
        hosts = ",".join(f"{HOST}:{port}" for port in self.sentinels)
        return (
            f"sentinel://:p%40ss%2Fof%3Aservers@{hosts}/1"
            f"?master={MASTER}&sentinel_password=p%40ss+of%20sentinels"
        )

    def master_port(self) -> int:
        """The port of the master, as the last sentinel has it."""
        with _sentinel([*self.sentinels][-1]) as sentinel:
            _, port = sentinel.sentinel_get_master_addr_by_name(MASTER)
        return int(port)

    def signal_machine(self, master: int, sent: signal.Signals) -> None:
        """Kill, stop or continue a server, and the sentinel who is asked first."""
        for process in (self.servers[master], next(iter(self.sentinels.values()))):
            os.kill(process.pid, sent)

    def role(self, port: int) -> str:
        """What a server takes itself for."""
        with _server(port) as server:
            return str(server.info("replication")["role"])


@contextmanager
def watched_valkeys(folder: Path) -> Iterator[WatchedValkeys]:
    """One master, one replica and three sentinels who know of each other."""
    found = WatchedValkeys()
    with ExitStack() as stack:
        master, replica = _free_port(), _free_port()
        for port, more in ((master, ()), (replica, ("--replicaof", HOST, str(master)))):
            found.servers[port] = _start_server(stack, folder, port, *more)
        _wait_for(lambda: _has_replica(master))
        for _ in range(3):
            port = _free_port()
            found.sentinels[port] = _start_sentinel(stack, folder, port, master)
        for port in found.sentinels:
            _wait_for(lambda port=port: _knows_all(port))  # type: ignore[misc]  # each its own
        yield found


def _start_server(
    stack: ExitStack, folder: Path, port: int, *more: str
) -> subprocess.Popen[bytes]:
    own = folder / str(port)
    own.mkdir()
    return _start(
        stack, own,
        "--port", str(port), "--bind", HOST, "--dir", str(own), "--save", "",
        "--requirepass", SERVERS_PASSWORD, "--primaryauth", SERVERS_PASSWORD,
        "--repl-diskless-sync-delay", "0", *more,
    )  # fmt: skip


def _start_sentinel(
    stack: ExitStack, folder: Path, port: int, master: int
) -> subprocess.Popen[bytes]:
    own = folder / str(port)
    own.mkdir()
    # Sentinels write down here what they find.
    kept = own / "sentinel.conf"
    kept.write_text(
        f"port {port}\nbind {HOST}\ndir {own}\n"
        f'requirepass "{SENTINELS_PASSWORD}"\nsentinel sentinel-pass "{SENTINELS_PASSWORD}"\n'
        f"sentinel monitor {MASTER} {HOST} {master} 2\n"
        f'sentinel auth-pass {MASTER} "{SERVERS_PASSWORD}"\n'
        f"sentinel down-after-milliseconds {MASTER} {DOWN_AFTER_MS}\n"
        f"sentinel failover-timeout {MASTER} 5000\n"
    )
    return _start(stack, own, str(kept), "--sentinel")


def _start(stack: ExitStack, folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    log = stack.enter_context((folder / "log").open("wb"))
    process = subprocess.Popen(
        [find_valkey(), *arguments], stdout=log, stderr=subprocess.STDOUT, cwd=folder
    )
    stack.callback(process.wait)
    # One that is stopped can be killed too.
    stack.callback(process.kill)
    return process


def _has_replica(master: int) -> bool:
    with _server(master) as server:
        return server.info("replication").get("slave0", {}).get("state") == "online"


def _knows_all(port: int) -> bool:
    with _sentinel(port) as sentinel:
        state = sentinel.sentinel_masters()[MASTER]
    return bool(state["num-other-sentinels"] == 2 and state["num-slaves"] == 1)


def _server(port: int) -> redis.Redis:
    return redis.Redis(HOST, port, password=SERVERS_PASSWORD, socket_timeout=2)


def _sentinel(port: int) -> redis.Redis:
    return redis.Redis(HOST, port, password=SENTINELS_PASSWORD, socket_timeout=2)


def _wait_for(found: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not _is_so(found):
        assert time.monotonic() < deadline, "valkeys and sentinels are not ready"
        time.sleep(0.1)


def _is_so(found: Callable[[], bool]) -> bool:
    try:
        return found()
    except redis.RedisError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
