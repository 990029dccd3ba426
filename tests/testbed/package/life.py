"""The life of the agent's package on a Debian 13 with systemd, from its installation to its purge.

Workloads are units of systemd, which the policy names; the disk completes so many I/Os a second.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.testbed.storage.agent import Service, Wish, listening
from tests.testbed.storage.groups import counts, folder
from tests.testbed.storage.load import Load, running
from tests.testbed.storage.null_disk import PLACE, make_disk

AGENT = "sluice-enforcer.service"
UNITS = [f"vm{number}.service" for number in range(1, 5)]
GROUPS = [f"/machine.slice/{unit}" for unit in UNITS]
CONFIGURATION = Path("/etc/sluice-enforcer/agent.toml")
STATE = Path("/var/lib/sluice-enforcer")
DEADLINE_S = 300.0
# Less than a quarter of the disk, which each unit would get anyhow.
LIMIT_IOPS = 400.0
SHORT_LEASE = timedelta(seconds=20)


def run(
    *, folder: str, lines: list[str], port: int, key: str, capacity_iops: float
) -> dict[str, Any]:
    """What was seen at each step, by its name.

    The lines are those that install and start the agent, run in the folder of the package. The
    service listens at this port, and signs with this key.
    """
    disk = make_disk(iops=capacity_iops)
    for unit in UNITS:
        _do(
            "systemd-run", "--quiet", "--slice=machine.slice", f"--unit={unit}",
            "--property=IOAccounting=yes", "sleep", "infinity",
        )  # fmt: skip
    said: dict[str, Any] = {"found": _limits()}
    install, *enrol = lines
    _line(install, folder)
    said["before it is enrolled"] = _state()
    service = Service(key=key.encode())
    with listening(service, port=port):
        said["said"] = [_line(line, folder) for line in enrol]
        said["started"] = _state()
        for name, step in (
            ("shares", lambda: _shares(service, disk, capacity_iops)),
            ("reservation", lambda: _reservation(service, disk, capacity_iops)),
            ("limit", lambda: _limit(service, disk, capacity_iops)),
            ("hanging", lambda: _new_process(_signal("STOP"), look_s=1.0)),
            ("upgraded", lambda: _new_process(lambda: _line(install, folder))),
            ("cannot start", lambda: _cannot_start(service, capacity_iops)),
            ("in force again", lambda: _in_force(service, capacity_iops)),
            ("purged", _purged),
        ):
            print(f"step: {name}", file=sys.stderr, flush=True)
            said[name] = step()
    said["left behind"] = [str(place) for place in (CONFIGURATION.parent, STATE) if place.exists()]
    return said


def _limits() -> list[str]:
    """Of each unit, its line of io.max; empty without a limit."""
    return [(folder(group) / "io.max").read_text().strip() for group in GROUPS]


def _wish(place: int, **asked: Any) -> Wish:
    return Wish(group=GROUPS[place], selector=("systemd_unit", UNITS[place]), **asked)


def _shares(service: Service, disk: str, capacity_iops: float) -> list[float]:
    wishes = [_wish(place, shares=shares) for place, shares in enumerate((300, 100, 100, 100))]
    service.publish(*wishes, capacity_iops=capacity_iops)
    service.wait_until_enforced()
    return _rates(disk)


def _reservation(service: Service, disk: str, capacity_iops: float) -> list[float]:
    reserved = 0.6 * capacity_iops
    rest = (capacity_iops - reserved) / 3
    wishes = [_wish(place, entitlement=rest) for place in (1, 2, 3)]
    wishes.append(_wish(0, reservation=reserved, entitlement=reserved))
    service.publish(*wishes, capacity_iops=capacity_iops)
    service.wait_until_enforced()
    return _rates(disk)


def _limit(service: Service, disk: str, capacity_iops: float) -> dict[str, Any]:
    _publish_limit(service, capacity_iops)
    return {"iops": _rates(disk)[0], "outcomes": service.outcomes(), "limits": _limits()}


def _publish_limit(service: Service, capacity_iops: float, **asked: timedelta) -> None:
    service.publish(_wish(0, limit=LIMIT_IOPS), capacity_iops=capacity_iops, **asked)
    service.wait_until_enforced()


def _rates(disk: str, *, warm_s: float = 4.0, seconds: float = 6.0) -> list[float]:
    """IOPS of each unit while all want as much as they get."""
    with running(*(Load(group=group, disk=PLACE) for group in GROUPS)):
        time.sleep(warm_s)
        before = counts(GROUPS, disk)
        time.sleep(seconds)
        rates = counts(GROUPS, disk).rates(before)
    return [rates[group] for group in GROUPS]


def _new_process(change: Callable[[], object], *, look_s: float = 0.05) -> dict[str, Any]:
    """What a change does that ends the agent's process and brings another one."""
    before = _processes()
    with _watched(look_s) as seen:
        change()
        took_s = _wait(lambda: bool(_processes() - before), look_s)
        _do("systemctl", "start", AGENT)
        # What a new process would do wrong, it does in its first rounds, 10 s apart.
        time.sleep(12)
    return {"took_s": took_s, "limits": seen, "state": _state()}


def _signal(name: str) -> Callable[[], object]:
    return lambda: _do("systemctl", "kill", "--kill-whom=main", f"--signal={name}", AGENT)


def _cannot_start(service: Service, capacity_iops: float) -> dict[str, Any]:
    """The agent is killed, its configuration is gone, and its short lease ends."""
    _publish_limit(service, capacity_iops, lease=SHORT_LEASE)
    hidden = CONFIGURATION.with_suffix(".away")
    CONFIGURATION.rename(hidden)
    left = _limits()
    _signal("KILL")()
    took_s = _wait(lambda: not any(_limits()), 1.0)
    hidden.rename(CONFIGURATION)
    return {"left": left, "took_s": took_s}


def _in_force(service: Service, capacity_iops: float) -> list[str]:
    _publish_limit(service, capacity_iops)
    return _limits()


def _purged() -> list[str]:
    _do("dpkg", "--purge", "sluice-enforcer")
    return _limits()


@contextmanager
def _watched(look_s: float) -> Iterator[list[list[str]]]:
    """All that the limits of the units were meanwhile, each once."""
    seen: list[list[str]] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(look_s):
            now = _limits()
            if now not in seen:
                seen.append(now)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def _wait(holds: Callable[[], bool], look_s: float) -> float:
    """Seconds until it holds. Raises TimeoutError."""
    began_s = time.monotonic()
    while not holds():
        if time.monotonic() - began_s > DEADLINE_S:
            raise TimeoutError(_do("journalctl", "--no-pager", "--lines=40", f"--unit={AGENT}"))
        time.sleep(look_s)
    return time.monotonic() - began_s


def _processes() -> set[str]:
    """Those of the agent's unit; to ask systemd so often would take most of the guest's time."""
    try:
        return set((folder(f"/system.slice/{AGENT}") / "cgroup.procs").read_text().split())
    except OSError:
        return set()


def _state() -> dict[str, str]:
    return {
        "active": _shown("ActiveState"),
        "enabled": _shown("UnitFileState"),
        "restarts": _shown("NRestarts"),
    }


def _shown(name: str) -> str:
    return _do("systemctl", "show", "--value", f"--property={name}", AGENT).strip()


def _line(text: str, folder: str) -> str:
    """What a person types in this folder, and what it says."""
    return _do("sh", "-c", text, folder=folder)


def _do(*argv: str, folder: str | None = None) -> str:
    done = subprocess.run(
        argv, check=False, capture_output=True, text=True, timeout=DEADLINE_S, cwd=folder
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
