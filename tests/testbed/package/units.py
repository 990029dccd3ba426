"""The units of the package's guest, of agent and workloads, and what is typed there."""

from __future__ import annotations

import subprocess

from tests.testbed.storage.groups import folder

AGENT = "sluice-enforcer.service"
UNITS = [f"vm{number}.service" for number in range(1, 5)]
GROUPS = [f"/machine.slice/{unit}" for unit in UNITS]
DEADLINE_S = 300.0


def limits() -> list[str]:
    """Of each unit, its line of io.max; empty without a limit."""
    return [(folder(group) / "io.max").read_text().strip() for group in GROUPS]


def state_of_the_agent() -> dict[str, str]:
    """Whether its unit is active and starts with the host, and how often it was started again."""
    return {
        "active": _shown("ActiveState"),
        "enabled": _shown("UnitFileState"),
        "restarts": _shown("NRestarts"),
    }


def typed(text: str, folder: str) -> str:
    """What a person types in this folder, and what it says."""
    return do("sh", "-c", text, folder=folder)


def do(*argv: str, folder: str | None = None) -> str:
    """What a program says. Raises RuntimeError with that if it fails."""
    done = subprocess.run(
        argv, check=False, capture_output=True, text=True, timeout=DEADLINE_S, cwd=folder
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def _shown(name: str) -> str:
    return do("systemctl", "show", "--value", f"--property={name}", AGENT).strip()
