"""One run of the laboratory on a disk in which something rare is planted (`bench.lab.rare_case`).

    python -m bench.lab.rare_run SEED --phase 60 --out FILE

As `bench.lab.disk_run`, but for the policy: what is scored is whether the product finds what
happened, by `sluice trust`.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.lab.advised import WINDOW_S, write_run
from bench.lab.disk_run import CLOCK, GUEST, watched
from bench.lab.rare_case import RareCase, rare_case
from tests.testbed.programs import kernel_file
from tests.testbed.storage.guest import KERNELS, StorageGuest

HUNG_AFTER_S = 0.5
"""What the disk had taken before is done by then."""


def main() -> None:
    """Write what was seen of each workload."""
    write_run(__doc__, lambda seed, phase_s: run(seed, phase_s=phase_s))


def run(seed: int, *, phase_s: float) -> dict[str, Any]:
    """One case, from the calm phase to the end of what was planted."""
    case = rare_case(seed)
    with (
        TemporaryDirectory(prefix="sluice-lab-") as folder,
        StorageGuest(KERNELS[0], Path(folder), clock=CLOCK) as guest,
    ):
        _build(guest, case)
        calm = watched(guest, list(enumerate(case.disk.loads)), phase_s)
        if case.plight == "hang":
            guest.run(GUEST, step="hang")
            crowded = watched(guest, [], _hung_s(case), settle_s=HUNG_AFTER_S)
        else:
            crowded = watched(guest, case.disk.extra, phase_s)
    return {
        "seed": seed,
        "plight": case.plight,
        "culprit": case.culprit,
        "capacity": case.disk.iops,
        "calm": [asdict(one) for one in calm],
        "crowded": [asdict(one) for one in crowded],
        "advice": None,
        "why": f"{case.plight}: what is found of it is told by sluice trust",
    }


def _build(guest: StorageGuest, case: RareCase) -> None:
    """A disk that can hang is one of SCSI, where the kernel waits for as long as it takes."""
    modules = str(kernel_file(guest.kernel.name, "disks")) if case.plight == "hang" else None
    guest.run(
        GUEST,
        step="build",
        iops=case.disk.iops,
        queue_depth=case.disk.queue_depth,
        count=len(case.disk.loads),
        modules=modules,
    )


def _hung_s(case: RareCase) -> float:
    return HUNG_AFTER_S + case.hung_windows * WINDOW_S


if __name__ == "__main__":
    main()
