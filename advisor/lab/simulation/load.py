"""What a simulated workload does: fio-like steady I/O, or clients that think between orders."""

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import inf

from advisor.core.allocation import Allocation
from advisor.core.number_checks import check_amount, check_positive

MOST_AT_ONCE = 1_000_000
"""Most I/Os, clients or servers of one kind: each is an object while the simulation runs."""


def check_count(name: str, value: float) -> None:
    """Refuse anything but a whole number that can be simulated."""
    if not 1 <= value <= MOST_AT_ONCE or value != int(value):
        raise ValueError(
            f"{name} is {value!r}; it must be a whole number from 1 to {MOST_AT_ONCE:,}"
        )


class Access(StrEnum):
    """The I/O patterns of the experiments."""

    SEQUENTIAL_READ = "sequential read"
    SEQUENTIAL_WRITE = "sequential write"
    RANDOM_READ = "random read"
    RANDOM_WRITE = "random write"

    @property
    def is_write(self) -> bool:
        """Whether it writes."""
        return self in {Access.SEQUENTIAL_WRITE, Access.RANDOM_WRITE}

    @property
    def is_sequential_read(self) -> bool:
        """Whether an array can read ahead of it."""
        return self is Access.SEQUENTIAL_READ

    @property
    def is_sequential_write(self) -> bool:
        """Whether a write cache can write it back in one piece."""
        return self is Access.SEQUENTIAL_WRITE


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyIo:
    """A fixed number of outstanding I/Os of one size, as from fio and Iometer."""

    outstanding_io: int
    io_bytes: int
    access: Access = Access.RANDOM_READ

    def __post_init__(self) -> None:
        check_count("outstanding_io", self.outstanding_io)
        check_positive("io_bytes", self.io_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transactions:
    """Clients that think, then do one transaction of several I/Os, one after the other.

    The time to think is exponential with mean `think_s`. Each transaction has the whole number
    of I/Os below or above `ios_per_transaction`, which is the mean.
    """

    clients: int
    think_s: float
    ios_per_transaction: float
    io_bytes: int
    access: Access = Access.RANDOM_READ

    def __post_init__(self) -> None:
        check_count("clients", self.clients)
        check_amount("think_s", self.think_s)
        check_positive("io_bytes", self.io_bytes)
        if not 1 <= self.ios_per_transaction <= MOST_AT_ONCE:
            raise ValueError(
                f"ios_per_transaction is {self.ios_per_transaction!r}; it must be a number from "
                f"1 to {MOST_AT_ONCE:,}"
            )


Load = SteadyIo | Transactions

ALWAYS = ((0.0, inf),)
DEFAULT_ALLOCATION = Allocation(shares=1000.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedWorkload:
    """A workload on a host: its load, its allocation on the datastore in IOPS, and when it is
    active.

    `active` holds spans of simulated time, in order and without overlap.
    """

    name: str
    host: str
    load: Load
    allocation: Allocation = DEFAULT_ALLOCATION
    active: tuple[tuple[float, float], ...] = ALWAYS

    def __post_init__(self) -> None:
        edges = [edge for span in self.active for edge in span]
        rising = all(low < high for low, high in pairwise(edges))
        if not edges or not edges[0] >= 0 or not rising:
            raise ValueError(f"{self.name}: active is {self.active!r}; spans must follow in time")
