"""What the agent does with iocost of a device, and why not where it does nothing. Pure."""

from dataclasses import dataclass

from enforcers.contract import Outcome, ResourceSpec
from enforcers.mechanism import Note
from enforcers.mechanisms.cgroup_io.device_controls import owns_model
from enforcers.mechanisms.cgroup_io.iocost import Model, model_of
from enforcers.mechanisms.cgroup_io.observed import IoObserved


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """`is_own`: the agent sets iocost up, with `model`, or with the one that was found (None).

    `problem` says why weights have no effect; None means that they have.
    """

    is_own: bool
    model: Model | None
    problem: Note | None


def decide(spec: ResourceSpec, observed: IoObserved, *, is_asked: bool) -> Ownership:
    """How the device comes to weights. Without a policy that asks for them it is left alone.

    A model comes from the operator, else from who set one up before the agent, else from the
    capacity of the policy; what was found wrong of it since then stands corrected.
    """
    if not is_asked or observed.keeps_iocost:
        return Ownership(is_own=False, model=None, problem=_problem_as_found(observed))
    if not observed.iocost.is_possible:
        reason = (
            f"shares have no effect: {observed.number} has no request queue of its own, which "
            "iocost needs; name the disks below it"
        )
        note = Note(outcome=Outcome.INEFFECTIVE, reason=reason)
        return Ownership(is_own=False, model=None, problem=note)
    model = observed.operators_model
    if model is None and (owns_model(observed) or not observed.iocost.has_user_model):
        model = model_of(spec.unit, spec.capacity)
    if model is not None and observed.standing.model is not None:
        model = observed.standing.model
    return Ownership(is_own=True, model=model, problem=None)


def _problem_as_found(observed: IoObserved) -> Note | None:
    if not observed.iocost.is_enabled:
        reason = f"shares have no effect: iocost is off for {observed.number}"
        if observed.keeps_iocost:
            reason += ", and cgroup_io.keep_iocost leaves it so; the limit needs none"
        return Note(outcome=Outcome.INEFFECTIVE, reason=reason)
    if observed.iocost.has_user_model:
        return None
    reason = (
        f"iocost of {observed.number} goes by a model that the kernel guessed (ctrl=auto), which "
        "may hold the device to a fraction of what it can"
    )
    return Note(outcome=Outcome.GUESSED_MODEL, reason=reason)
