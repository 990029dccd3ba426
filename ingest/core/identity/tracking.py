"""Which of the things that are known a thing is that is found now.

Some keys are a thing's own for ever: a WWN, a UUID, the id of a container. Others are a slot that
another thing may take later: a device name, a vmid, a name. Own keys decide; a slot only tells
where nothing says that another thing is in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

OWN_KEYS = frozenset(
    {"wwn", "nguid", "rbd", "vmfs", "datastore", "serial", "uuid", "container", "nfs", "smb"}
)
"""Kinds of key, before the colon, that belong to one thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A thing as it is remembered, or as it is found.

    `number` is the number of the row of one that is remembered, or the place in the list of those
    found. `name`, which a collector stated, and `pid` tell whether a slot was used again. What a
    person `stated` is never given up for another.
    """

    number: int
    keys: tuple[str, ...]
    hosts: frozenset[str] = frozenset()
    name: str | None = None
    pid: str | None = None
    stated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracked:
    """`known` has the number of the row of each thing found again; others found are new.

    `absorbed` are rows that turned out to be one with another: by their number, the thing found;
    `united` are those of them of which a person stated something. `vanished` are the rows that
    nothing found is, and those of which a person stated something.
    """

    known: Mapping[int, int]
    absorbed: Mapping[int, int]
    united: Mapping[int, int]
    vanished: frozenset[int]


def track(remembered: Sequence[Known], found: Sequence[Known]) -> Tracked:
    """Find remembered things again; the order of either makes no difference but for numbers."""
    matched: dict[int, int] = {}
    taken: dict[int, int] = {}
    for pairs in (_own_pairs(remembered, found), _slot_pairs(remembered, found)):
        for _, one, before in sorted(pairs, key=lambda pair: _order(*pair)):
            if before.number in taken:
                continue
            if one.number not in matched:
                matched[one.number] = before.number
                taken[before.number] = one.number
    absorbed: dict[int, int] = {}
    united: dict[int, int] = {}
    for pairs in (_own_pairs(remembered, found), _slot_pairs(remembered, found)):
        for _, one, before in sorted(pairs, key=lambda pair: _order(*pair)):
            if before.number not in taken:
                (united if before.stated else absorbed).setdefault(before.number, one.number)
    return Tracked(
        known=matched,
        absorbed=absorbed,
        united=united,
        vanished=frozenset(one.number for one in remembered) - taken.keys() - absorbed.keys(),
    )


_Pair = tuple[int, Known, Known]
"""How sure the key is that both have (0 the most), what is found, what is remembered."""


def _order(rank: int, found: Known, before: Known) -> tuple[bool, int, int, tuple[str, ...]]:
    """What a person stated first, then by the surest key what is known for longest."""
    return not before.stated, rank, before.number, found.keys


def _own_pairs(remembered: Sequence[Known], found: Sequence[Known]) -> list[_Pair]:
    pairs = _pairs(remembered, found, own=True)
    return [pair for pair in pairs if not _is_copy(pair[2], pair[1], rank=pair[0])]


def _is_copy(before: Known, now: Known, *, rank: int) -> bool:
    """Whether a thing has another's number: a copied VM, which has another name elsewhere."""
    known_copied = "@" in now.keys[rank]
    return (known_copied or not before.hosts & now.hosts) and _renamed(before, now)


def _slot_pairs(remembered: Sequence[Known], found: Sequence[Known]) -> list[_Pair]:
    pairs = _pairs(remembered, found, own=False)
    return [pair for pair in pairs if why_another(pair[2], pair[1]) is None]


def _pairs(remembered: Sequence[Known], found: Sequence[Known], *, own: bool) -> list[_Pair]:
    by_key: dict[str, list[Known]] = defaultdict(list)
    for before in remembered:
        for key in before.keys:
            by_key[key].append(before)
    return [
        (rank, one, before)
        for one in found
        for rank, key in enumerate(one.keys)
        if (_kind(key) in OWN_KEYS) is own
        for before in by_key.get(key, ())
    ]


def why_another(before: Known, now: Known) -> str | None:
    """Why what is in a slot now is another thing than before; None if nothing says so."""
    numbers, own = _own_numbers(before.keys), _own_numbers(now.keys)
    shared = False
    for kind in sorted(numbers.keys() & own.keys()):
        if not any(_same_number(one, two) for one in numbers[kind] for two in own[kind]):
            return f"its {kind} is another"
        shared = True
    if shared or not _renamed(before, now):
        return None
    return f"it was called {before.name}, and another process runs as {now.name}"


def _renamed(before: Known, now: Known) -> bool:
    """Whether collectors state another name than before, and not of the same process."""
    if before.name is None or now.name is None:
        return False
    if before.pid is not None and before.pid == now.pid:
        return False
    return before.name.strip().casefold() != now.name.strip().casefold()


def _own_numbers(keys: Iterable[str]) -> dict[str, set[tuple[str, str]]]:
    """Own numbers by kind, wherever they were said to hold; each with its size, if it has one."""
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for key in keys:
        kind, _, number = key.partition(":")
        if kind in OWN_KEYS:
            plain, _, size = number.partition("+")
            found[kind].add((plain.partition("@")[0], size))
    return dict(found)


def _same_number(one: tuple[str, str], other: tuple[str, str]) -> bool:
    return one[0] == other[0] and ("" in (one[1], other[1]) or one[1] == other[1])


def _kind(key: str) -> str:
    return key.partition(":")[0]
