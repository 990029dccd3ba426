"""When a policy held ends. Pure.

In the boot in which a lease was taken, the time since boot alone decides: a clock that is set
neither stretches nor cuts it. After a reboot only the time of day is left to go by, and the
lease becomes one of that boot at once, never longer than the document's own length.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from enforcers.clocks import Moment
from enforcers.contract import ContractError, PolicyDocument

# As much as the clocks of host and service may differ.
CLOCK_TOLERANCE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The end by the time of day, and the same end in seconds since one boot."""

    ends_at: datetime
    boot_id: str
    ends_at_boot_s: float

    def is_over(self, moment: Moment) -> bool:
        """Whether it has ended."""
        if moment.boot_id == self.boot_id:
            return moment.boot_s >= self.ends_at_boot_s
        return moment.now >= self.ends_at


def begin(ends_at: datetime, moment: Moment) -> Lease:
    """The lease that ends at a time of day, as the clock stands now."""
    left_s = (ends_at - moment.now).total_seconds()
    return Lease(ends_at=ends_at, boot_id=moment.boot_id, ends_at_boot_s=moment.boot_s + left_s)


def taken_over(lease: Lease, document: PolicyDocument, moment: Moment) -> Lease:
    """The lease as a process that starts goes on with it: one of the present boot.

    It is over if it was taken in another boot and the clock shows a time before the document:
    what is left of it cannot be known.
    """
    if lease.boot_id == moment.boot_id:
        left_s = lease.ends_at_boot_s - moment.boot_s
    elif moment.now < document.issued_at - CLOCK_TOLERANCE:
        left_s = 0.0
    else:
        left_s = (lease.ends_at - moment.now).total_seconds()
    longest_s = (document.expires_at - document.issued_at).total_seconds()
    ends_at_boot_s = moment.boot_s + min(left_s, longest_s)
    return replace(lease, boot_id=moment.boot_id, ends_at_boot_s=ends_at_boot_s)


def check_lease(document: PolicyDocument, ends_at: datetime) -> None:
    """Refuse a lease that outlives its document, before it is kept and after it is read."""
    if ends_at > document.expires_at:
        raise ContractError("$.lease.ends_at", "must not be after the document's expires_at")
