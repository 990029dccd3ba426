"""Open incidents with a common cause."""

from __future__ import annotations

from collections.abc import Sequence

from advisor.core.detection.correlation import CongestedResource, CorrelatedIncidents, correlate
from advisor.queries.incidents import IncidentLine


def correlated_lines(lines: Sequence[IncidentLine]) -> list[CorrelatedIncidents]:
    """The groups with more than one of these incidents, such as those on shared disks."""
    congested = [
        CongestedResource(
            resource=line.resource.name,
            began_at=line.started_at,
            ended_at=line.ended_at,
            carries_others=line.resource.traits.carries_others,
            disks=line.resource.disks,
        )
        for line in lines
    ]
    return [one for one in correlate(congested, []) if len(one.resources) > 1]
