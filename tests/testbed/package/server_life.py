"""The life of the server's package on a Debian 13 with systemd, step by step.

The processor is emulated, so a start takes minutes: each step is an order of its own.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.appliance.server_package_life import (
    INSTALL,
    asked,
    counts,
    do,
    own_disks,
    owners,
    shown,
    status,
)
from tests.testbed.storage.null_disk import make_shared_disks

UNIT = "sluice.service"
DEADLINE_S = 1500.0


def run(*, step: str, folder: str) -> dict[str, Any]:
    """What was seen after the step; the folder has both packages."""
    match step:
        case "install":
            # The guest's files are on none.
            make_shared_disks(["vda"], iops=2000)
            do(*INSTALL, f"{folder}/first.deb")
            state = _wait_until_active(but="0")
            state["disks"] = own_disks()
            state["shown"] = shown(_journal(), state["disks"])
            do("sluice", "organisation", "create", "acme", "--name", "Acme", "--admin", "ann")
        case "kill":
            before = _shown("MainPID")
            do("systemctl", "kill", "--kill-whom=main", "--signal=KILL", UNIT)
            state = _wait_until_active(but=before)
        case "stand still":
            before = _shown("MainPID")
            do("systemctl", "kill", "--kill-whom=main", "--signal=STOP", UNIT)
            state = _wait_until_active(but=before)
            state["told"] = "Watchdog timeout" in _journal()
        case "upgrade":
            before = _shown("MainPID")
            do(*INSTALL, f"{folder}/second.deb")
            state = _wait_until_active(but=before)
        case _:
            said = do("dpkg", "--purge", "sluice")
            return {
                "said": said,
                "left": [
                    path for path in ("/usr/lib/sluice", "/var/lib/sluice/postgres", "/etc/sluice")
                    if Path(path).exists()
                ],
                "state": _shown("ActiveState"),
            }  # fmt: skip
    return {
        **state,
        "health": status("/health"),
        "owners": owners(),
        "organisations": [one["slug"] for one in asked("organisation", "list")],
        "counts": counts(),
    }


def _wait_until_active(*, but: str) -> dict[str, Any]:
    began_s = time.monotonic()
    while _shown("ActiveState") != "active" or _shown("MainPID") in {"0", but}:
        if time.monotonic() - began_s > DEADLINE_S:
            raise TimeoutError(_journal(lines=60))
        time.sleep(1)
    return {
        "took_s": time.monotonic() - began_s,
        "restarts": int(_shown("NRestarts")),
        "enabled": _shown("UnitFileState"),
        "version": do("dpkg-query", "--show", "--showformat=${Version}", "sluice"),
    }


def _shown(what: str) -> str:
    return do("systemctl", "show", f"--property={what}", "--value", UNIT).strip()


def _journal(lines: int | None = None) -> str:
    """What the service and systemd said of it, its last lines."""
    return do("journalctl", "--no-pager", f"--lines={lines or 'all'}", f"--unit={UNIT}")
