"""Facts by the place that they are about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from ingest.core.mapping import Fact


class Kind(StrEnum):
    """What a fact is about."""

    DEVICE = "device"
    WORKLOAD = "workload"
    NIC = "nic"
    MOUNT = "mount"
    HOST = "host"


class Place(NamedTuple):
    """Where a thing is seen: a subject of a host. The subject of a host itself is empty."""

    host: str
    kind: str
    subject: str

    def __str__(self) -> str:
        return f"{self.host}:{self.subject}" if self.subject else self.host


def _no_values() -> defaultdict[Place, dict[str, set[str]]]:
    return defaultdict(dict)


@dataclass(slots=True)
class Facts:
    """Facts by what they are about; the order in which they came makes no difference.

    `seen` are places that send samples, whether facts are known of them or not; None if every
    place does.
    """

    seen: frozenset[Place] | None = None
    _values: dict[Place, dict[str, set[str]]] = field(default_factory=_no_values)

    @classmethod
    def of(cls, facts: Iterable[Fact], seen: Iterable[Place] | None = None) -> Facts:
        """These facts, of these places with samples."""
        known = cls(seen=None if seen is None else frozenset(seen))
        for one in facts:
            about = known._values[Place(one.host, one.kind, one.subject)]
            about.setdefault(one.name, set()).add(one.value)
        for place in known.seen or ():
            known._values[place]  # makes the empty entry
        return known

    def is_seen(self, place: Place) -> bool:
        """Whether this place sends samples."""
        return self.seen is None or place in self.seen

    def places(self, kind: Kind) -> list[Place]:
        """All places of this kind, sorted."""
        return sorted(place for place in self._values if place.kind == kind)

    def values(self, place: Place, name: str) -> tuple[str, ...]:
        """All values of one name, sorted; empty without any."""
        about = self._values.get(place)
        return tuple(sorted(about.get(name, ()))) if about else ()

    def value(self, place: Place, name: str) -> str | None:
        """The value of one name; None if none is known, or several that differ."""
        found = self.values(place, name)
        return found[0] if len(found) == 1 else None

    def named(self, place: Place, prefix: str) -> dict[str, tuple[str, ...]]:
        """The values of names that begin so, by what follows."""
        about = self._values.get(place, {})
        return {
            name.removeprefix(prefix): tuple(sorted(about[name]))
            for name in sorted(about)
            if name.startswith(prefix)
        }

    def hosts(self) -> list[str]:
        """All hosts of which anything is known, sorted."""
        return sorted({place.host for place in self._values})
