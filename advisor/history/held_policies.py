"""Which version of a resource's policy each host has, where a newer one is still rolled out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from advisor.models import Policy, Resource, RolloutHost

WITH_ROLLOUT = ("resource", "rollout__former__resource")
"""What is read with a version, so that it is known which hosts have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """A version that only some hosts were given; all others keep the former one, None is none."""

    hosts: frozenset[int]
    former: Policy | None

    def kept_text(self, host_name: str) -> str:
        """Why a host beyond the present stage does not have it."""
        if self.former is None:
            return f"{host_name} gets it in a later stage"
        return f"{host_name} keeps version {self.former.version} until a later stage"


def partial_rollouts(policies: Collection[Policy]) -> dict[int, Partial]:
    """Those of these versions, by key, that are not given to all hosts yet.

    Whoever has many reads them `WITH_ROLLOUT`, so that each costs no statement of its own.
    """
    rollouts = [getattr(policy, "rollout", None) for policy in policies]
    partial = [one for one in rollouts if one is not None and one.is_partial]
    hosts: dict[int, set[int]] = defaultdict(set)
    given = RolloutHost.objects.filter(rollout__in=partial, released_at__isnull=False)
    for rollout, host in given.values_list("rollout_id", "host_id") if partial else ():
        hosts[rollout].add(host)
    return {
        row.policy_id: Partial(hosts=frozenset(hosts[row.pk]), former=row.former)
        for row in partial
    }


class Versions:
    """The versions that hosts are to have; each is read once, however many hosts are asked for."""

    def __init__(self) -> None:
        self._newest: dict[int, Policy | None] = {}
        self._given: dict[int, frozenset[int]] = {}

    def of_host(self, resource: Resource, host: int) -> Policy | None:
        """The version that a host is to have; None is none."""
        if resource.pk not in self._newest:
            rows = resource.policies.select_related(*WITH_ROLLOUT).order_by("-version")
            self._newest[resource.pk] = rows.first()
        newest = self._newest[resource.pk]
        rollout = getattr(newest, "rollout", None)
        if newest is None or rollout is None or not rollout.is_partial:
            return newest
        if rollout.pk not in self._given:
            given = RolloutHost.objects.filter(rollout=rollout, released_at__isnull=False)
            self._given[rollout.pk] = frozenset(given.values_list("host_id", flat=True))
        return newest if host in self._given[rollout.pk] else rollout.former


def granted_items(policy: Policy | None, hosts: Mapping[int, int]) -> dict[int, dict[str, Any]]:
    """What each allocation has by the version of its host, with that version's number.

    `policy` is the newest version, `hosts` the host of each allocation.
    """
    if policy is None:
        return {}
    partial = partial_rollouts([policy]).get(policy.pk)
    if partial is None:
        return _items(policy)
    new, former = _items(policy), _items(partial.former)
    mixed = {
        key: (new if host in partial.hosts else former).get(key) for key, host in hosts.items()
    }
    return {key: item for key, item in mixed.items() if item is not None}


def _items(policy: Policy | None) -> dict[int, dict[str, Any]]:
    items: Sequence[dict[str, Any]] = policy.allocations if policy else ()
    version = policy.version if policy else 0
    return {item["allocation"]: {**item, "version": version} for item in items}
