"""Groups that rules unite: an equivalence relation, with the reason of each merge and refusal."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from ingest.core.identity.facts import Place

STATED = "stated"
"""The rule of what a person states, which wins over every other."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Reason:
    """Why places are one thing, or why they are not although a rule could unite them."""

    rule: str
    text: str
    places: tuple[Place, ...]
    merged: bool


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Statement:
    """What a person states of two places: that they are one thing, or that they are not."""

    one: Place
    other: Place
    same: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What people state; `owners` are the things that they described, each with its places.

    The places of one thing are one, and those of two things are not, whatever else says so.
    """

    statements: tuple[Statement, ...] = ()
    owners: Mapping[Place, str] = field(default_factory=dict)


NOTHING_STATED = Stated()


class Member(Protocol):
    """What is known of one place."""

    @property
    def place(self) -> Place: ...


MemberT = TypeVar("MemberT", bound=Member)
OneT = TypeVar("OneT", bound=Hashable)


class UnionFind(Generic[OneT]):
    """Sets that are united two by two; each is known by its smallest member."""

    def __init__(self) -> None:
        self._parents: dict[OneT, OneT] = {}

    def root(self, one: OneT) -> OneT:
        """The member by which the set of `one` is known."""
        parents = self._parents
        found = one
        while (parent := parents.get(found, found)) != found:
            found = parent
        while (parent := parents.get(one, one)) != found:
            parents[one], one = found, parent
        return found

    def unite(self, one: OneT, other: OneT) -> None:
        """Make one set of both."""
        first, second = sorted((self.root(one), self.root(other)))  # type: ignore[type-var]
        self._parents[second] = first


@dataclass(slots=True)
class Grouping(Generic[MemberT]):
    """Members, the groups they are in so far, and why.

    Every merge asks `contradiction` whether all members of both groups can be one thing, so that
    no chain of merges unites what one of them could not.
    """

    members: dict[Place, MemberT]
    contradiction: Callable[[Sequence[MemberT]], str | None]
    stated: Stated = NOTHING_STATED
    reasons: list[Reason] = field(default_factory=list)
    _groups: dict[Place, list[Place]] = field(default_factory=dict)
    _roots: UnionFind[Place] = field(default_factory=UnionFind)
    _apart: dict[Place, set[Place]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Unite what a person states to be one thing, whatever contradicts it."""
        for one in sorted(self.stated.statements):
            if not one.same:
                self._apart.setdefault(one.one, set()).add(one.other)
                self._apart.setdefault(one.other, set()).add(one.one)
            elif one.one in self.members and one.other in self.members:
                text = f"it is stated that {one.one} and {one.other} are one"
                self._unite([one.one, one.other], STATED, text)
        owned: dict[str, list[Place]] = {}
        for place, owner in sorted(self.stated.owners.items()):
            if place in self.members:
                owned.setdefault(owner, []).append(place)
        for owner, places in owned.items():
            if len(places) > 1:
                self._unite(places, STATED, f"it is stated that they are {owner}")

    def group(self, place: Place) -> list[Place]:
        """All places that are one thing with this one."""
        return self._groups.get(self._roots.root(place), [place])

    def first(self, place: Place) -> Place:
        """The first place of its group, by which that is known."""
        return self._roots.root(place)

    def groups(self) -> list[list[Place]]:
        """All groups, each sorted, in the order of their first places."""
        roots = {self._roots.root(place) for place in self.members}
        return [sorted(self.group(root)) for root in sorted(roots)]

    def merge(self, rule: str, places: Sequence[Place], text: str) -> bool:
        """Unite these places, if nothing contradicts it; False notes why not."""
        roots = {self._roots.root(place) for place in places}
        if len(places) < 2:
            return True
        if len(roots) > 1:
            whole = sorted(place for root in roots for place in self.group(root))
            why = self._why_apart(whole) or self.contradiction(
                [self.members[place] for place in whole]
            )
            if why is not None:
                self.refuse(rule, places, f"{text}, but {why}")
                return False
        self._unite(places, rule, text)
        return True

    def refuse(self, rule: str, places: Iterable[Place], text: str) -> None:
        """Note why these places are not united by a rule."""
        self._note(rule, text, places, merged=False)

    def note_members(self, rule: str, places: Iterable[Place], text: str) -> None:
        """Note of what a member consists."""
        self._note(rule, text, places, merged=True)

    def _why_apart(self, places: Sequence[Place]) -> str | None:
        whole = set(places)
        for place in places:
            for other in sorted(self._apart.get(place, set()) & whole):
                return f"it is stated that {place} and {other} are not one"
        owners = sorted(
            {self.stated.owners[place] for place in places if place in self.stated.owners}
        )
        if len(owners) > 1:
            return f"it is stated that they are {' and '.join(owners)}"
        return None

    def _unite(self, places: Sequence[Place], rule: str, text: str) -> None:
        roots = sorted({self._roots.root(place) for place in places})
        whole = [place for root in roots for place in self.group(root)]
        for root in roots:
            self._groups.pop(root, None)
            self._roots.unite(roots[0], root)
        self._groups[self._roots.root(roots[0])] = whole
        self._note(rule, text, places, merged=True)

    def _note(self, rule: str, text: str, places: Iterable[Place], *, merged: bool) -> None:
        self.reasons.append(
            Reason(rule=rule, text=text, places=tuple(sorted(set(places))), merged=merged)
        )

    def reasons_by_place(self) -> dict[Place, list[Reason]]:
        """What was noted about each place; a reason that several have is one object."""
        found: dict[Place, list[Reason]] = {}
        for reason in sorted(set(self.reasons)):
            for place in reason.places:
                found.setdefault(place, []).append(reason)
        return found


def differing(values: Iterable[tuple[Place, OneT | None]]) -> tuple[Place, Place] | None:
    """The first two places whose values are known and differ."""
    first: tuple[Place, OneT] | None = None
    for place, value in values:
        if value is None:
            continue
        if first is None:
            first = (place, value)
        elif value != first[1]:
            return first[0], place
    return None


def by_key(
    members: Iterable[MemberT], key: Callable[[MemberT], OneT | None]
) -> list[tuple[OneT, list[MemberT]]]:
    """Members with the same key, in the order of keys; None has no key."""
    found: dict[OneT, list[MemberT]] = {}
    for member in sorted(members, key=lambda one: one.place):
        own = key(member)
        if own is not None:
            found.setdefault(own, []).append(member)
    return sorted(found.items(), key=lambda item: item[0])  # type: ignore[arg-type,return-value]
