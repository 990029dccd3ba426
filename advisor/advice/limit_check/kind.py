"""A check of the limits of a workload on a datastore."""

from __future__ import annotations

from advisor.advice.kind import Kind, LimitToHold, Stored, Variant
from advisor.advice.limit_check.decide.limit_check import LimitCheck, check_limits
from advisor.advice.limit_check.decide.limit_finding import LimitFinding
from advisor.advice.limit_check.decide.limit_inputs import LimitInputs
from advisor.advice.limit_check.gather import has_limits, limit_inputs
from advisor.advice.limit_check.show import show


def _essence(answer: Stored) -> object:
    return [[row["name"], row["finding"]] for row in answer["limits"]]


def _workload(inputs: Stored) -> str:
    workload: str = inputs["workload"]
    return workload


def _not_held(answer: Stored, workload: str) -> tuple[LimitToHold, ...]:
    """The one limit of the workload, where nothing holds it to that."""
    rows = answer.get("limits", ())
    if len(rows) != 1 or rows[0]["finding"] != LimitFinding.NOT_HOLDING:
        return ()
    limit = rows[0]["limit_iops"]
    return (LimitToHold(workload=workload, limit=limit),) if limit else ()


LIMIT_CHECK = Kind(
    name="limit_check",
    topic="limit_check",
    words="limits",
    variants=(
        Variant(
            name="limit_check",
            words="limits",
            needs_samples="the workload's cgroup, an hour",
            needs_stated="an allocation with `--limit` on a datastore counted in IOPS",
            approving="is noted: a person looks after the limit",
        ),
    ),
    inputs=LimitInputs,
    advice=LimitCheck,
    decide=check_limits,
    essence=_essence,
    subject=_workload,
    gather=limit_inputs,
    applies=has_limits,
    show=show,
    limits=_not_held,
)
