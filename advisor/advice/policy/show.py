"""The incident that a policy answers, as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from advisor.advice.shared.picture import Axis, Level, Line, Picture
from advisor.core.canonical import CanonicalError, loads_part
from advisor.core.detection.incident import Incident
from advisor.core.quantity import significant
from advisor.resource_kinds.registry import traits_of


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pictured:
    """The fields of the inputs that are shown: their past is a hundred times as long."""

    kind: str
    incident: Incident | None


def incident_picture(inputs_text: str) -> Picture | None:
    """Latency or load while it was congested, against the threshold that held.

    None without one, and for inputs that another version stored.
    """
    try:
        inputs = loads_part(_Pictured, inputs_text)
    except CanonicalError:
        return None
    incident = inputs.incident
    if incident is None or incident.peak_value is None or incident.threshold is None:
        return None
    written = traits_of(inputs.kind).level
    factor, unit, level = written.per_unit, written.unit, written.noun
    began = incident.started_at
    points = [
        ((one.at - began) / timedelta(minutes=1), factor * one.value)
        for one in incident.evidence
        if one.value is not None and one.at >= began
    ]
    threshold = factor * incident.threshold
    if len(points) < 2:
        return None
    return Picture(
        title="The incident it answers",
        said=f"The {level} was up to {factor * incident.peak_value:.3g} {unit}, the "
        f"threshold is {threshold:.3g} {unit}",
        x=Axis(label="minutes since it began"),
        y=Axis(label=level, unit=unit),
        lines=(Line(label=level, points=tuple(points)),),
        levels=(Level(value=threshold, text=f"threshold {significant(threshold)} {unit}"),),
    )
