"""What the agent does with iocost of a device, and why not where it does nothing. Pure."""

from dataclasses import dataclass, replace

from enforcers.contract import Outcome, ResourceSpec
from enforcers.mechanism import Note
from enforcers.mechanisms.cgroup_io.device_controls import iocost_as_found, owns_model
from enforcers.mechanisms.cgroup_io.iocost import (
    SMALLEST_CAPACITY,
    Model,
    model_of,
    model_shown,
)
from enforcers.mechanisms.cgroup_io.observed import IoObserved
from enforcers.mechanisms.cgroup_io.standing import Standing

NOBODY_MEASURED = "nobody says what the device can do"
TO_MEASURE = (
    "put the line that `sluice-enforcer measure` proposes into cgroup_io.models; or, if the "
    "capacity that the policy states was measured under full load, name the device in "
    "cgroup_io.capacity_is_measured"
)
_KEPT = ", and cgroup_io.keep_iocost leaves it so; the limit needs none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """`is_own`: the agent sets iocost up, with `model`, or with the one that was found (None).

    `has_weights`: iocost is on, or will be. `problem` says why weights have no effect; None
    means that they have.
    """

    is_own: bool
    has_weights: bool
    model: Model | None
    problem: Note | None


def decide(spec: ResourceSpec, observed: IoObserved, *, is_asked: bool) -> Ownership:
    """How the device comes to weights. Without a policy that asks for them it is left alone.

    A model comes from the operator, else from who set one up before the agent, else from the
    capacity of the policy if the operator says that it was measured: iocost holds everybody to
    a capacity that is too low. What was found wrong of the model since then stands corrected.
    """
    if not is_asked:
        return _left_alone(observed, _as_found(observed))
    if observed.keeps_iocost:
        return _left_alone(observed, _as_found(observed, off=_KEPT))
    if observed.weightless is not None:
        reason = f"{observed.weightless.reason}; {observed.weightless.remedy}"
        note = Note(outcome=Outcome.INEFFECTIVE, reason=f"shares have no effect: {reason}")
        return _left_alone(observed, note)
    if lacks_model(observed):
        off = f", for {NOBODY_MEASURED}; {TO_MEASURE}"
        return _left_alone(observed, _as_found(observed, off=off, guessed=f"; {TO_MEASURE}"))
    model = observed.operators_model
    if model is None and not _is_found(observed):
        if spec.capacity < SMALLEST_CAPACITY:
            return _left_alone(observed, _too_small(spec, observed))
        model = model_of(spec.unit, spec.capacity)
    if model is not None and observed.standing.model is not None:
        model = observed.standing.model
    return Ownership(is_own=True, has_weights=True, model=model, problem=None)


def stated_model(spec: ResourceSpec, observed: IoObserved) -> Model | None:
    """The agent's own model, before anything was found wrong of it; None if it may have none."""
    return decide(spec, replace(observed, standing=Standing()), is_asked=True).model


def resumed(spec: ResourceSpec, observed: IoObserved) -> Standing:
    """What an agent before this one let the device do, if that is less than the policy says.

    It may be the host's part of a datastore: until the others are heard the host keeps to it.
    """
    base = stated_model(spec, observed)
    present = model_shown(observed.iocost.model)
    if base is None or present is None or not owns_model(observed):
        return Standing()
    # Of the largest rate the least is lost by rounding.
    ratio = max(present.rates) / max(base.rates)
    if ratio >= 1 or base.scaled(ratio) != present:
        return Standing()
    return Standing(capacity=ratio * spec.capacity, model=present, is_resumed=True)


def lacks_model(observed: IoObserved) -> bool:
    """Whether nobody has said what the device can do, so that iocost must not be switched on."""
    return (
        observed.operators_model is None
        and not observed.is_capacity_measured
        and not _is_found(observed)
    )


def _is_found(observed: IoObserved) -> bool:
    """Whether somebody gave the kernel a model before the agent."""
    return observed.iocost.has_user_model and not owns_model(observed)


def _left_alone(observed: IoObserved, problem: Note | None) -> Ownership:
    has_weights = iocost_as_found(observed).is_enabled
    return Ownership(is_own=False, has_weights=has_weights, model=None, problem=problem)


def _as_found(observed: IoObserved, *, off: str = "", guessed: str = "") -> Note | None:
    """Why weights have no effect, or a doubtful one, without the agent; with words on each."""
    found = iocost_as_found(observed)
    if not found.is_enabled:
        reason = f"shares have no effect: iocost is off for {observed.number}{off}"
        return Note(outcome=Outcome.INEFFECTIVE, reason=reason)
    if found.has_user_model:
        return None
    reason = (
        f"iocost of {observed.number} goes by a model that the kernel guessed (ctrl=auto), which "
        f"may hold the device to a fraction of what it can{guessed}"
    )
    return Note(outcome=Outcome.GUESSED_MODEL, reason=reason)


def _too_small(spec: ResourceSpec, observed: IoObserved) -> Note:
    reason = (
        f"shares have no effect: iocost of {observed.number} takes whole numbers from "
        f"{SMALLEST_CAPACITY}, and the capacity is stated as {spec.capacity:g} {spec.unit}; "
        "state the one that was measured"
    )
    return Note(outcome=Outcome.INEFFECTIVE, reason=reason)
