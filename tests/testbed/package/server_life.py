"""The life of the server's package on a Debian 13 with systemd, step by step.

The processor is emulated, so a start takes minutes: each step is an order of its own.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.appliance.server_package_life import asked, counts, do, owners, status

UNIT = "sluice.service"
DEADLINE_S = 1500.0


def run(*, step: str, folder: str) -> dict[str, Any]:
    """What was seen after the step; the folder has both packages."""
    match step:
        case "install":
            do("dpkg", "--install", f"{folder}/first.deb")
            state = _wait_until_active(but="0")
            do("sluice", "organisation", "create", "acme", "--name", "Acme", "--admin", "ann")
        case "kill":
            before = _shown("MainPID")
            do("systemctl", "kill", "--kill-whom=main", "--signal=KILL", UNIT)
            state = _wait_until_active(but=before)
        case "upgrade":
            before = _shown("MainPID")
            do("dpkg", "--install", f"{folder}/second.deb")
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
            raise TimeoutError(do("journalctl", "--no-pager", "--lines=60", f"--unit={UNIT}"))
        time.sleep(1)
    return {
        "took_s": time.monotonic() - began_s,
        "restarts": int(_shown("NRestarts")),
        "enabled": _shown("UnitFileState"),
        "version": do("dpkg-query", "--show", "--showformat=${Version}", "sluice"),
    }


def _shown(what: str) -> str:
    return do("systemctl", "show", f"--property={what}", "--value", UNIT).strip()
