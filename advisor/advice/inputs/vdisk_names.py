"""What virtual disks are called in advice."""

from __future__ import annotations

from collections.abc import Sequence

from advisor.models import Claim


def vdisk_names(claims: Sequence[Claim]) -> list[str]:
    """The shortest names that tell the claims apart, all of one form.

    People name disks alike on every workload, and a cgroup has the same path on every host.
    """
    disks = [claim.vdisk or claim.adapter for claim in claims]
    owned = [f"{claim.workload.name}:{disk}" for claim, disk in zip(claims, disks, strict=True)]
    stored = [
        f"{name} on {claim.resource.name}" for claim, name in zip(claims, owned, strict=True)
    ]
    placed = [f"{name} from {claim.host.name}" for claim, name in zip(claims, stored, strict=True)]
    forms = (disks, owned, stored)
    return next((names for names in forms if len(set(names)) == len(names)), placed)
