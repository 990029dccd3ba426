"""Which rules a move would break, and what has to move at once."""

from collections.abc import Mapping

from advisor.core.placement.disk_inputs import PlacementRules, VdiskState


def broken_rule(
    rules: PlacementRules, vdisks: Mapping[str, VdiskState], moved: frozenset[str], target: str
) -> str | None:
    """A rule that concerns one of the moved virtual disks and would not hold, in words."""

    def places(group: tuple[str, ...]) -> list[str]:
        return [
            target if one in moved else vdisks[one].datastore for one in group if one in vdisks
        ]

    for group in rules.vdisks_together:
        if moved & set(group) and len(set(places(group))) > 1:
            return f"{', '.join(sorted(group))} belong together"
    for group in rules.vdisks_apart:
        found = places(group) if moved & set(group) else []
        if len(set(found)) < len(found):
            return f"{', '.join(sorted(group))} belong on different datastores"
    for group in rules.workloads_apart:
        if not any(vdisks[one].workload in group for one in moved):
            continue
        there = {
            one.workload
            for name, one in vdisks.items()
            if (name in moved or one.datastore == target) and one.workload in group
        }
        if len(there) > 1:
            return f"{', '.join(sorted(there))} belong on different datastores"
    return None


def units(rules: PlacementRules, vdisks: Mapping[str, VdiskState]) -> list[tuple[str, ...]]:
    """What moves at once: virtual disks that belong together and are, and each other one alone."""
    grouped: dict[str, set[str]] = {name: {name} for name in vdisks}
    for group in rules.vdisks_together:
        present = [one for one in group if one in vdisks]
        if len({vdisks[one].datastore for one in present}) != 1:
            continue
        whole = set().union(*(grouped[one] for one in present))
        for one in whole:
            grouped[one] = whole
    return sorted({tuple(sorted(whole)) for whole in grouped.values()})
