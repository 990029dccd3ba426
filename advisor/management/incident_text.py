"""The cause of an incident, as text for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accounts.table import table
from advisor.core.attribution.rise import NoRise
from advisor.core.standing import workload_words
from advisor.models import Incident
from advisor.pipeline.attribute import Study
from advisor.queries.amended import withdrawal
from advisor.queries.incidents import signal_lines


def study_text(incident: Incident, row: Mapping[str, Any], study: Study) -> str:
    """The suspects with their numbers, the confidence, and other possible causes."""
    ended = f"to {incident.ended_at:%H:%M:%S} UTC" if incident.ended_at else "(ongoing)"
    state = "stalled" if incident.peak_value is None else "congested"
    planned = row["maintenance_window"] or "none"
    lines = [
        *_withdrawn(incident),
        f"{incident.resource} {state} from {incident.started_at:%Y-%m-%d %H:%M:%S} {ended}",
        f"Maintenance window: {planned}, {row['maintenance_window_reason']}",
        *_signals(incident, study),
        "",
        *_suspects(study),
    ]
    if study.external is not None:
        lines += ["", f"External load: {study.external.state}, {study.external.reason}"]
    if row["load_from_outside"]:
        lines.append("Advice on shares, limits and reservations is suspended.")
    return "\n".join(lines)


def _withdrawn(incident: Incident) -> list[str]:
    found = withdrawal(incident)
    if found is None:
        return []
    at = f"Withdrawn {found.at:%Y-%m-%d %H:%M:%S} UTC: samples that came late"
    if found.successor is None:
        return [f"{at} show no contention in this time."]
    return [f"{at} make it a part of incident {found.successor}."]


def _signals(incident: Incident, study: Study) -> list[str]:
    """The signals of an uplink that fired, and the conclusion from all its windows."""
    lines = [
        f"Signal: {one.name} in {one.windows} of {incident.windows} windows, at worst {one.worst} "
        f"(threshold {one.threshold})"
        for one in signal_lines(incident)
    ]
    if study.signals is not None:
        sure = f"{study.signals.confidence.value:.0%}"
        lines.append(
            f"Conclusion: {study.signals.finding}, {study.signals.reason} (confidence {sure})"
        )
    return lines


def _suspects(study: Study) -> list[str]:
    found = study.attribution
    if found is None:
        return [f"No cause identified: {study.gap}"]
    rows = [
        {
            "workload": workload_words(one.workload),
            "aggressor": one.is_aggressor,
            "part": f"{one.part_ratio:.0%}",
            "fair_part": f"{one.fair_ratio:.0%}",
            "rise": "" if isinstance(one.rise, NoRise) else f"{one.rise.ratio:.0%}",
            "score": one.score,
            "why": one.reason,
        }
        for one in found.suspects
    ]
    columns = ["workload", "aggressor", "part", "fair_part", "rise", "score", "why"]
    grounds = [f"  {one.name}, {one.value:.0%}: {one.how}" for one in found.confidence.parts]
    return [
        found.reason,
        "",
        *([table(rows, columns)] if rows else []),
        "",
        f"Confidence {found.confidence.value:.0%}",
        *grounds,
    ]
