"""Rows of the agent's package on a Debian 13 with systemd, installed by the README's lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.fleet.rows import Row, at_most
from bench.testbed.bounds import at_least, within
from tests.testbed.programs import debian13
from tests.testbed.storage.guest import KERNELS, StorageGuest

PART = "package"
WHAT = "package on Debian 13"
IOPS = 2000.0
STEPS = ("shares", "reservation", "limit", "purged")


def missing_debian() -> str | None:
    """Why the package cannot be installed; None means that it can."""
    if (debian13() / ".built").exists():
        return None
    return "no Debian 13; make testbed-programs obtains it (package debootstrap)"


def package_rows(folder: Path) -> list[Row]:
    """The rows; the database must be open."""
    from tests.testbed.package.prepared import PORT, debian_root, prepare

    prepared = prepare(folder)
    with StorageGuest(KERNELS[0], folder, root=debian_root()) as guest:
        said = guest.run(
            "tests.testbed.package.life",
            folder=prepared.folder,
            lines=prepared.lines,
            port=PORT,
            key=prepared.key,
            capacity_iops=IOPS,
            steps=STEPS,
        )
    return rows_of(said)


def rows_of(said: dict[str, Any]) -> list[Row]:
    """What is asked of the life that a guest saw."""
    from tests.testbed.package.life import LIMIT_IOPS, RESERVED_RATIO

    first, *others = said["shares"]
    reserved = RESERVED_RATIO * IOPS
    limit, reason = said["limit"]["outcomes"]["vm1.service"]
    left = [line for line in said["purged"] if line]
    return [
        within(f"{WHAT}: limit 400, reads", "IOPS", wanted=LIMIT_IOPS, tolerance_ratio=0.02,
               measured=said["limit"]["iops"], note=f"agent: {limit}: {reason}"),
        within(f"{WHAT}: shares 3:1 x 3 from a stock host", "ratio", wanted=3.0,
               tolerance_ratio=0.05, measured=first / (sum(others) / len(others))),
        at_least(f"{WHAT}: shares, total beside capacity", "ratio", 0.97,
                 sum(said["shares"]) / IOPS),
        at_least(f"{WHAT}: reservation {reserved:g} of {IOPS:g}, kept", "ratio", 0.95,
                 said["reservation"][0] / reserved),
        at_least(f"{WHAT}: reservation, total beside capacity", "ratio", 0.97,
                 sum(said["reservation"]) / IOPS),
        at_most(f"{WHAT}: limits left after it is purged", "workloads", 0, len(left)),
    ]  # fmt: skip
