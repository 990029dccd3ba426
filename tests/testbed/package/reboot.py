"""A Debian 13 with the agent's package whose power fails, and what its next boot finds.

The disk and the workloads are units that start with the host. A person had limited the first
workload before the agent came; of that the kernel knows nothing after a boot.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
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
from tests.testbed.storage.agent import Service, Wish, listening
from tests.testbed.storage.groups import folder
from tests.testbed.storage.kept_busy import kept_busy
from tests.testbed.storage.null_disk import NAME

LIMIT_IOPS = 300.0
SHARES = 300
BY_HAND_IOPS = 170
LEDGER = Path("/var/lib/sluice-enforcer/ledger.json")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
MAKE_DISK = """[Unit]
DefaultDependencies=no
After=sys-kernel-config.mount local-fs.target
Requires=sys-kernel-config.mount
Before=sluice-enforcer.service
[Service]
Type=oneshot
RemainAfterExit=yes
WorkingDirectory={checkout}
ExecStart=/usr/bin/python3 -c "from tests.testbed.storage import null_disk; null_disk.make_disk(iops={iops})"
[Install]
WantedBy=multi-user.target
"""  # noqa: E501  (a line of systemd's)
WORKLOAD = """[Unit]
Before=sluice-enforcer.service
[Service]
Slice=machine.slice
IOAccounting=yes
ExecStart=/bin/sleep infinity
[Install]
WantedBy=multi-user.target
"""


def add_units(disk: Path, *, checkout: str, capacity_iops: float) -> None:
    """Write to a host's disk the units of the block device and of the workloads.

    The guest has this checkout's files there.
    """
    folder = disk / "etc/systemd/system"
    starts = folder / "multi-user.target.wants"
    starts.mkdir(exist_ok=True)
    block_device = MAKE_DISK.format(checkout=checkout, iops=capacity_iops)
    units = {"disk.service": block_device} | dict.fromkeys(UNITS, WORKLOAD)
    for name, text in units.items():
        (folder / name).write_text(text)
        (starts / name).symlink_to(Path("..") / name)


def run(*, boot: str, **arguments: Any) -> dict[str, Any]:
    """What was seen in this boot, the first or the second, by name."""
    return _first(**arguments) if boot == "first" else _second(**arguments)


def _first(
    *, folder: str, lines: list[str], port: int, key: str, capacity_iops: float
) -> dict[str, Any]:
    """Everything is installed, and in force at the end."""
    number = _number()
    _control(0, "io.max").write_text(f"{number} riops={BY_HAND_IOPS}")
    found = _kernel()
    service = Service(key=key.encode())
    with listening(service, port=port):
        # Whoever installs waits for files, and systemd for them no longer than 25 s.
        with kept_busy():
            for line in lines:
                typed(line, folder)
        service.publish(*_wishes(), capacity_iops=capacity_iops)
        service.wait_until_enforced()
        return {"found": found, "in force": _kernel(), "ledger": _ledger()}


def _second() -> dict[str, Any]:
    """There is no service; the agent starts with the host, and is stopped at the end."""
    _wait(lambda: any(limits()))
    seen = {"state": state_of_the_agent(), "taken up": _kernel(), "ledger": _ledger()}
    do("systemctl", "stop", AGENT)
    return seen | {"stopped": _kernel()}


def _wishes() -> list[Wish]:
    """The first workload has a limit, and the second three times the others' shares."""
    asked: list[dict[str, Any]] = [{"limit": LIMIT_IOPS}, {"shares": SHARES}, {}, {}]
    return [
        Wish(group=GROUPS[place], selector=("systemd_unit", UNITS[place]), **own)
        for place, own in enumerate(asked)
    ]


def _number() -> str:
    return (Path("/sys/block") / NAME / "dev").read_text().strip()


def _control(place: int, name: str) -> Path:
    return folder(GROUPS[place]) / name


def _kernel() -> dict[str, Any]:
    """What the kernel is told: each workload's limit and weight, and the disk's model."""
    number = _number()
    weights = [_of_device(_control(place, "io.weight"), number) for place in range(len(GROUPS))]
    controls = {name: Path("/sys/fs/cgroup") / name for name in ("io.cost.qos", "io.cost.model")}
    return {
        "limits": limits(),
        "weights": weights,
        **{name: _of_device(place, number) for name, place in controls.items()},
    }


def _of_device(control: Path, number: str) -> str:
    """The device's words of a control file, empty if it has no line."""
    lines = control.read_text().splitlines()
    return "".join(line.partition(" ")[2] for line in lines if line.startswith(f"{number} "))


def _ledger() -> dict[str, Any] | None:
    """Whether the ledger is of this boot, and for each thing that it tells what was found."""
    if not LEDGER.exists():
        return None
    page = json.loads(LEDGER.read_text())["content"]
    return {
        "is_of_this_boot": page["boot_id"] == BOOT_ID.read_text().strip(),
        "found": [[entry["thing"], entry["found"]] for entry in page["entries"]],
    }


def _wait(holds: Callable[[], bool]) -> None:
    """Return when it holds. Raises TimeoutError."""
    ends_s = time.monotonic() + DEADLINE_S
    while not holds():
        if time.monotonic() > ends_s:
            raise TimeoutError(do("journalctl", "--no-pager", "--lines=60", f"--unit={AGENT}"))
        time.sleep(1)
