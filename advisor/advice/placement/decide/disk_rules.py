"""Which rules moves would break, and what has to move at once."""

from collections import Counter
from collections.abc import Iterable, Mapping

from advisor.advice.placement.decide.disk_inputs import PlacementRules, VdiskState
from advisor.advice.placement.decide.disk_layout import Layout
from advisor.core.enumeration import listed

Group = tuple[str, ...]


class RuleBook:
    """The rules by whom they concern, so that a move looks only at its own."""

    def __init__(self, rules: PlacementRules) -> None:
        self._together = _by_member(rules.vdisks_together)
        self._apart = _by_member(rules.vdisks_apart)
        self._workloads = _by_member(rules.workloads_apart)

    def broken(self, layout: Layout, targets: Mapping[str, str]) -> str | None:
        """A rule that concerns one of the moved virtual disks and would not hold, in words.

        `targets` says where each of them goes; all of them are moved at once.
        """

        def places(group: Group) -> list[str]:
            return [
                targets.get(one, layout.vdisks[one].datastore)
                for one in group
                if one in layout.vdisks
            ]

        for group in _of(self._together, targets):
            if len(set(places(group))) > 1:
                return f"{listed(sorted(group))} belong together"
        for group in _of(self._apart, targets):
            found = places(group)
            if len(set(found)) < len(found):
                return f"{listed(sorted(group))} belong on different datastores"
        return self._workloads_meet(layout, targets)

    def closed_to(self, layout: Layout, vdisks: Group) -> frozenset[str]:
        """The datastores where `broken` forbids these virtual disks, which lie together."""
        if not (self._together or self._apart or self._workloads):
            return frozenset()
        own, every = set(vdisks), frozenset(layout.datastores)
        closed: set[str] = set()
        for group in _of(self._together, vdisks):
            others = {layout.vdisks[one].datastore for one in _present(layout, group) - own}
            closed |= every - others if len(others) == 1 else every if others else set()
        for group in _of(self._apart, vdisks):
            rest = [one for one in group if one in layout.vdisks and one not in own]
            taken = {layout.vdisks[one].datastore for one in rest}
            crowded = len(taken) < len(rest) or sum(one in own for one in group) > 1
            closed |= every if crowded else taken
        return frozenset(closed | self._closed_to_workloads(layout, vdisks))

    def _closed_to_workloads(self, layout: Layout, vdisks: Group) -> set[str]:
        if not self._workloads:
            return set()
        moved = {layout.vdisks[one].workload for one in vdisks}
        closed: set[str] = set()
        for group in _of(self._workloads, moved):
            arriving = moved & set(group)
            closed |= {
                name
                for name, there in layout.workloads.items()
                if len(arriving | {one for one in group if there[one] > 0}) > 1
            }
        return closed

    def _workloads_meet(self, layout: Layout, targets: Mapping[str, str]) -> str | None:
        if not self._workloads:
            return None
        moved = {name: layout.vdisks[name].workload for name in targets}
        groups = _of(self._workloads, moved.values())
        for target in sorted(set(targets.values())) if groups else ():
            there = Counter(layout.workloads[target])
            for name, to in targets.items():
                there[moved[name]] += to == target
                there[moved[name]] -= layout.vdisks[name].datastore == target
            for group in groups:
                present = [one for one in sorted(set(group)) if there[one] > 0]
                arriving = any(moved[one] in group and targets[one] == target for one in targets)
                if arriving and len(present) > 1:
                    return f"{listed(present)} belong on different datastores"
        return None


def _present(layout: Layout, group: Group) -> set[str]:
    return {one for one in group if one in layout.vdisks}


def _by_member(groups: Iterable[Group]) -> dict[str, list[Group]]:
    found: dict[str, list[Group]] = {}
    for group in groups:
        for member in set(group):
            found.setdefault(member, []).append(group)
    return found


def _of(groups: Mapping[str, list[Group]], members: Iterable[str]) -> list[Group]:
    """The groups that have one of these members, each once and in a stable order."""
    if not groups:
        return []
    return sorted({group for member in members for group in groups.get(member, ())})


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
