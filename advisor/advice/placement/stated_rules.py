"""The rules that people state about where disks may lie, for the virtual disks of now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from accounts.models import Organisation
from advisor.advice.placement.decide.disk_inputs import PlacementRules
from advisor.core.resource import Tier
from advisor.models import Allocation, WorkloadRules
from ingest.core.identity.rules import PlacementRule, read_rules


def stated_rules(
    organisation: Organisation, allocations: Sequence[Allocation], names: Sequence[str]
) -> PlacementRules:
    """The rules in force for these allocations; `names` are what advice calls them."""
    stated = WorkloadRules.objects.filter(organisation=organisation).first()
    rules = read_rules(stated.text if stated else "", tiers=list(Tier)).placement
    known = _Members(allocations, names) if rules else None
    if known is None:
        return PlacementRules()
    apart = [one for one in rules if not one.together]
    return PlacementRules(
        vdisks_together=_groups(known.disks(one) for one in rules if one.together),
        vdisks_apart=_groups(known.disks(one) for one in apart if not known.is_of_workloads(one)),
        workloads_apart=_groups(
            known.workloads(one) for one in apart if known.is_of_workloads(one)
        ),
    )


class _Members:
    """Finds what members of rules are, however many disks there are."""

    def __init__(self, allocations: Sequence[Allocation], names: Sequence[str]) -> None:
        self._disks: dict[str, list[str]] = defaultdict(list)
        self._workloads: dict[str, str] = {}
        for one, name in zip(allocations, names, strict=True):
            workload = one.workload.name.casefold()
            self._workloads[workload] = one.workload.name
            self._disks[workload].append(name)
            self._disks[f"{workload}/{one.vdisk.casefold()}"].append(name)

    def disks(self, rule: PlacementRule) -> tuple[str, ...]:
        """All virtual disks of the members."""
        found = (name for one in rule.members for name in self._disks.get(one.casefold(), ()))
        return tuple(dict.fromkeys(found))

    def is_of_workloads(self, rule: PlacementRule) -> bool:
        """Whether it names workloads, two or more: the disks of each may lie together."""
        unknown = [one for one in rule.members if one.casefold() not in self._workloads]
        return len(rule.members) > 1 and not any("/" in one for one in unknown)

    def workloads(self, rule: PlacementRule) -> tuple[str, ...]:
        """The members that are workloads here."""
        found = (self._workloads.get(one.casefold()) for one in rule.members)
        return tuple(name for name in found if name is not None)


def _groups(found: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Those with two members at least, each once."""
    return tuple(dict.fromkeys(group for group in found if len(group) > 1))
