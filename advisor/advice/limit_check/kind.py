"""A check of the limits of a workload on a datastore."""

from __future__ import annotations

from advisor.advice.kind import Kind, Stored, Variant
from advisor.advice.limit_check.decide.limit_check import LimitCheck, check_limits
from advisor.advice.limit_check.decide.limit_inputs import LimitInputs
from advisor.advice.limit_check.gather import has_limits, limit_inputs
from advisor.advice.limit_check.show import show


def _essence(answer: Stored) -> object:
    return [[row["name"], row["finding"]] for row in answer["limits"]]


def _workload(inputs: Stored) -> str:
    workload: str = inputs["workload"]
    return workload


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
)
