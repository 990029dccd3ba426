"""Two hosts with one datastore, inside one guest: an agent and a disk each, the service outside.

The disks share the datastore's requests, so what one takes the other does not get. The agents
reach the real service through a tunnel each, which is cut to part a host from it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from tests.testbed.guest import HOST as MACHINE
from tests.testbed.storage.groups import Counts, counts, folder, make_groups
from tests.testbed.storage.kept_busy import kept_busy
from tests.testbed.storage.load import Load, running
from tests.testbed.storage.null_disk import make_shared_disks

ENFORCED_DEADLINE_S = 60.0
OUTSTANDING = 4
FIRST_TUNNEL = 4000


@dataclass(slots=True, kw_only=True)
class Host:
    """A host as the guest has it: its disk, its workloads' groups, and what runs of it now."""

    name: str
    disk: str
    number: str
    groups: list[str]
    configuration: Path
    tunnel: list[str]
    processes: dict[str, subprocess.Popen[bytes]]
    loads: ExitStack | None = None


def run(
    *,
    hosts: list[dict[str, Any]],
    capacity_iops: float,
    service_port: int,
    steps: list[dict[str, Any]],
    has_weights: bool = True,
) -> dict[str, Any]:
    """What each host's groups did in each second of each step, and its disk's latency.

    Without weights the capacity counts as unknown, and limits alone are held.

    A step has a name and seconds, and lists of the hosts which in it are `idle`, `killed` (their
    agent is) or `parted` (from the service); what is in no list is in order again.
    """
    _prepare_network()
    numbers = make_shared_disks([said["disk"] for said in hosts], iops=capacity_iops)
    with ExitStack() as ending:
        present = [
            _host(said, number, place, service_port, has_weights=has_weights)
            for place, (said, number) in enumerate(zip(hosts, numbers, strict=True))
        ]
        with kept_busy():
            for host in present:
                ending.callback(_end, host)
                _start_tunnel(host)
                _start_agent(host)
            for host in present:
                _wait_until_enforced(host, "io.weight" if has_weights else "io.max")
        return {step["name"]: _step(present, step) for step in steps}


def _host(
    said: dict[str, Any], number: str, place: int, service_port: int, *, has_weights: bool
) -> Host:
    port = FIRST_TUNNEL + place
    return Host(
        name=said["name"],
        disk=said["disk"],
        number=number,
        groups=make_groups(said["workloads"], parent=said["parent"]),
        configuration=_configure(said, port, has_weights=has_weights),
        tunnel=_tunnel(port, service_port),
        processes={},
    )


def _configure(said: dict[str, Any], port: int, *, has_weights: bool) -> Path:
    place = Path(mkdtemp(prefix=f"{said['name']}-"))
    for name, text in said["files"].items():
        (place / name).write_text(text)
        (place / name).chmod(0o600)
    configuration = place / "agent.toml"
    disks = json.dumps([said["disk"]])
    configuration.write_text(
        f'[agent]\nhost = "{said["name"]}"\nstate_dir = "state"\npoll_s = 2\nreport_s = 2\n'
        f'[server]\nurl = "http://127.0.0.1:{port}"\n'
        'token_file = "token"\nserver_key_file = "server-key"\nreport_key_file = "report-key"\n'
        f'[cgroup_io]\nsubtrees = ["{said["parent"]}"]\n'
        f"devices = {disks}\n" + (f"capacity_is_measured = {disks}\n" if has_weights else "")
    )
    return configuration


def _tunnel(port: int, service_port: int) -> list[str]:
    netcat = ["busybox", "nc"]
    beyond = [*netcat, MACHINE, str(service_port)]
    return [*netcat, "-ll", "-p", str(port), "-e", *beyond]


def _prepare_network() -> None:
    for words in ("link set eth0 up", "addr add 10.0.2.15/24 dev eth0"):
        subprocess.run(["busybox", "ip", *words.split()], check=True)


def _start_tunnel(host: Host) -> None:
    host.processes["tunnel"] = subprocess.Popen(host.tunnel)


def _start_agent(host: Host) -> None:
    argv = [sys.executable, "-m", "enforcers", "run", "--config", str(host.configuration)]
    host.processes["agent"] = subprocess.Popen(argv)


def _stop(host: Host, name: str) -> None:
    process = host.processes.pop(name)
    process.kill()
    process.wait()


def _wait_until_enforced(host: Host, control: str) -> None:
    """Return once each group has a value of its own. Raises TimeoutError."""
    ends_s = time.monotonic() + ENFORCED_DEADLINE_S
    while not all(_has_own(control, group, host.number) for group in host.groups):
        if time.monotonic() > ends_s:
            raise TimeoutError(f"{host.name} enforces nothing")
        time.sleep(0.2)


def _has_own(control: str, group: str, number: str) -> bool:
    return f"{number} " in (folder(group) / control).read_text()


def _step(hosts: Sequence[Host], step: dict[str, Any]) -> list[dict[str, Any]]:
    for host in hosts:
        _bring_into(
            host,
            idle=host.name in step.get("idle", ()),
            killed=host.name in step.get("killed", ()),
            parted=host.name in step.get("parted", ()),
        )
    seconds = []
    before = [_look(host) for host in hosts]
    for _ in range(int(step["seconds"])):
        time.sleep(1)
        after = [_look(host) for host in hosts]
        seconds.append(
            {
                host.name: _between(*pair)
                for host, pair in zip(hosts, zip(before, after, strict=True), strict=True)
            }
        )
        before = after
    return seconds


def _bring_into(host: Host, *, idle: bool, killed: bool, parted: bool) -> None:
    if idle and host.loads:
        host.loads.close()
        host.loads = None
    elif not idle and host.loads is None:
        host.loads = ExitStack()
        place = Path("/dev") / host.disk
        loads = (Load(group=each, disk=place, outstanding=OUTSTANDING) for each in host.groups)
        host.loads.enter_context(running(*loads))
    for name, ends, start in (
        ("agent", killed, _start_agent),
        ("tunnel", parted, _start_tunnel),
    ):
        if ends and name in host.processes:
            _stop(host, name)
        elif not ends and name not in host.processes:
            start(host)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a host's groups and its disk have done so far."""

    groups: Counts
    ios: int
    queued_ms: int


def _look(host: Host) -> Look:
    words = (Path("/sys/block") / host.disk / "stat").read_text().split()
    return Look(
        groups=counts(host.groups, host.number),
        ios=int(words[0]) + int(words[4]),
        queued_ms=int(words[10]),
    )


def _between(before: Look, after: Look) -> dict[str, Any]:
    ios = after.ios - before.ios
    return {
        "iops": list(after.groups.rates(before.groups).values()),
        "ios": ios,
        "latency_ms": (after.queued_ms - before.queued_ms) / ios if ios else None,
    }


def _end(host: Host) -> None:
    if host.loads:
        host.loads.close()
    for name in list(host.processes):
        _stop(host, name)
