"""Advice on when to do administrative work on a shared LUN."""

from __future__ import annotations

from advisor.advice.kind import Kind, Stored, Variant
from advisor.advice.off_peak_work.decide.scsi_conflicts import (
    ConflictInputs,
    OffPeakAdvice,
    advise_off_peak_work,
)
from advisor.advice.off_peak_work.gather import conflict_inputs, sends_conflicts
from advisor.advice.off_peak_work.show import show


def _essence(answer: Stored) -> object:
    return answer["from_hour_utc"]


OFF_PEAK_WORK = Kind(
    name="off_peak_work",
    topic="off_peak_work",
    words="administrative work",
    variants=(
        Variant(
            name="off_peak_work",
            words="administrative work",
            needs_samples="`scsi_reservation`, 30 hours of the last three days and 30 before",
            needs_stated="a datastore on the device",
            approving="is noted: a person moves the schedule",
        ),
    ),
    inputs=ConflictInputs,
    advice=OffPeakAdvice,
    decide=advise_off_peak_work,
    essence=_essence,
    gather=conflict_inputs,
    applies=sends_conflicts,
    show=show,
)
