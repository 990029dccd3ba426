"""The life of the agent's package on a Debian 13 with systemd, from its installation to its purge.

Workloads are units of systemd, which the policy names; the disk completes so many I/Os a second.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.testbed.package.units import (
    AGENT,
    DEADLINE_S,
    GROUPS,
    UNITS,
    do,
    limits,
    state_of_the_agent,
    typed,
)
from tests.testbed.storage.agent import LEASE, Service, Wish, listening
from tests.testbed.storage.groups import counts, folder
from tests.testbed.storage.kept_busy import kept_busy
from tests.testbed.storage.load import Load, running
from tests.testbed.storage.null_disk import PLACE, make_disk

CONFIGURATION = Path("/etc/sluice-enforcer/agent.toml")
STATE = Path("/var/lib/sluice-enforcer")
# Less than a quarter of the disk, which each unit would get anyhow.
LIMIT_IOPS = 400.0
SHORT_LEASE = timedelta(seconds=20)
RESERVED_RATIO = 0.6
STEPS = (
    "shares",
    "reservation",
    "limit",
    "hanging",
    "upgraded",
    "cannot start",
    "in force again",
    "purged",
)


def run(
    *,
    folder: str,
    lines: list[str],
    port: int,
    key: str,
    capacity_iops: float,
    steps: Sequence[str] = STEPS,
) -> dict[str, Any]:
    """What was seen at each of these steps, by its name.

    The lines are those that install and start the agent, run in the folder of the package. The
    service listens at this port, and signs with this key.
    """
    disk = make_disk(iops=capacity_iops)
    install, *enrol = lines
    # Whoever starts or installs something waits for files, in which time would run off.
    with kept_busy():
        _start_units()
        said: dict[str, Any] = {"found": limits()}
        typed(install, folder)
    said["before it is enrolled"] = state_of_the_agent()
    service = Service(key=key.encode())
    with listening(service, port=port):
        with kept_busy():
            said["said"] = [typed(line, folder) for line in enrol]
        said["started"] = state_of_the_agent()
        play: dict[str, Callable[[], object]] = {
            "shares": lambda: _shares(service, disk, capacity_iops),
            "reservation": lambda: _reservation(service, disk, capacity_iops),
            "limit": lambda: _limit(service, disk, capacity_iops),
            "hanging": lambda: new_process(_signal("STOP"), look_s=1.0),
            "upgraded": lambda: new_process(lambda: typed(install, folder)),
            "cannot start": lambda: _cannot_start(service, capacity_iops),
            "in force again": lambda: _in_force(service, capacity_iops),
            "purged": _purged,
        }
        for name in steps:
            print(f"step: {name}", file=sys.stderr, flush=True)
            said[name] = play[name]()
    said["left behind"] = [str(place) for place in (CONFIGURATION.parent, STATE) if place.exists()]
    return said


def _start_units() -> None:
    for unit in UNITS:
        do(
            "systemd-run", "--quiet", "--slice=machine.slice", f"--unit={unit}",
            "--property=IOAccounting=yes", "sleep", "infinity",
        )  # fmt: skip


def _wish(place: int, **asked: Any) -> Wish:
    return Wish(group=GROUPS[place], selector=("systemd_unit", UNITS[place]), **asked)


def _shares(service: Service, disk: str, capacity_iops: float) -> list[float]:
    wishes = [_wish(place, shares=shares) for place, shares in enumerate((300, 100, 100, 100))]
    service.publish(*wishes, capacity_iops=capacity_iops)
    service.wait_until_enforced()
    return _rates(disk)


def _reservation(service: Service, disk: str, capacity_iops: float) -> list[float]:
    reserved = RESERVED_RATIO * capacity_iops
    rest = (capacity_iops - reserved) / 3
    wishes = [_wish(place, entitlement=rest) for place in (1, 2, 3)]
    wishes.append(_wish(0, reservation=reserved, entitlement=reserved))
    service.publish(*wishes, capacity_iops=capacity_iops)
    service.wait_until_enforced()
    return _rates(disk)


def _limit(service: Service, disk: str, capacity_iops: float) -> dict[str, Any]:
    publish_limit(service, capacity_iops)
    return {"iops": _rates(disk)[0], "outcomes": service.outcomes(), "limits": limits()}


def publish_limit(service: Service, capacity_iops: float, lease: timedelta = LEASE) -> None:
    """Limit the first unit, and wait until that is enforced."""
    service.publish(_wish(0, limit=LIMIT_IOPS), capacity_iops=capacity_iops, lease=lease)
    service.wait_until_enforced()


def _rates(disk: str, *, warm_s: float = 4.0, seconds: float = 6.0) -> list[float]:
    """IOPS of each unit while all want as much as they get."""
    with running(*(Load(group=group, disk=PLACE) for group in GROUPS)):
        time.sleep(warm_s)
        before = counts(GROUPS, disk)
        time.sleep(seconds)
        rates = counts(GROUPS, disk).rates(before)
    return [rates[group] for group in GROUPS]


def new_process(change: Callable[[], object], *, look_s: float = 0.05) -> dict[str, Any]:
    """What a change does that ends the agent's process and brings another one."""
    before = _processes()
    with _watched(look_s) as seen:
        change()
        took_s = wait_until(lambda: bool(_processes() - before), look_s)
        do("systemctl", "start", AGENT)
        # What a new process would do wrong, it does in its first rounds, 10 s apart.
        time.sleep(12)
    return {"took_s": took_s, "limits": seen, "state": state_of_the_agent()}


def _signal(name: str) -> Callable[[], object]:
    return lambda: do("systemctl", "kill", "--kill-whom=main", f"--signal={name}", AGENT)


def _cannot_start(service: Service, capacity_iops: float) -> dict[str, Any]:
    """The agent is killed, its configuration is gone, and its short lease ends."""
    publish_limit(service, capacity_iops, lease=SHORT_LEASE)
    hidden = CONFIGURATION.with_suffix(".away")
    CONFIGURATION.rename(hidden)
    left = limits()
    _signal("KILL")()
    took_s = wait_until(lambda: not any(limits()), 1.0)
    hidden.rename(CONFIGURATION)
    return {"left": left, "took_s": took_s}


def _in_force(service: Service, capacity_iops: float) -> list[str]:
    publish_limit(service, capacity_iops)
    return limits()


def _purged() -> list[str]:
    do("dpkg", "--purge", "sluice-enforcer")
    return limits()


@contextmanager
def _watched(look_s: float) -> Iterator[list[list[str]]]:
    """All that the limits of the units were meanwhile, each once."""
    seen: list[list[str]] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(look_s):
            now = limits()
            if now not in seen:
                seen.append(now)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def wait_until(holds: Callable[[], bool], look_s: float) -> float:
    """Seconds until it holds. Raises TimeoutError."""
    began_s = time.monotonic()
    while not holds():
        if time.monotonic() - began_s > DEADLINE_S:
            raise TimeoutError(do("journalctl", "--no-pager", "--lines=40", f"--unit={AGENT}"))
        time.sleep(look_s)
    return time.monotonic() - began_s


def _processes() -> set[str]:
    """Those of the agent's unit; to ask systemd so often would take most of the guest's time."""
    try:
        return set((folder(f"/system.slice/{AGENT}") / "cgroup.procs").read_text().split())
    except OSError:
        return set()
