"""Follows, on one device, who is at work: weights by entitlement, limits by mix, a true model.

Reads and writes control files; what it writes is computed by `entitled_weights`,
`followed_limits` and `tracked_capacity`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath

from enforcers.change import FileWrite
from enforcers.contract import Allocation, CorrectedModel, ReservationMode, ResourceSpec, Unit
from enforcers.errors import StateError
from enforcers.executor import Executor
from enforcers.following import PERIOD_S
from enforcers.host_fs import HostFs
from enforcers.ledger import LedgerEntry
from enforcers.mechanisms.cgroup_io import controls, io_text
from enforcers.mechanisms.cgroup_io.controls import Controls, claim_of
from enforcers.mechanisms.cgroup_io.counts import Count, Did, count_of, did
from enforcers.mechanisms.cgroup_io.entitled_weights import Contender, entitled_weights
from enforcers.mechanisms.cgroup_io.followed_limits import FollowedLimits
from enforcers.mechanisms.cgroup_io.grip import WAITED_RATIO
from enforcers.mechanisms.cgroup_io.iocost import Model
from enforcers.mechanisms.cgroup_io.joint_budget import JointBudget
from enforcers.mechanisms.cgroup_io.joint_limits import JointLimits
from enforcers.mechanisms.cgroup_io.left_standing import texts_of
from enforcers.mechanisms.cgroup_io.lent_parts import Parts
from enforcers.mechanisms.cgroup_io.observed import IO_STAT, IoObserved
from enforcers.mechanisms.cgroup_io.short_looks import ShortLooks, Sight
from enforcers.mechanisms.cgroup_io.standing import Standing
from enforcers.mechanisms.cgroup_io.watched_device import WatchedDevice

Clock = Callable[[], float]
"""Seconds, asked where a counter is read."""

_FRESH_S = 4 * PERIOD_S
# Slower groups are as good as idle.
_ACTIVE_RATE = 1.0
_SAME_WEIGHT_RATIO = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a pass found out and set: the groups that are there, and their controls by id.

    `model` is the agent's own of the device; None if it has none, or found one.
    """

    spec: ResourceSpec
    kept: tuple[Allocation, ...]
    controls: Mapping[str, Controls]
    observed: IoObserved
    model: Model | None

    @property
    def parent(self) -> str | None:
        """The group of which all are children; None if there are several."""
        parents = {str(PurePosixPath(item.selector.value).parent) for item in self.kept}
        return parents.pop() if len(parents) == 1 else None

    @property
    def has_weights(self) -> bool:
        """Whether weights have been set."""
        return any(wanted.weight is not None for wanted in self.controls.values())


class Balancing:
    """Follows one policy on one device; `standing` is what it has set.

    `joint` is what the host may do on it beside other hosts, and `joint_limits` its parts of
    limits; None if none is asked. `resumed` is what an agent before this one has set of it.
    """

    def __init__(
        self,
        host_fs: HostFs,
        ground: Ground,
        *,
        joint: JointBudget | None = None,
        joint_limits: JointLimits | None = None,
        resumed: Standing | None = None,
    ) -> None:
        self._host_fs = host_fs
        self._joint = joint
        self._counts: dict[str, Count] = {}
        self._all_waited: Count | None = None
        self._active_groups = 0
        self._failed: OSError | StateError | None = None
        self._joint_limits = joint_limits
        self._limits = FollowedLimits(joint_limits)
        self._looks = ShortLooks()
        self.standing = Standing()
        self._device = WatchedDevice(
            host_fs,
            ground.observed,
            base=ground.model,
            stated=ground.spec.capacity,
            written=None if resumed is None else resumed.capacity,
        )
        self.renew(ground)
        self.standing = replace(
            self.standing,
            capacity=self._device.capacity,
            model=self._device.model,
            is_resumed=False,
        )

    def is_of(self, ground: Ground) -> bool:
        """Whether it may go on with this ground: the same capacity, told by the same."""
        own, other = self._ground, ground
        return own.spec == other.spec and (own.model is None) == (other.model is None)

    def renew(self, ground: Ground) -> None:
        """Go on after a pass, which may have found other groups, or set other values."""
        self._ground = ground
        self._parent = ground.parent
        # What a pass puts back it also takes out of the ledger.
        self._noted_weights: set[str] = set()
        self.standing = ground.observed.standing
        self._weights = {
            item.selector.value: wanted.weight
            for item in ground.kept
            if (wanted := ground.controls[item.id]).weight is not None
        }
        self._limits.renew(ground.kept, ground.spec.unit, self.standing.limits)

    @property
    def corrected(self) -> CorrectedModel | None:
        """That the device does less than is stated; None where it is not known to."""
        return self._device.corrected

    def look_at_all(self, clock_s: Clock) -> None:
        """Read every group, so that its waiting shows in the first period in which it waits."""
        self._read_groups(self._ground.kept, clock_s)

    def follow(self, executor: Executor, clock_s: Clock) -> None:
        """One period. Raises the first OSError or StateError of a write, once all else is done."""
        self._failed = None
        if self._joint is not None:
            number = self._ground.observed.number
            read = partial(self._read, clock_s=clock_s)
            self._joint.follow(number, self._ground.kept, read, clock_s)
        waited_ratio = self._waited_ratio(clock_s) if self._ground.has_weights else None
        under_limit = self._limits.groups
        limited = [item for item in self._ground.kept if item.selector.value in under_limit]
        waits = waited_ratio is not None and waited_ratio > WAITED_RATIO
        is_blind = waited_ratio is None or (not waits and not self._device.is_pressed)
        done = self._read_groups(limited if is_blind else self._ground.kept, clock_s)
        if not is_blind:
            self._active_groups = sum(one.rate > _ACTIVE_RATE for one in done.values())
        if waited_ratio is not None:
            self._follow_device(executor, clock_s, waited_ratio)
        if waits:
            self._follow_weights(executor, done)
        self._follow_limits(executor, clock_s, done)
        if self._failed is not None:
            raise self._failed

    def look(self, clock_s: Clock) -> None:
        """Begin a short look at the groups under a limit, or end it."""
        parts = self._limits.parts
        seen = {group: sight for group in parts if (sight := self._sight(group, clock_s))}
        self._looks.take(seen, parts)
        self.standing = replace(self.standing, looks=dict(self._looks.found))

    def leave(self, executor: Executor) -> None:
        """Leave the parts by the policy, of the device and of limits: nobody follows others now.

        Raises the first OSError or StateError of a write.
        """
        self._failed = None
        if self._joint is not None and self._joint.part is not None:
            self._device.leave(executor, self._joint.part_by_policy(self._ground.kept))
        self._limits.leave(partial(self._make_limit, executor))
        if self._failed is not None:
            raise self._failed

    def left(self) -> dict[str, str]:
        """By thing what stands of limits and weights."""
        return texts_of(self.standing.limits, self._weights)

    def _waited_ratio(self, clock_s: Clock) -> float | None:
        """Waiting of all groups below the common parent, as a part of the time, from one file.

        None: the kernel does not say.
        """
        now = None if self._parent is None else self._read(self._parent, clock_s)
        before, self._all_waited = self._all_waited, now
        if now is None or now.waited_us is None:
            return None
        done = did(before, now, period_s=PERIOD_S)
        return None if done is None else done.waited_ratio

    def _follow_device(self, executor: Executor, clock_s: Clock, waited_ratio: float) -> None:
        try:
            self._device.follow(
                executor,
                clock_s,
                unit=self._ground.spec.unit,
                waited_ratio=waited_ratio,
                active_groups=self._active_groups,
                part=None if self._joint is None else self._joint.part,
            )
        except (OSError, StateError) as error:
            # The next pass finds another model than this one has in mind, and writes it.
            self._failed = error
        self.standing = replace(
            self.standing,
            weights=dict(self._weights),
            capacity=self._device.capacity,
            model=self._device.model,
            no_grip=self._device.no_grip,
        )

    def _read_groups(self, items: Sequence[Allocation], clock_s: Clock) -> dict[str, Did]:
        """What each group did since it was last read; new groups and gone ones are left out.

        One that is made anew under its name waits for the next pass, which notes what it finds.
        """
        found: dict[str, Did] = {}
        for item in items:
            group = item.selector.value
            count = self._read(group, clock_s) if self._is_as_observed(group) else None
            if count is None:
                self._counts.pop(group, None)
                continue
            done = did(self._counts.get(group), count, period_s=PERIOD_S)
            self._counts[group] = count
            if done is not None:
                found[group] = done
        return found

    def _is_as_observed(self, group: str) -> bool:
        observed = self._ground.observed
        identity = self._host_fs.identity(f"{observed.mount}{group}")
        return identity == observed.groups[group].identity

    def _sight(self, group: str, clock_s: Clock) -> Sight | None:
        line, unit = self._line(group), self._ground.spec.unit
        if line is None:
            return None
        at_s = clock_s()
        counted = count_of(line, unit, at_s)
        ios = counted if unit is Unit.IOPS else count_of(line, Unit.IOPS, at_s)
        return Sight(counted=counted, ios=ios)

    def _read(self, group: str, clock_s: Clock, unit: Unit | None = None) -> Count | None:
        line = self._line(group)
        return None if line is None else count_of(line, unit or self._ground.spec.unit, clock_s())

    def _line(self, group: str) -> str | None:
        """The device's line of its io.stat; empty before its first I/O, None where it is gone."""
        observed = self._ground.observed
        text = self._host_fs.read_or_none(observed.control_path(group, IO_STAT))
        return None if text is None else io_text.line_of(text, observed.number) or ""

    def _follow_weights(self, executor: Executor, done: Mapping[str, Did]) -> None:
        contenders = [
            Contender(
                group=item.selector.value,
                claim=claim_of(item),
                rate=done[item.selector.value].rate,
                waits=done[item.selector.value].waits,
            )
            for item in self._ground.kept
            if item.selector.value in done
        ]
        if not any(one.waits for one in contenders):
            return
        wanted = entitled_weights(
            self._capacity(done), contenders, ReservationMode(self._ground.spec.mode)
        )
        changed = {
            group: weight
            for group, weight in wanted.items()
            if not math.isclose(weight, self._weights[group], rel_tol=_SAME_WEIGHT_RATIO)
        }
        observed = self._ground.observed
        for group, weight in changed.items():
            write = controls.weight_adjustment(group, weight, observed)
            found: tuple[LedgerEntry, ...] = ()
            if group not in self._noted_weights:
                found = (controls.found_weight(group, self._weights[group], observed),)
            if self._is_made(executor, write, found):
                self._weights[group] = weight
                self._noted_weights.add(group)
        if changed:
            self.standing = replace(self.standing, weights=dict(self._weights))

    def _capacity(self, done: Mapping[str, Did]) -> float:
        """What is left beside I/O of the host itself and of groups without a policy.

        Rates since long ago cannot be compared with what the device did just now.
        """
        if any(one.elapsed_s > _FRESH_S for one in done.values()):
            return self._device.capacity
        return self._device.capacity_beside(sum(one.rate for one in done.values()))

    def _follow_limits(self, executor: Executor, clock_s: Clock, done: Mapping[str, Did]) -> None:
        if self._joint_limits is not None:
            self._joint_limits.follow(clock_s())
        read_bytes = partial(self._read, clock_s=clock_s, unit=Unit.BYTES_PER_S)
        self._limits.follow(done, read_bytes, partial(self._make_limit, executor))
        self.standing = replace(self.standing, exceeded=self._limits.exceeded)

    def _make_limit(self, executor: Executor, group: str, wanted: Parts) -> bool:
        write = controls.limit_adjustment(group, wanted, self._ground.observed)
        found = controls.found_limit(group, self._ground.observed)
        if not self._is_made(executor, write, found):
            return False
        self.standing = replace(self.standing, limits={**self.standing.limits, group: wanted})
        return True

    def _is_made(
        self, executor: Executor, write: FileWrite, found: tuple[LedgerEntry, ...]
    ) -> bool:
        """Make a change; one that fails is computed anew in the next period."""
        try:
            executor.adjust(write, found)
        except (OSError, StateError) as error:
            self._failed = self._failed or error
            return False
        return True
