"""What an import from a vCenter changes, as text for people and as JSON for programs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from accounts.table import table
from advisor.core.enumeration import listed
from advisor.core.quantity import without_dust
from advisor.decisions.vcenter.apply import Imported
from advisor.decisions.vcenter.decide.proposal import LeftOut, ThresholdChange
from advisor.decisions.vcenter.decide.propose import left_by_kind
from advisor.decisions.vcenter.decide.words import stated_text


def import_text(found: Imported) -> str:
    """The changes, what is left out with the reasons, and what to do next."""
    return "\n".join(_lines(found))


def import_json(found: Imported) -> dict[str, Any]:
    """The same for programs, with everything that is left out one by one."""
    proposal = found.proposal
    return {
        "applied": found.applied,
        "changes": not found.is_empty,
        "allocations": [asdict(one) for one in proposal.allocations],
        "thresholds": [asdict(one) for one in proposal.thresholds],
        "rules_added": found.rules_added,
        "rules_removed": found.rules_removed,
        "sizes": len(proposal.sizes) + len(proposal.store_sizes),
        "left_out": [asdict(one) for one in proposal.left_out],
        "same": proposal.same,
        "defaults": proposal.defaults,
    }


def _lines(found: Imported) -> Iterator[str]:
    proposal = found.proposal
    if proposal.allocations:
        yield "Allocations"
        columns = ["workload", "disk", "resource", "before", "after"]
        yield table([_row(one) for one in proposal.allocations], columns)
        yield ""
    if proposal.thresholds:
        yield "Congestion thresholds"
        yield table(
            [_threshold(one) for one in proposal.thresholds], ["resource", "before", "after"]
        )
        yield ""
    if found.rules_added or found.rules_removed:
        yield "Rules"
        yield from (f"  - {line}" for line in found.rules_removed)
        yield from (f"  + {line}" for line in found.rules_added)
        yield ""
    if proposal.sizes or proposal.store_sizes:
        yield f"Sizes of {len(proposal.sizes)} disks and {len(proposal.store_sizes)} datastores"
        yield ""
    for kind, left in left_by_kind(proposal):
        yield f"Left out: {kind}"
        yield from _grouped(left)
        yield ""
    yield f"{proposal.same} are as in vCenter already; {proposal.defaults} disks have the default."
    yield _end(found)


def _row(one: Any) -> dict[str, Any]:
    return {
        "workload": one.workload,
        "disk": one.vdisk or None,
        "resource": one.resource,
        "before": stated_text(one.before, one.unit),
        "after": stated_text(one.after, one.unit),
    }


def _threshold(one: ThresholdChange) -> dict[str, Any]:
    after = one.before if one.after is None else one.after
    return {
        "resource": one.name,
        "before": f"{one.before_mode}, {without_dust(one.before)} ms",
        "after": f"{one.after_mode}, {without_dust(after)} ms"
        + (" until it is learnt" if one.after is None else ""),
    }


def _grouped(left: Sequence[LeftOut]) -> Iterator[str]:
    """One line for each reason, with what it is of; few are told with what is stated of each."""
    by_reason: dict[str, list[LeftOut]] = defaultdict(list)
    for one in left:
        by_reason[one.why].append(one)
    for why, found in by_reason.items():
        told = [f"{one.what} ({one.stated})" if one.stated else one.what for one in found]
        yield f"  {listed(told)}: {why}"


def _end(found: Imported) -> str:
    if found.is_empty:
        return "Nothing differs from what is stated here."
    if found.applied:
        return "Stated. Nothing is enforced before a policy is approved: sluice recommendations"
    return "Nothing was changed. Take it over with --apply"
