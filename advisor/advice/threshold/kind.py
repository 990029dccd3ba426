"""Advice on the congestion threshold of a datastore."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from advisor.advice.kind import Kind, Stored, Variant
from advisor.advice.threshold.decide.threshold_advice import (
    WORTH_RATIO,
    ThresholdAdvice,
    ThresholdInputs,
    advise_threshold,
)
from advisor.advice.threshold.gather import had_io, has_fixed_threshold, threshold_inputs
from advisor.advice.threshold.show import show


def _essence(answer: Stored) -> object:
    return answer["threshold_ms"]


def _sets(answer: Stored) -> Mapping[str, Mapping[str, Any]]:
    """On all datastores of the advice alike: they share their disks."""
    return {name: {"threshold": answer["threshold_ms"]} for name in answer["datastores"]}


THRESHOLD = Kind(
    name="threshold",
    topic="threshold",
    words="congestion threshold",
    variants=(
        Variant(
            name="threshold",
            words="congestion threshold",
            needs_samples="the device, 30 windows at three depths or more",
            needs_stated="a fixed threshold",
            approving="sets it",
        ),
    ),
    inputs=ThresholdInputs,
    advice=ThresholdAdvice,
    decide=advise_threshold,
    essence=_essence,
    # The fit moves a little with every window.
    tolerance_ratio=WORTH_RATIO,
    sets=_sets,
    gather=threshold_inputs,
    applies=has_fixed_threshold,
    has_news=had_io,
    show=show,
)
