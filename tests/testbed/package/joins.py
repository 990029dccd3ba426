"""A Debian 13 with systemd that joins by a pasted line, until it is told to forget all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from tests.testbed.package.life import CONFIGURATION, STATE, new_process, publish_limit, wait_until
from tests.testbed.package.units import AGENT, GROUPS, UNITS, do, limits, state_of_the_agent
from tests.testbed.storage.agent import Joining, Service, listening
from tests.testbed.storage.null_disk import NAME, make_disk

INSTALLED = Path("/usr/local/lib/sluice-enforcer")
TIMER = "sluice-enforcer-dead-man.timer"


def run(
    *, path: str, script: str, archive: str, again: str, port: int, key: str, capacity_iops: float
) -> dict[str, Any]:
    """What was seen at each step, by its name.

    The files of this machine named by `script`, `archive` and `again` are what the web server
    answers at this path and port; the service signs with this key.
    """
    make_disk(iops=capacity_iops)
    for unit in UNITS:
        do(
            "systemd-run", "--quiet", "--slice=machine.slice", f"--unit={unit}",
            "--property=IOAccounting=yes", "sleep", "infinity",
        )  # fmt: skip
    said: dict[str, Any] = {"found": limits()}
    service = Service(key=key.encode())
    joining = Joining(
        path=path, script=Path(script).read_bytes(), archive=Path(archive).read_bytes(),
        archive_again=Path(again).read_bytes(),
    )  # fmt: skip
    line = f"curl -fsSL http://127.0.0.1:{port}{path} | SLUICE_HOST=h1 SLUICE_DISKS={NAME} sh"
    with listening(service, port=port, joining=joining):
        said["pasted"] = do("sh", "-c", line)
        said["started"] = {unit: _active(unit) for unit in (AGENT, TIMER)}
        said["enabled"] = state_of_the_agent()["enabled"]
        wait_until(lambda: bool(joining.samples), 1.0)
        publish_limit(service, capacity_iops)
        said["limit"] = {"limits": limits(), "outcomes": service.outcomes()}
        said["pasted again"] = new_process(lambda: do("sh", "-c", line))
        said["asked"] = [parse_qs(body.decode()) for body in joining.asked]
        said["removed"] = do("sh", str(INSTALLED / "uninstall"))
        said["restored"] = limits()
    places = (CONFIGURATION.parent, STATE, INSTALLED, Path("/etc/systemd/system") / AGENT)
    said["left behind"] = [str(place) for place in places if place.exists()]
    said["afterwards"] = _active(AGENT)
    assert len(GROUPS) == len(said["found"])
    return said


def _active(unit: str) -> str:
    return do("systemctl", "show", "--value", "--property=ActiveState", unit).strip()
