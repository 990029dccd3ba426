"""Enforces shares, reservations and limits of a block device through cgroup v2's io controller."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from enforcers.contract import (
    Allocation,
    CorrectedModel,
    MechanismSupport,
    Outcome,
    ReservationMode,
    ResourceSpec,
    Setting,
    Unit,
)
from enforcers.errors import StateError
from enforcers.executor import Execution, Executor
from enforcers.fix import Fix
from enforcers.ledger import LedgerEntry
from enforcers.mechanism import Desired, HostAccess, Note, Obstacle, Plan, Seen, Unclaimed
from enforcers.mechanisms.cgroup_io import (
    controls,
    device_controls,
    ownership,
    shortfalls,
    shown,
)
from enforcers.mechanisms.cgroup_io.config import CgroupIoConfig
from enforcers.mechanisms.cgroup_io.controls import Controls
from enforcers.mechanisms.cgroup_io.entitled_weights import entitled_weights, unhindered
from enforcers.mechanisms.cgroup_io.finding import Finding
from enforcers.mechanisms.cgroup_io.fixes import fixes
from enforcers.mechanisms.cgroup_io.left_standing import left_parts, left_weights
from enforcers.mechanisms.cgroup_io.lent_parts import Parts, lent_parts, parts_in_kernel
from enforcers.mechanisms.cgroup_io.located import CGROUP, NAMING, located
from enforcers.mechanisms.cgroup_io.observed import (
    IoObserved,
    has_iocost,
    io_mount,
    knows_iocost,
    observe,
    why_no_io,
)
from enforcers.mechanisms.cgroup_io.obstacles import obstacles
from enforcers.mechanisms.cgroup_io.ownership import Ownership
from enforcers.mechanisms.cgroup_io.standing import Standing
from enforcers.mechanisms.cgroup_io.unlike_default import find_unlike_default

if TYPE_CHECKING:
    from enforcers.mechanisms.cgroup_io.followed_devices import FollowedDevices


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """The allocations that can be served, what their groups shall have, and why not others."""

    kept: tuple[Allocation, ...]
    controls: Mapping[str, Controls]
    notes: Mapping[str, Note]
    ownership: Ownership


class CgroupIo:
    """Limit is `io.max`; shares and reservation are `io.weight`, by entitlement."""

    name: ClassVar[str] = controls.NAME
    Config: ClassVar[type[CgroupIoConfig]] = CgroupIoConfig

    def __init__(self, host: HostAccess, config: CgroupIoConfig) -> None:
        self._host_fs = host.host_fs
        self._config = config
        self._finding = Finding(host.host_fs, config.subtrees)
        self._post = host.post
        # None until a policy is in force.
        self._followed: FollowedDevices | None = None

    def support(self) -> MechanismSupport:
        mount = io_mount(self._host_fs)
        return MechanismSupport(
            mechanism=self.name,
            supported=mount is not None,
            reason=why_no_io(self._host_fs)
            if mount is None
            else f"io controller at {mount}: limits; shares and reservations where iocost is on",
            units=(Unit.IOPS, Unit.BYTES_PER_S),
            selectors=(CGROUP, *NAMING),
            holds=shortfalls.holds(has_iocost=mount is not None and self._has_iocost(mount)),
        )

    def corrected(self, device: str) -> CorrectedModel | None:
        return None if self._followed is None else self._followed.corrected(device)

    def observe(self, desired: Desired, entries: tuple[LedgerEntry, ...]) -> IoObserved:
        known = self._finding.places(desired.allocations)
        groups = {
            item.selector.value
            for item in located(desired.allocations, known)
            if shortfalls.group_problem(item, self._config.subtrees) is None
        }
        noted = controls.groups_of(entries)
        observed = observe(
            self._host_fs,
            desired.device,
            groups=groups | noted,
            config=self._config,
            entries=entries,
            standing=Standing() if self._followed is None else self._followed.standing(desired),
            places=known,
        )
        if desired.spec is None or observed.problem is not None:
            return observed
        if self._may_resume(desired.spec, observed):
            observed = replace(observed, standing=ownership.resumed(desired.spec, observed))
        standing = observed.standing
        if desired.left and not self._follows(observed.device):
            standing = _left(desired, desired.spec, observed)
        limits = {**self._lent(desired, desired.spec, observed), **standing.limits}
        return replace(observed, standing=replace(standing, limits=limits))

    def _follows(self, device: str) -> bool:
        return self._followed is not None and device in self._followed

    def _lent(
        self, desired: Desired, spec: ResourceSpec, observed: IoObserved
    ) -> Mapping[str, Parts]:
        """What stands of limits that other hosts hold too; nothing where nobody is told."""
        if self._post is None or spec.unit is Unit.BITS_PER_S:
            return {}
        if self._followed is not None and self._follows(observed.device):
            standing = self._followed.limits(observed.device)
        else:
            standing = parts_in_kernel(observed)
        return lent_parts(located(desired.allocations, observed.places), spec.unit, standing)

    def _may_resume(self, spec: ResourceSpec, observed: IoObserved) -> bool:
        """Whether this agent has not followed the device, which may have a part of a datastore."""
        return (
            self._post is not None
            and not self._follows(observed.device)
            and spec.unit is Unit.IOPS
            and shortfalls.obstacle(spec, observed) is None
        )

    def plan(self, desired: Desired, observed: IoObserved) -> Plan:
        if observed.problem is not None and observed.entries and not desired.allocations:
            # Nobody can tell what is left on it.
            raise StateError(
                f"{observed.problem}; what was found on it is noted, and put back once it is there"
            )
        back = Plan() if observed.problem is not None else _restoring_plan(observed)
        if desired.spec is None or not desired.allocations:
            return back
        problem = shortfalls.obstacle(desired.spec, observed)
        if problem is not None:
            note = Note(outcome=Outcome.UNSUPPORTED, reason=problem)
            # A device that may not be touched any more is put back.
            return replace(back, notes={item.id: note for item in desired.allocations})
        wanted = self._wanted(desired.spec, desired.allocations, observed)
        return _plan(desired.spec, wanted, observed)

    def apply(self, plan: Plan, executor: Executor) -> Execution:
        return executor.run(plan.changes, plan.found)

    def find_unlike_default(self) -> tuple[LedgerEntry, ...]:
        """Limits, weights and iocost; what is set does not show who set it."""
        return tuple(find_unlike_default(self._host_fs, self._config))

    def obstacles(self) -> Mapping[str, Obstacle | None]:
        return dict(obstacles(self._host_fs, self._config))

    def fixes(self) -> tuple[Fix, ...]:
        return tuple(fixes(self._host_fs, self._config.subtrees))

    def unclaimed(self, allocations: Sequence[Allocation]) -> tuple[Unclaimed, ...]:
        return self._finding.unclaimed(allocations)

    def read_back(self, desired: Desired, observed: IoObserved) -> Mapping[str, Seen]:
        spec = desired.spec
        if spec is None or observed.problem is not None or spec.unit is Unit.BITS_PER_S:
            return {}
        wanted = self._wanted(spec, desired.allocations, observed)
        return {
            item.id: shown.seen(
                item,
                observed.groups[item.selector.value],
                spec.unit,
                wanted=wanted.controls.get(
                    item.id, controls.wanted_controls(item, unit=spec.unit, weight=None)
                ),
                observed=observed,
            )
            for item in located(desired.allocations, observed.places)
            if item.selector.value in observed.groups
        }

    def follow(
        self,
        desired: Desired,
        entries: tuple[LedgerEntry, ...],
        executor: Executor,
        clock_s: Callable[[], float],
    ) -> None:
        if self._followed is None:
            from enforcers.mechanisms.cgroup_io.followed_devices import FollowedDevices

            self._followed = FollowedDevices(self._host_fs, self._post)
        if self._followed.goes_on(desired, executor, clock_s):
            return
        observed = self.observe(desired, entries)
        if desired.spec is None or shortfalls.obstacle(desired.spec, observed) is not None:
            self._followed.forget(desired.device)
            return
        wanted = self._wanted(desired.spec, desired.allocations, observed)
        self._followed.begin(
            desired,
            desired.spec,
            observed,
            kept=wanted.kept,
            controls=wanted.controls,
            model=wanted.ownership.model,
            executor=executor,
            clock_s=clock_s,
        )

    def look(self, desired: Desired, clock_s: Callable[[], float]) -> None:
        if self._followed is not None:
            self._followed.look(desired, clock_s)

    def leave(self, desired: Desired, executor: Executor) -> None:
        if self._followed is not None:
            self._followed.leave(desired, executor)

    def left(self, desired: Desired) -> Mapping[str, str]:
        return {} if self._followed is None else self._followed.left(desired)

    def _has_iocost(self, mount: str) -> bool:
        """Whether it is on somewhere, or may be switched on."""
        config = self._config
        may_switch = (config.capacity_is_measured | config.modelled) - config.keep_iocost
        return has_iocost(self._host_fs, mount) or (
            bool(may_switch) and knows_iocost(self._host_fs, mount)
        )

    def _wanted(
        self, spec: ResourceSpec, allocations: tuple[Allocation, ...], observed: IoObserved
    ) -> _Wanted:
        notes = {key: p for key, p in observed.places.items() if isinstance(p, Note)}
        kept: dict[str, Allocation] = {}
        for item in located(allocations, observed.places):
            group = item.selector.value
            problem = (
                shortfalls.group_problem(item, self._config.subtrees)
                or shortfalls.missing(group, observed)
                or shortfalls.too_small(item)
            )
            if problem is None and group in kept:
                problem = Note(
                    outcome=Outcome.FAILED,
                    reason=f"cgroup {group} belongs to another allocation already",
                )
            if problem is None:
                kept[group] = item
            else:
                notes[item.id] = problem
        items = tuple(kept.values())
        is_asked = (
            _asks_for_weights(spec, allocations)
            or (self._followed is not None and self._followed.is_divided(spec, observed.device))
            or observed.standing.is_resumed
        )
        decided = ownership.decide(spec, observed, is_asked=is_asked)
        weights = _weights(spec, items, observed) if decided.has_weights else {}
        return _Wanted(
            kept=items,
            controls={
                item.id: controls.wanted_controls(
                    item,
                    unit=spec.unit,
                    weight=weights.get(item.selector.value),
                    parts=observed.standing.limits.get(item.selector.value),
                    disks=controls.disks_of(item, items),
                )
                for item in items
            },
            notes=notes,
            ownership=decided,
        )


def _left(desired: Desired, spec: ResourceSpec, observed: IoObserved) -> Standing:
    """With what an agent before this one has left in force of the very same policy."""
    if spec.unit is Unit.BITS_PER_S:
        return observed.standing
    items = located(desired.allocations, observed.places)
    # `_lent` tells of limits that other hosts hold too.
    limited = [item.selector.value for item in items if item.joint_limit is None]
    groups = [item.selector.value for item in items]
    return replace(
        observed.standing,
        limits=left_parts(limited, controls.limit_keys(spec.unit), observed, desired.left),
        weights=left_weights(groups, observed, desired.left),
    )


def _asks_for_weights(spec: ResourceSpec, allocations: Sequence[Allocation]) -> bool:
    """Shares that are alike ask for nothing, unless the policy means them.

    A policy of limits alone has such shares, and needs no iocost.
    """
    return (
        (spec.divides and len(allocations) > 1)
        or any(item.reservation > 0 for item in allocations)
        or len({item.shares for item in allocations}) > 1
    )


def _weights(
    spec: ResourceSpec, items: Sequence[Allocation], observed: IoObserved
) -> dict[str, int]:
    """Those that the loop has set, and before it those of workloads that all want everything."""
    mode = ReservationMode(spec.mode)
    everybody = [unhindered(item.selector.value, controls.claim_of(item)) for item in items]
    capacity = observed.standing.capacity or spec.capacity
    return {**entitled_weights(capacity, everybody, mode), **observed.standing.weights}


def _plan(spec: ResourceSpec, wanted: _Wanted, observed: IoObserved) -> Plan:
    changes, found = [], []
    settings: dict[str, Setting] = {}
    for item in wanted.kept:
        group, target = item.selector.value, wanted.controls[item.id]
        more, before = controls.control_changes(group, target, observed, item.id)
        changes += more
        found += before
        settings[item.id] = shown.setting(
            item, target.io_max, target.weight, wanted=target, observed=observed
        )
    undo, restored = controls.restoring_changes(
        {item.selector.value for item in wanted.kept}, observed
    )
    if wanted.ownership.is_own:
        own, before = device_controls.device_changes(wanted.ownership.model, observed)
        changes += own
        found += before
    else:
        back, are_back = device_controls.restoring_device_changes(observed)
        undo += back
        restored += are_back
    missing = (
        shortfalls.of_controls(wanted.ownership, observed, wanted.kept, spec.capacity)
        if wanted.kept
        else {}
    )
    return Plan(
        changes=(*changes, *undo),
        wanted=settings,
        notes=wanted.notes,
        shortfalls={
            item.id: {**missing, **shortfalls.of_limit(item, wanted.kept, spec, observed)}
            for item in wanted.kept
        },
        found=tuple(found),
        restored=tuple(restored),
    )


def _restoring_plan(observed: IoObserved) -> Plan:
    changes, restored = controls.restoring_changes(set(), observed)
    back, are_back = device_controls.restoring_device_changes(observed)
    return Plan(changes=(*changes, *back), restored=(*restored, *are_back))
