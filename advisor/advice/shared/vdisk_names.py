"""What virtual disks are called in advice."""

from __future__ import annotations

from collections.abc import Sequence

from advisor.models import Allocation


def vdisk_names(allocations: Sequence[Allocation]) -> list[str]:
    """The shortest names that tell the allocations apart, all of one form.

    People name disks alike on every workload, and a cgroup has the same path on every host.
    """
    disks = [allocation.vdisk or allocation.adapter for allocation in allocations]
    owned = [
        f"{allocation.workload.name}:{disk}"
        for allocation, disk in zip(allocations, disks, strict=True)
    ]
    stored = [
        f"{name} on {allocation.resource.name}"
        for allocation, name in zip(allocations, owned, strict=True)
    ]
    placed = [
        f"{name} from {allocation.host.name}"
        for allocation, name in zip(allocations, stored, strict=True)
    ]
    forms = (disks, owned, stored)
    return next((names for names in forms if len(set(names)) == len(names)), placed)
