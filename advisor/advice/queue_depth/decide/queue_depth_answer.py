"""What advice on queue depths is computed from, and what it says."""

from dataclasses import dataclass
from enum import StrEnum

from advisor.core.device.device_fit import LoadPoint
from advisor.core.explanation.explained import PredictedAnswer
from advisor.core.number_checks import check_amount, check_positive


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDepth:
    """The queue depth a host has for a datastore, and the shares of its active workloads."""

    host: str
    device_queue_depth: int
    shares: float = 1000.0

    def __post_init__(self) -> None:
        if self.device_queue_depth < 1:
            raise ValueError(
                f"device_queue_depth of {self.host} is {self.device_queue_depth}; "
                "it must be at least 1"
            )
        check_amount(f"shares of {self.host}", self.shares)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueDepthInputs:
    """All hosts of a datastore and how many commands its LUN takes; None means not set.

    `peak_outstanding_io` is the most that all hosts together had outstanding on average in one of
    `peak_windows` windows. `points` are the datastore's windows at several depths.
    """

    datastore: str
    lun_queue_depth: int | None
    hosts: tuple[HostDepth, ...]
    peak_outstanding_io: float | None = None
    peak_windows: int = 0
    points: tuple[LoadPoint, ...] = ()

    def __post_init__(self) -> None:
        check_positive("lun_queue_depth", self.lun_queue_depth)
        check_amount("peak_outstanding_io", self.peak_outstanding_io)
        if len({one.host for one in self.hosts}) < len(self.hosts):
            raise ValueError("two entries are of the same host")


class Bottleneck(StrEnum):
    """What bounds the commands that all hosts together should have outstanding."""

    LUN_QUEUE = "lun_queue"
    THROUGHPUT_FALLS = "throughput_falls"


class QueueDepthKind(StrEnum):
    """What has to change: depths alone, or also how many hosts share the LUN."""

    QUEUE_DEPTH = "queue_depth"
    HOSTS_PER_LUN = "hosts_per_lun"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvisedDepth:
    """The depth a host has and the one it should have."""

    host: str
    device_queue_depth: int
    advised_queue_depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueDepthAdvice(PredictedAnswer):
    """Depths that fit the LUN together.

    `hosts_per_lun` hosts at their present depths fit as well, whichever they are (0: one alone may
    be too deep), `most_hosts_per_lun` at the advised ones; `luns_needed` is above 1 where even the
    smallest useful depth does not fit for all.
    """

    kind: QueueDepthKind
    depths: tuple[AdvisedDepth, ...]
    configured: int
    target: int
    bottleneck: Bottleneck
    hosts_per_lun: int
    most_hosts_per_lun: int
    luns_needed: int
