"""Watches whether iocost, or the device itself, holds I/O back, and corrects the model."""

import logging
from collections.abc import Callable
from dataclasses import replace

from enforcers.contract import CorrectedModel, Unit
from enforcers.executor import Executor
from enforcers.following import PERIOD_S
from enforcers.host_fs import HostFs
from enforcers.joint_capacity import drained_ratio
from enforcers.mechanisms.cgroup_io import device_controls
from enforcers.mechanisms.cgroup_io.counts import DiskCount, disk_count
from enforcers.mechanisms.cgroup_io.device_look import Look, look
from enforcers.mechanisms.cgroup_io.grip import Grip, has_no_hold, holds_nobody, next_grip
from enforcers.mechanisms.cgroup_io.iocost import Model
from enforcers.mechanisms.cgroup_io.joint_budget import Part
from enforcers.mechanisms.cgroup_io.observed import IoObserved
from enforcers.mechanisms.cgroup_io.pile import Pile, model_ratio, next_pile
from enforcers.mechanisms.cgroup_io.tracked_capacity import first_track, followed, real_capacity

log = logging.getLogger(__name__)

# Smaller corrections are not worth that the kernel halts the queue for them.
_WORTH_RATIO = 0.005
# A host's part goes to and fro with each half second's latency.
_PART_WORTH_RATIO = 0.008
# A device that does this part of what is stated does it: a total is not measured more exactly.
_STATED_RIGHT_RATIO = 0.95
# Under a model that is too high groups save up what the device cannot do, up to some tenths of a
# second of it, and iocost holds nobody back until they have spent that (transfer_surpluses and
# ioc_refresh_vrate of block/blk-iocost.c). At 92 % of the device that takes five seconds, at 69 %
# less than one, in which the device is busy with what has piled up.
_SPENDING_RATIO = 0.75
# Of I/O beside the workloads', what the two readings differ by, and what is always left of it.
_NOISE_RATIO = 0.03
_LEFT_RATIO = 0.05


class WatchedDevice:
    """One device; `base` is the model of the stated capacity, None if it is not the agent's.

    Only a model that is the capacity may rise: what the device does can be compared with that.
    `written` is what an agent before this one has set instead of it.
    """

    def __init__(
        self,
        host_fs: HostFs,
        observed: IoObserved,
        *,
        base: Model | None,
        stated: float,
        written: float | None = None,
    ) -> None:
        self._host_fs = host_fs
        self._observed = observed
        self._base = base
        is_capacity = base is not None and observed.operators_model is None
        self._track = first_track(stated, may_rise=is_capacity)
        self._written = stated if written is None else written
        self._before: DiskCount | None = None
        self._troubled_since_s: float | None = None
        self._correction: CorrectedModel | None = None
        self._is_pressed = False
        self._grip = Grip()
        self._pile = Pile()
        self._total: float | None = None
        places = host_fs.read_or_none(f"{self._folder}/queue/nr_requests") or ""
        self._places = int(places) if places.strip().isdecimal() else None

    @property
    def capacity(self) -> float:
        """What iocost is told that the device can do."""
        return self._written

    def capacity_beside(self, own_total: float) -> float:
        """What is left of the capacity for groups that do so much now, beside all other I/O."""
        if self._total is None:
            return self._written
        foreign = self._total - own_total
        is_noise = foreign < _NOISE_RATIO * self._written
        return (
            self._written
            if is_noise
            else max(self._written - foreign, _LEFT_RATIO * self._written)
        )

    @property
    def model(self) -> Model | None:
        """The model that stands in the kernel, if it is another than that of the policy."""
        if self._base is None or self._written == self._track.stated:
            return None
        return self._base.scaled(self._written / self._track.stated)

    @property
    def is_pressed(self) -> bool:
        """Whether requests may pile up in the device; groups are counted only then."""
        return self._is_pressed

    @property
    def corrected(self) -> CorrectedModel | None:
        """That the device does less than the policy states; None where it is not known to."""
        if self._correction is None:
            return None
        return replace(self._correction, model=self._track.capacity)

    @property
    def no_grip(self) -> str | None:
        """Why weights have no effect although they are set."""
        if not self._grip.is_lost:
            return None
        return (
            f"shares have no effect: requests pile up in {self._observed.number}, and iocost has "
            f"held nobody back for {self._grip.lost_s:.0f} s; its model of the device is too "
            "high, so measure what the device does under full load, and state that"
        )

    def follow(
        self,
        executor: Executor,
        clock_s: Callable[[], float],
        *,
        unit: Unit,
        waited_ratio: float,
        active_groups: int,
        part: Part | None = None,
    ) -> None:
        """One period; writes another model if the present one is found wrong.

        Where other hosts use the device too, its part of what they can do together leads.
        """
        text = self._host_fs.read_or_none(f"{self._folder}/stat")
        now = None if text is None else disk_count(text, clock_s())
        before, self._before = self._before, now
        if now is None or before is None:
            return
        seen = look(
            before,
            now,
            unit=unit,
            places=self._places,
            active_groups=active_groups,
            waited_ratio=waited_ratio,
        )
        if seen is None:
            return
        self._total = seen.total
        self._is_pressed = seen.is_pressed
        self._grip = next_grip(self._grip, seen)
        if part is not None:
            self._follow_part(executor, seen, part)
            return
        former = self._track.capacity
        if self._observed.tracks_capacity:
            self._track = followed(self._track, seen)
            self._note_trouble(now.at_s, seen)
        if self._base is None:
            return
        ratio = self._drained(seen, (now.ios - before.ios) / seen.elapsed_s)
        self._write(executor, self._base, self._track.capacity * ratio)
        self._tell(former, now.at_s, unit, seen)

    def _follow_part(self, executor: Executor, seen: Look, part: Part) -> None:
        """The host's part, less what helps to drain what all hosts have piled up."""
        self._pile = Pile()
        self._correction = None
        if self._base is None:
            return
        latency_ms = 1000 * seen.queue / seen.total if seen.total > 0 else None
        ratio = (
            1.0
            if part.threshold_ms is None
            else drained_ratio(latency_ms, threshold_ms=part.threshold_ms, period_s=PERIOD_S)
        )
        self._write(executor, self._base, part.budget_iops * ratio, worth=_PART_WORTH_RATIO)

    def leave(self, executor: Executor, capacity: float) -> None:
        """A model of this capacity, if the model is the agent's own."""
        if self._base is not None:
            self._write(executor, self._base, capacity)

    @property
    def _folder(self) -> str:
        return f"/sys/dev/block/{self._observed.number}"

    def _drained(self, seen: Look, ios_per_s: float) -> float:
        """For this period the part of the capacity that lets drain what has piled up.

        On trial piling up is the answer; after a correction it drains once somebody waits.
        """
        is_corrected = self._track.drain_s > 0
        if holds_nobody(seen) or is_corrected or self._track.is_on_trial:
            self._pile = replace(self._pile, drained_periods=0)
            return _SPENDING_RATIO if is_corrected and has_no_hold(seen) else 1.0
        self._pile = next_pile(self._pile, queue=seen.queue)
        return model_ratio(self._pile, queue=seen.queue, ios_per_s=ios_per_s, period_s=PERIOD_S)

    def _write(
        self, executor: Executor, base: Model, capacity: float, *, worth: float = _WORTH_RATIO
    ) -> None:
        if abs(capacity / self._written - 1) < worth:
            return
        self._written = capacity
        model = self.model or base
        executor.adjust(device_controls.model_adjustment(model, self._observed), ())

    def _note_trouble(self, now_s: float, seen: Look) -> None:
        if self._track.trouble_s == 0 and self._track.drain_s == 0:
            self._troubled_since_s = None
        elif self._troubled_since_s is None:
            self._troubled_since_s = now_s - seen.elapsed_s

    def _tell(self, former: float, now_s: float, unit: Unit, seen: Look) -> None:
        """Note and log a correction; that something is drained is nothing to tell."""
        capacity = self._track.capacity
        if capacity >= self._track.stated:
            self._correction = None
        facts = {
            "device": self._observed.device,
            "stated": round(self._track.stated),
            "measured": round(seen.total),
            "model": round(capacity),
        }
        if capacity < former:
            after_s = round(now_s - (self._troubled_since_s or now_s), 1)
            log.info("model corrected", extra=facts | {"after_s": after_s})
            self._note_correction(unit, real=real_capacity(self._track, seen), after_s=after_s)
        elif former <= self._track.stated < capacity:
            log.info("model raised above what is stated", extra=facts)

    def _note_correction(self, unit: Unit, *, real: float, after_s: float) -> None:
        """The newest measurement counts, and how long the first correction took.

        A step upward that is taken back says nothing of what is stated.
        """
        if real > _STATED_RIGHT_RATIO * self._track.stated:
            return
        first = self._correction
        self._correction = CorrectedModel(
            device=self._observed.device,
            unit=unit,
            stated=self._track.stated,
            real=real,
            model=self._track.capacity,
            after_s=after_s if first is None else first.after_s,
        )
