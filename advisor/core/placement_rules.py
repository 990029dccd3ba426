"""Which rules a set of moves would break."""

from collections.abc import Mapping, Sequence

from advisor.core.placement_inputs import PlacementRules, VdiskState


def broken_rule(
    rules: PlacementRules,
    vdisks: Sequence[VdiskState],
    where: Mapping[str, str],
    moved: frozenset[str],
) -> str | None:
    """A rule that concerns one of the moved virtual disks and does not hold there, in words.

    `where` says on which datastore each virtual disk lies after the move.
    """
    for group in rules.vdisks_together:
        present = sorted(one for one in group if one in where)
        if moved & set(present) and len({where[one] for one in present}) > 1:
            return f"{', '.join(present)} belong together"
    for group in rules.vdisks_apart:
        present = sorted(one for one in group if one in where)
        if moved & set(present) and len({where[one] for one in present}) < len(present):
            return f"{', '.join(present)} belong on different datastores"
    return _broken_workload_rule(rules, vdisks, where, moved)


def _broken_workload_rule(
    rules: PlacementRules,
    vdisks: Sequence[VdiskState],
    where: Mapping[str, str],
    moved: frozenset[str],
) -> str | None:
    workload_of = {one.vdisk: one.workload for one in vdisks}
    for group in rules.workloads_apart:
        for vdisk in sorted(moved):
            if workload_of[vdisk] not in group:
                continue
            others = {
                workload_of[other]
                for other, datastore in where.items()
                if datastore == where[vdisk] and workload_of[other] in group
            }
            if len(others) > 1:
                return f"{', '.join(sorted(others))} belong on different datastores"
    return None


def units(
    rules: PlacementRules, vdisks: Sequence[VdiskState], where: Mapping[str, str]
) -> list[tuple[str, ...]]:
    """What moves at once: virtual disks that belong together and are, and each other one alone."""
    grouped: dict[str, set[str]] = {one.vdisk: {one.vdisk} for one in vdisks}
    for group in rules.vdisks_together:
        present = [one for one in group if one in where]
        if len({where[one] for one in present}) != 1:
            continue
        whole = set().union(*(grouped[one] for one in present))
        for one in whole:
            grouped[one] = whole
    return sorted({tuple(sorted(whole)) for whole in grouped.values()})
