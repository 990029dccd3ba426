"""Rules of Storage DRS as lines of the organisation's rules."""

from __future__ import annotations

from advisor.decisions.vcenter.decide.match import Matches
from advisor.decisions.vcenter.decide.proposal import LeftOut, WhyLeftOut
from ingest.core.identity.rules import rule_line
from ingest.core.vcenter.inventory import Guest, Inventory, PlacementRule, RuleKind

_WORDS = {
    RuleKind.DISKS_TOGETHER: "keep-together:",
    RuleKind.DISKS_APART: "keep-apart:",
    RuleKind.GUESTS_APART: "keep-apart:",
}


def placement_rules(
    inventory: Inventory, matches: Matches
) -> tuple[tuple[str, ...], list[LeftOut]]:
    """The lines, each once, and the rules that cannot be written."""
    guests = {one.moid: one for one in inventory.guests}
    lines: dict[str, None] = {}
    left_out: list[LeftOut] = []
    for cluster in inventory.clusters:
        own = [
            PlacementRule(
                cluster=cluster.name,
                name="",
                kind=RuleKind.DISKS_TOGETHER,
                enabled=True,
                members=((moid, None),),
            )
            for moid, together in sorted(cluster.exceptions.items())
            if together and not cluster.keeps_together
        ]
        for rule in (*own, *cluster.rules):
            line, gap = _line(rule, guests, matches)
            if line:
                lines[line] = None
            else:
                left_out.append(gap)
    return tuple(lines), left_out


def _line(rule: PlacementRule, guests: dict[str, Guest], matches: Matches) -> tuple[str, LeftOut]:
    """The line of a rule; empty with the reason."""
    names: list[str] = []
    gap, kind = "", WhyLeftOut.NOT_SEEN
    for moid, key in rule.members:
        guest, match = guests.get(moid), matches.guests.get(moid)
        if guest is None or match is None or match.found is None:
            gap = match.gap if match else "the vCenter does not tell one of its virtual machines"
            continue
        disk = next((one for one in guest.disks if one.key == key), None)
        if key is not None and disk is None:
            gap = f"{guest.name} has no disk {key}"
            continue
        name = match.found.name
        names.append(name if disk is None else f"{name}/{disk.instance}")
    if not rule.enabled:
        gap, kind = "it is switched off", WhyLeftOut.NO_COUNTERPART
    line = "" if gap else rule_line(_WORDS[rule.kind], sorted(names))
    if not line and not gap:
        gap, kind = "one of its names cannot be written in a rule", WhyLeftOut.NO_COUNTERPART
    what = f"rule {rule.name or rule.kind.replace('_', ' ')} of {rule.cluster}"
    stated = f"{_WORDS[rule.kind]} {', '.join(names) or 'members unknown'}"
    return line, LeftOut(what=what, stated=stated, kind=kind, why=gap)
