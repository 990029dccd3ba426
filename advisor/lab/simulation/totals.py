"""What was counted over a span of simulated time, and the rates and means that follow."""

from dataclasses import dataclass, fields
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over `seconds`; what they are divided by decides what they mean.

    `latency_sum_s` runs from the workload's asking to the answer, `device_sum_s` only while the
    datastore had the I/O. `outstanding_s` is outstanding I/Os times seconds.
    """

    seconds: float = 0.0
    ios: float = 0.0
    io_bytes: float = 0.0
    latency_sum_s: float = 0.0
    device_sum_s: float = 0.0
    outstanding_s: float = 0.0
    transactions: float = 0.0
    transaction_sum_s: float = 0.0

    def __add__(self, other: Self) -> "Totals":
        """Both together, over the same time: two workloads, not two spans."""
        return Totals(
            seconds=max(self.seconds, other.seconds),
            **{name: getattr(self, name) + getattr(other, name) for name in _COUNTED},
        )

    def __sub__(self, earlier: Self) -> "Totals":
        """What was counted since an earlier reading of the same counters."""
        return Totals(
            **{
                field.name: getattr(self, field.name) - getattr(earlier, field.name)
                for field in fields(Totals)
            }
        )

    @property
    def iops(self) -> float:
        """I/Os per second."""
        return self._per_second(self.ios)

    @property
    def outstanding_io(self) -> float:
        """Mean outstanding I/Os, waiting in the host included."""
        return self._per_second(self.outstanding_s)

    @property
    def device_outstanding_io(self) -> float:
        """Mean outstanding I/Os at the datastore, by Little's law."""
        return self._per_second(self.device_sum_s)

    @property
    def transactions_per_s(self) -> float:
        """Transactions finished per second."""
        return self._per_second(self.transactions)

    @property
    def latency_ms(self) -> float | None:
        """Mean latency as the workload sees it; None where no I/O was done."""
        return 1000 * self.latency_sum_s / self.ios if self.ios else None

    @property
    def device_latency_ms(self) -> float | None:
        """Mean latency of the datastore; None where no I/O was done."""
        return 1000 * self.device_sum_s / self.ios if self.ios else None

    @property
    def mean_io_bytes(self) -> float | None:
        """Mean size; None where no I/O was done."""
        return self.io_bytes / self.ios if self.ios else None

    @property
    def transaction_ms(self) -> float | None:
        """Mean time of a transaction without thinking; None where none was finished."""
        return 1000 * self.transaction_sum_s / self.transactions if self.transactions else None

    def _per_second(self, amount: float) -> float:
        return amount / self.seconds if self.seconds else 0.0


_COUNTED = tuple(field.name for field in fields(Totals) if field.name != "seconds")


class Meter:
    """Counters of one workload; they only grow."""

    __slots__ = (
        "device_sum_s",
        "io_bytes",
        "ios",
        "latency_sum_s",
        "outstanding",
        "outstanding_s",
        "since",
        "transaction_sum_s",
        "transactions",
    )

    def __init__(self) -> None:
        self.ios = 0
        self.io_bytes = 0
        self.latency_sum_s = 0.0
        self.device_sum_s = 0.0
        self.transactions = 0
        self.transaction_sum_s = 0.0
        self.outstanding = 0
        self.outstanding_s = 0.0
        self.since = 0.0

    def begin_io(self, now: float) -> None:
        """One more I/O is outstanding."""
        self.outstanding_s += self.outstanding * (now - self.since)
        self.since = now
        self.outstanding += 1

    def end_io(self, now: float, asked_at: float, sent_at: float, io_bytes: int) -> None:
        """An I/O was answered."""
        self.outstanding_s += self.outstanding * (now - self.since)
        self.since = now
        self.outstanding -= 1
        self.ios += 1
        self.io_bytes += io_bytes
        self.latency_sum_s += now - asked_at
        self.device_sum_s += now - sent_at

    def end_transaction(self, now: float, began_at: float) -> None:
        """A transaction was finished."""
        self.transactions += 1
        self.transaction_sum_s += now - began_at

    def read(self, now: float) -> Totals:
        """Everything counted from the beginning until now."""
        return Totals(
            seconds=now,
            ios=self.ios,
            io_bytes=self.io_bytes,
            latency_sum_s=self.latency_sum_s,
            device_sum_s=self.device_sum_s,
            outstanding_s=self.outstanding_s + self.outstanding * (now - self.since),
            transactions=self.transactions,
            transaction_sum_s=self.transaction_sum_s,
        )
