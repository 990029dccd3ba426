"""What placement of virtual disks over datastores is computed from."""

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from advisor.advice.placement.decide.device_line import SeenModel
from advisor.core.device.device_model import DeviceLine
from advisor.core.number_checks import check_amount, check_aware, check_positive, check_ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class DatastoreState:
    """A datastore with its device line, latency = intercept + slope · outstanding.

    `seen_model` gives the line for a mix of I/Os where it was fitted well enough, and `model_gap`
    says why it was not. Without both (`line_gap` says why there is no line) nothing is moved to
    or from it. `other_outstanding_io` is load that
    belongs to no virtual disk listed. Datastores with the same `disks` lie on the same spindles.
    An `auto_tiered` array moves data by itself, so its line says little about the next datum.
    """

    datastore: str
    intercept_ms: float | None
    slope_ms: float | None
    capacity_bytes: float
    used_bytes: float
    copy_bytes_per_s: float
    other_outstanding_io: float = 0.0
    other_iops: float = 0.0
    disks: str = ""
    auto_tiered: bool = False
    seen_model: SeenModel | None = None
    model_gap: str = ""
    line_gap: str = ""

    def __post_init__(self) -> None:
        check_positive(f"intercept_ms of {self.datastore}", self.intercept_ms)
        check_positive(f"slope_ms of {self.datastore}", self.slope_ms)
        check_positive(f"capacity_bytes of {self.datastore}", self.capacity_bytes)
        check_amount(f"used_bytes of {self.datastore}", self.used_bytes)
        check_positive(f"copy_bytes_per_s of {self.datastore}", self.copy_bytes_per_s)
        check_amount(f"other_outstanding_io of {self.datastore}", self.other_outstanding_io)
        check_amount(f"other_iops of {self.datastore}", self.other_iops)

    @property
    def is_known(self) -> bool:
        """Whether latency can be predicted for some I/Os at least."""
        return self.seen_model is not None or self.fitted_line is not None

    @property
    def fitted_line(self) -> DeviceLine | None:
        """The one line for all I/Os; None where none was fitted."""
        if self.intercept_ms is None or self.slope_ms is None:
            return None
        return DeviceLine(intercept_ms=self.intercept_ms, slope_ms=self.slope_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class VdiskState:
    """A virtual disk and its load: 90th percentiles over the time that is looked at."""

    vdisk: str
    workload: str
    datastore: str
    size_bytes: float
    outstanding_io: float
    iops: float
    mean_io_bytes: float = 8000.0
    read_ratio: float = 0.5
    random_ratio: float = 1.0
    moved_at: datetime | None = None
    movable: bool = True

    def __post_init__(self) -> None:
        check_amount(f"size_bytes of {self.vdisk}", self.size_bytes)
        check_amount(f"outstanding_io of {self.vdisk}", self.outstanding_io)
        check_amount(f"iops of {self.vdisk}", self.iops)
        check_amount(f"mean_io_bytes of {self.vdisk}", self.mean_io_bytes)
        check_ratio(f"read_ratio of {self.vdisk}", self.read_ratio)
        check_ratio(f"random_ratio of {self.vdisk}", self.random_ratio)
        if self.moved_at is not None:
            check_aware(f"moved_at of {self.vdisk}", self.moved_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRules:
    """Groups of virtual disks to keep together or apart, and of workloads to keep apart."""

    vdisks_together: tuple[tuple[str, ...], ...] = ()
    vdisks_apart: tuple[tuple[str, ...], ...] = ()
    workloads_apart: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementInputs:
    """Datastores, virtual disks, rules, and what a move has to achieve.

    A datastore needs help from `threshold_ms` on, which like all latencies here is that of I/Os of
    the size they have; loads count as uneven from `imbalance_ratio` on. A move must better the
    latency of all I/Os it touches by `improvement_ratio`, and pay for its copying within
    `horizon_s`. `samples` is the number of windows behind the loads.
    A datastore may be filled to `space_ratio`, and while something is copied to `staging_ratio`.
    """

    datastores: tuple[DatastoreState, ...]
    vdisks: tuple[VdiskState, ...]
    now: datetime
    rules: PlacementRules = PlacementRules()
    threshold_ms: float = 15.0
    imbalance_ratio: float = 0.05
    improvement_ratio: float = 0.05
    space_ratio: float = 0.8
    staging_ratio: float = 0.95
    horizon_s: float = 8 * 3600.0
    cooldown_s: float = 24 * 3600.0
    copy_outstanding_io: float = 8.0
    most_moves: int = 3
    samples: int = 0

    def __post_init__(self) -> None:
        check_aware("now", self.now)
        check_amount("threshold_ms", self.threshold_ms)
        for name in ("imbalance_ratio", "horizon_s", "cooldown_s", "copy_outstanding_io"):
            check_amount(name, getattr(self, name))
        check_ratio("improvement_ratio", self.improvement_ratio)
        check_ratio("space_ratio", self.space_ratio)
        check_ratio("staging_ratio", self.staging_ratio)
        _check_names("datastore", [one.datastore for one in self.datastores])
        _check_names("vdisk", [one.vdisk for one in self.vdisks])
        known = {one.datastore for one in self.datastores}
        for one in self.vdisks:
            if one.datastore not in known:
                raise ValueError(f'vdisk "{one.vdisk}": no datastore "{one.datastore}" is given')


def _check_names(kind: str, names: list[str]) -> None:
    twice = [one for one, other in pairwise(sorted(names)) if one == other]
    if twice:
        raise ValueError(f'{kind} "{twice[0]}" is given twice')
