"""Between the loop that follows devices, which must not wait, and the thread that asks."""

import threading
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from enforcers.exchange import DatastoreLoad, HostPart
from enforcers.limit_exchange import LimitsGranted, LimitUse

ToldT = TypeVar("ToldT")
HeardT = TypeVar("HeardT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter(Generic[ToldT]):
    """What is told of a datastore; the newest one has the highest number."""

    resource: str
    number: int
    told: ToldT


class Box(Generic[ToldT, HeardT]):
    """Holds the newest figures of each datastore, and the answer to these alone.

    Whoever puts or takes waits for nobody. Figures that nobody fetched in time give way to the
    next, and so does an answer to former ones.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: dict[str, Letter[ToldT]] = {}
        self._newest: dict[str, int] = {}
        self._answers: dict[str, HeardT] = {}
        self._count = 0
        self._is_closed = False

    def put(self, resource: str, told: ToldT) -> None:
        """Have these figures told."""
        with self._changed:
            self._count += 1
            self._newest[resource] = self._count
            self._waiting[resource] = Letter(resource=resource, number=self._count, told=told)
            self._answers.pop(resource, None)
            self._changed.notify()

    def take_answer(self, resource: str) -> HeardT | None:
        """The answer to the newest figures, once; None while there is none."""
        with self._changed:
            return self._answers.pop(resource, None)

    def fetch(self, timeout_s: float | None = None) -> tuple[Letter[ToldT], ...]:
        """All that is to be told, once there is any; nothing if it is closed or time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed, timeout_s)
            letters = () if self._is_closed else tuple(self._waiting.values())
            self._waiting.clear()
            return letters

    def answer(self, letter: Letter[ToldT], heard: HeardT) -> None:
        """Give the answer, unless newer figures were put since."""
        with self._changed:
            if self._newest.get(letter.resource) == letter.number:
                self._answers[letter.resource] = heard

    def close(self) -> None:
        """Let nobody wait any more."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    @property
    def is_closed(self) -> bool:
        """Whether nothing is told any more."""
        return self._is_closed


Loads = Box[HostPart, DatastoreLoad]
"""What hosts do on their datastores."""
Limits = Box[tuple[LimitUse, ...], LimitsGranted]
"""What hosts do under limits that they hold together."""


@dataclass(frozen=True, slots=True)
class Post:
    """All that is told, each kind in a box of its own: an answer to one delays no other."""

    loads: Loads = field(default_factory=Box)
    limits: Limits = field(default_factory=Box)
