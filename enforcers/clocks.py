"""The host's clocks, and one moment as all of them show it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from enforcers.host_fs import HostFs

BOOT_ID = "/proc/sys/kernel/random/boot_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The time of day, which somebody may set, and the seconds since boot, which nobody can."""

    now: datetime
    boot_id: str
    boot_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """Time of day, time since boot for leases, and a clock without suspension for rates."""

    boot_id: str
    now: Callable[[], datetime]
    boot_s: Callable[[], float]
    monotonic_s: Callable[[], float]

    def moment(self) -> Moment:
        """What the clocks show."""
        return Moment(now=self.now(), boot_id=self.boot_id, boot_s=self.boot_s())


def clocks_of(host_fs: HostFs) -> Clocks:
    """The clocks of this host. CLOCK_BOOTTIME goes on while the host sleeps (clock_gettime(2))."""
    return Clocks(
        boot_id=(host_fs.read_or_none(BOOT_ID) or "unknown").strip(),
        now=lambda: datetime.now(UTC),
        boot_s=lambda: time.clock_gettime(time.CLOCK_BOOTTIME),
        monotonic_s=time.monotonic,
    )
