"""What goes wrong in a scenario, and when: all of it follows from the seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random


class Kind(StrEnum):
    """What goes wrong."""

    KILL = "kill"
    STOP = "stop"
    PARTITION = "partition"
    FULL_DISK = "full disk"
    SLOW_DISK = "slow disk"
    FAILING_DISK = "failing disk"
    NO_MEMORY = "no memory"
    CLOCK = "clock"
    RESET = "reset"
    POWER = "power"


class Part(StrEnum):
    """A kind of process of the product."""

    WEB = "web"
    WEB_WORKER = "web worker"
    SIGNER = "signer"
    WORKER = "worker"
    TASK = "task process"
    SCHEDULER = "scheduler"
    QUEUE = "valkey"
    POSTMASTER = "postmaster"
    BACKEND = "backend"
    AUXILIARY = "auxiliary process"
    KEEPER = "backup keeper"
    FORK_SERVER = "fork server"


class Cut(StrEnum):
    """Two parts that no longer hear each other.

    Over TCP packets are dropped. Behind the database's socket each web server and worker speaks to
    a process of its own, and those of one side are stopped. Of valkey and the signer there is one
    process, which is stopped: nobody hears it.
    """

    SENDER_WEB = "sender | web"
    AGENT_WEB = "agent | web"
    SUPERVISOR_WEB = "supervisor | web"
    WEB_DATABASE = "web | database"
    WORKERS_DATABASE = "workers | database"
    KEEPER_DATABASE = "backup keeper, supervisor | database"
    ALL_QUEUE = "all | valkey"
    WEB_SIGNER = "web | signer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that goes wrong, `at_s` after the begin, and is over after `lasts_s`.

    `target` is a part or a cut; `draw`, from 0 to 1, tells which of several processes it is.
    `amount` is in the kind's own unit: seconds that each flush of the disk takes or that the clock
    is moved by, bytes that stay free, or calls that fail.
    """

    kind: Kind
    at_s: float
    target: str = ""
    lasts_s: float = 0.0
    amount: float = 0.0
    draw: float = 0.0

    def __str__(self) -> str:
        words = [f"{self.kind} at {self.at_s:.1f} s", self.target]
        words += [f"for {self.lasts_s:.1f} s" if self.lasts_s else ""]
        words += [f"({self.amount:g})" if self.amount else ""]
        return " ".join(word for word in words if word)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The faults of a seed, by their begin."""

    seed: int
    faults: tuple[Fault, ...]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What goes wrong, each kind once, in the order in which they begin."""
        return tuple(dict.fromkeys(fault.kind for fault in self.faults))

    @property
    def words(self) -> str:
        """All of it for a person."""
        return "; ".join(map(str, self.faults))


ROUND: tuple[tuple[Kind, ...], ...] = (
    (Kind.KILL, Kind.KILL),
    (Kind.KILL, Kind.KILL, Kind.KILL),
    (Kind.STOP,),
    (Kind.PARTITION,),
    (Kind.KILL, Kind.KILL),
    (Kind.FULL_DISK,),
    (Kind.SLOW_DISK, Kind.KILL),
    (Kind.FAILING_DISK,),
    (Kind.NO_MEMORY,),
    (Kind.CLOCK,),
    (Kind.RESET,),
    (Kind.POWER,),
    (Kind.KILL, Kind.KILL, Kind.KILL),
    (Kind.KILL, Kind.KILL),
    (Kind.PARTITION, Kind.KILL),
    (Kind.KILL, Kind.KILL, Kind.KILL),
    (Kind.STOP, Kind.KILL),
    (Kind.KILL, Kind.KILL),
    (Kind.KILL, Kind.KILL, Kind.KILL),
    (Kind.KILL, Kind.KILL),
)
"""Seed after seed, so that each round of them has everything; the first twelve have it too."""
LONGEST_GAP_S = 3.0
_PARTS = (
    (Part.WEB, 2), (Part.WEB_WORKER, 4), (Part.SIGNER, 1), (Part.WORKER, 4), (Part.TASK, 4),
    (Part.SCHEDULER, 2), (Part.QUEUE, 2), (Part.POSTMASTER, 3), (Part.BACKEND, 4),
    (Part.AUXILIARY, 3), (Part.KEEPER, 1), (Part.FORK_SERVER, 2),
)  # fmt: skip
_HUNGRY = (Part.WEB_WORKER, Part.TASK, Part.WORKER, Part.BACKEND, Part.QUEUE, Part.POSTMASTER)
_STOPPED = (Part.WEB_WORKER, Part.SIGNER, Part.WORKER, Part.TASK, Part.SCHEDULER, Part.QUEUE,
            Part.BACKEND, Part.AUXILIARY, Part.FORK_SERVER)  # fmt: skip
_CLOCK_MOVES_S = (-3600.0, -90.0, -5.0, 5.0, 90.0, 3600.0)
_LEFT_BYTES = (0.0, 64.0 * 2**20)


def schedule(seed: int) -> Schedule:
    """The faults of a seed, which counts from 1; the same each time."""
    random = Random(seed)
    kinds = ROUND[(seed - 1) % len(ROUND)]
    # A round has two of them, the second after its middle: each cut has its turn.
    cut = list(Cut)[2 * seed // len(ROUND) % len(Cut)]
    return Schedule(seed=seed, faults=tuple(_faults(kinds, cut, random)))


def _faults(kinds: tuple[Kind, ...], cut: Cut, random: Random) -> Iterator[Fault]:
    killed = iter(_parts(random, kinds.count(Kind.KILL)))
    at_s = 0.0
    for kind in kinds:
        fault = _fault(kind, at_s, random, killed)
        yield replace(fault, target=cut) if kind is Kind.PARTITION else fault
        at_s += random.uniform(0.0, LONGEST_GAP_S)


def _parts(random: Random, count: int) -> list[Part]:
    """So many different ones, by their weights."""
    found: list[Part] = []
    while len(found) < count:
        parts, weights = zip(*(one for one in _PARTS if one[0] not in found), strict=True)
        found += random.choices(parts, weights)
    return found


def _fault(kind: Kind, at_s: float, random: Random, killed: Iterator[Part]) -> Fault:
    target, lasts_s, amount = "", 0.0, 0.0
    match kind:
        case Kind.KILL:
            target = next(killed)
        case Kind.STOP:
            target, lasts_s = random.choice(_STOPPED), random.uniform(5.0, 10.0)
        case Kind.PARTITION:
            lasts_s = random.uniform(3.0, 8.0)
        case Kind.FULL_DISK:
            amount, lasts_s = random.choice(_LEFT_BYTES), random.uniform(3.0, 6.0)
        case Kind.SLOW_DISK:
            amount, lasts_s = random.uniform(0.2, 1.5), random.uniform(3.0, 6.0)
        case Kind.FAILING_DISK:
            amount, lasts_s = float(random.randint(1, 4)), 2.0
        case Kind.NO_MEMORY:
            target, lasts_s = random.choice(_HUNGRY), random.uniform(3.0, 6.0)
        case Kind.CLOCK:
            amount, lasts_s = random.choice(_CLOCK_MOVES_S), random.uniform(3.0, 6.0)
        case Kind.RESET | Kind.POWER:
            pass
    return Fault(
        kind=kind, at_s=at_s, target=target, lasts_s=lasts_s, amount=amount, draw=random.random()
    )
