"""The devices where a policy is in force, and what follows the workloads on each.

Imported once there is one, for most of what is below it is needed nowhere else.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from enforcers.contract import Allocation, CorrectedModel, ResourceSpec, Unit
from enforcers.executor import Executor
from enforcers.host_fs import HostFs
from enforcers.joint_post import Post
from enforcers.mechanism import Desired
from enforcers.mechanisms.cgroup_io import ownership
from enforcers.mechanisms.cgroup_io.balancing import Balancing, Ground
from enforcers.mechanisms.cgroup_io.controls import Controls
from enforcers.mechanisms.cgroup_io.iocost import Model
from enforcers.mechanisms.cgroup_io.joint_budget import JointBudget
from enforcers.mechanisms.cgroup_io.joint_limits import JointLimits
from enforcers.mechanisms.cgroup_io.lent_parts import Parts
from enforcers.mechanisms.cgroup_io.observed import IoObserved
from enforcers.mechanisms.cgroup_io.standing import Standing


class FollowedDevices:
    """By device what follows it, and its parts of a datastore and of joint limits."""

    def __init__(self, host_fs: HostFs, post: Post | None) -> None:
        self._host_fs = host_fs
        self._post = post
        self._followed: dict[str, tuple[Desired, Balancing]] = {}
        self._joint: dict[str, JointBudget] = {}
        self._joint_limits: dict[str, JointLimits] = {}

    def __contains__(self, device: str) -> bool:
        return device in self._followed

    def standing(self, desired: Desired) -> Standing:
        """What the loop has set for this policy; of the device also for another policy."""
        known = self._followed.get(desired.device)
        if known is None or known[0].spec != desired.spec:
            return Standing()
        standing = known[1].standing
        is_same = known[0].allocations == desired.allocations
        return standing if is_same else replace(standing, weights={}, limits={}, exceeded={})

    def limits(self, device: str) -> Mapping[str, Parts]:
        """The parts of limits that the loop has set, for whatever policy."""
        known = self._followed.get(device)
        return {} if known is None else known[1].standing.limits

    def corrected(self, device: str) -> CorrectedModel | None:
        """That it does less than is stated; None where that is not known."""
        known = self._followed.get(device)
        return None if known is None else known[1].corrected

    def is_divided(self, spec: ResourceSpec, device: str) -> bool:
        """Whether the host has a part of the datastore, which takes a model to hold it to."""
        known = self._joint.get(device)
        return known is not None and known.resource == spec.name and known.part is not None

    def goes_on(self, desired: Desired, executor: Executor, clock_s: Callable[[], float]) -> bool:
        """Follow the very policy that was followed before; False if this is another one."""
        known = self._followed.get(desired.device)
        if known is None or known[0] is not desired:
            return False
        known[1].follow(executor, clock_s)
        return True

    def look(self, desired: Desired, clock_s: Callable[[], float]) -> None:
        """Begin or end a short look, where this very policy is followed."""
        known = self._followed.get(desired.device)
        if known is not None and known[0] is desired:
            known[1].look(clock_s)

    def leave(self, desired: Desired, executor: Executor) -> None:
        """Set what may stand while nobody follows this policy."""
        known = self._followed.get(desired.device)
        if known is not None and known[0].allocations == desired.allocations:
            known[1].leave(executor)

    def left(self, desired: Desired) -> Mapping[str, str]:
        """What stands of this policy."""
        known = self._followed.get(desired.device)
        if known is None or known[0].allocations != desired.allocations:
            return {}
        return known[1].left()

    def forget(self, device: str) -> None:
        """Follow it no more."""
        self._followed.pop(device, None)
        self._joint.pop(device, None)
        self._joint_limits.pop(device, None)

    def begin(
        self,
        desired: Desired,
        spec: ResourceSpec,
        observed: IoObserved,
        *,
        kept: tuple[Allocation, ...],
        controls: Mapping[str, Controls],
        model: Model | None,
        executor: Executor,
        clock_s: Callable[[], float],
    ) -> None:
        """Follow another policy, or the same one after a pass."""
        before = observed.standing if observed.standing.is_resumed else None
        ground = Ground(
            spec=spec,
            kept=kept,
            controls=controls,
            observed=observed,
            model=model if before is None else ownership.stated_model(spec, observed),
        )
        known = self._followed.get(desired.device)
        if known is None or not known[1].is_of(ground):
            joint = self._joint_budget(spec, observed, before)
            balancing = Balancing(
                self._host_fs,
                ground,
                joint=joint,
                joint_limits=self._limits_of(spec, observed.device),
                resumed=before,
            )
            self._followed[desired.device] = (desired, balancing)
            balancing.look_at_all(clock_s)
            return
        balancing = known[1]
        balancing.renew(ground)
        self._followed[desired.device] = (desired, balancing)
        balancing.follow(executor, clock_s)

    def _joint_budget(
        self, spec: ResourceSpec, observed: IoObserved, before: Standing | None
    ) -> JointBudget | None:
        """The host's part of a datastore; None where the agent could not hold the host to it."""
        can_hold = ownership.decide(spec, observed, is_asked=True).model is not None
        if self._post is None or spec.unit is not Unit.IOPS or not can_hold:
            self._joint.pop(observed.device, None)
            return None
        known = self._joint.get(observed.device)
        if known is None or (known.resource, known.stated_iops) != (spec.name, spec.capacity):
            known = JointBudget(
                self._host_fs,
                self._post.loads,
                resource=spec.name,
                stated_iops=spec.capacity,
                resumed_iops=None if before is None else before.capacity,
            )
            self._joint[observed.device] = known
        return known

    def _limits_of(self, spec: ResourceSpec, device: str) -> JointLimits | None:
        """The host's parts of joint limits; None where nobody is told."""
        if self._post is None:
            return None
        known = self._joint_limits.get(device)
        if known is None or known.resource != spec.name:
            known = self._joint_limits[device] = JointLimits(self._post.limits, resource=spec.name)
        return known
