"""How far a policy version has come: approved, published, applied, read back, measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from advisor.core.enumeration import clauses, listed
from advisor.history.held_policies import WITH_ROLLOUT, partial_rollouts
from advisor.history.policy_on_host import (
    HostLink,
    Link,
    Placed,
    Told,
    link_on_host,
    withdrawn_on_host,
)
from advisor.history.policy_reports import judged_windows, newest_records
from advisor.history.publishing_gap import publishing_gap
from advisor.models import Allocation, Attachment, Policy, PublishedDocument
from ingest.models import Host

_IN_FORCE = (Link.READ_BACK, Link.MEASURED)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyState:
    """The last link that holds on every host of its workloads.

    `gaps` says by host why the next one does not. `hosts` and `allocations` are those where the
    policy is in force: applied, and shown by the kernel. `times` has of every link that holds
    the time of the fact that shows it, the oldest of all hosts. `is_contradicted`: it is in
    force, and was measured not to hold.
    """

    link: Link
    hosts: tuple[str, ...]
    gaps: tuple[str, ...]
    allocations: frozenset[int]
    times: Mapping[Link, datetime]
    is_contradicted: bool

    @property
    def is_in_force(self) -> bool:
        return self.link in _IN_FORCE

    @property
    def is_doubtful(self) -> bool:
        """Whether it is not in force, or was measured not to hold."""
        return self.is_contradicted or not self.is_in_force

    @property
    def gap(self) -> str:
        """What the next link lacks; empty if nothing is missing."""
        return clauses(self.gaps)

    @property
    def text(self) -> str:
        """The state in a sentence without its end."""
        match self.link:
            case Link.MEASURED:
                return f"in force: applied, read back and measured on {listed(self.hosts)}"
            case Link.READ_BACK:
                return self._in_force
            case Link.APPLIED:
                return f"applied, not read back{self._partly}: {self.gap}"
            case Link.PUBLISHED:
                return f"published, not applied{self._partly}: {self.gap}"
            case Link.APPROVED:
                return f"approved, not published{self._partly}: {self.gap}"

    @property
    def _in_force(self) -> str:
        where = f": applied and read back on {listed(self.hosts)}" if self.hosts else ""
        if not self.gaps:
            return f"in force{where}"
        measured = "but measured otherwise" if self.is_contradicted else "not yet measured to hold"
        return f"in force{where}, {measured}: {self.gap}"

    @property
    def _partly(self) -> str:
        return " everywhere" if self.allocations else ""


def policy_state(policy: Policy, *, now: datetime) -> PolicyState:
    """The state of one version, the newest of its resource."""
    return policy_states([policy], now=now)[policy.pk]


def newest_policies(resources: Iterable[int]) -> list[Policy]:
    """The newest version of each resource that has one, by their keys."""
    rows = Policy.objects.filter(resource__in=list(resources)).select_related(*WITH_ROLLOUT)
    return list(rows.order_by("resource_id", "-version").distinct("resource_id"))


def policy_states(policies: Sequence[Policy], *, now: datetime) -> dict[int, PolicyState]:
    """The state of each, the newest of its resource, in a fixed number of queries.

    Why one is not published takes up to three more.
    """
    links = host_links(policies, now=now)
    return {policy.pk: _state(policy, list(links[policy.pk].values())) for policy in policies}


def host_links(policies: Sequence[Policy], *, now: datetime) -> dict[int, dict[int, HostLink]]:
    """How far each version came on each of its hosts, by the keys of both."""
    allocations = _allocations_by_host(policies)
    withdrawn = _withdrawn_hosts(policies)
    hosts = {host for found in allocations.values() for host in found}
    told = Told(
        records=newest_records(policies, now),
        windows=judged_windows(policies, now),
        documents=_newest_documents(hosts.union(*withdrawn.values())),
        now=now,
        partial=partial_rollouts(policies),
    )
    return {
        policy.pk: {
            host.pk: link_on_host(policy, host, own, told)
            for host, own in allocations.get(policy.pk, {}).items()
        }
        if policy.allocations
        else {host.pk: withdrawn_on_host(host, told) for host in withdrawn[policy.resource_id]}
        for policy in policies
    }


def _allocations_by_host(policies: Sequence[Policy]) -> dict[int, dict[Host, list[Placed]]]:
    wanted = {item["allocation"]: policy.pk for policy in policies for item in policy.allocations}
    rows = Allocation.objects.filter(pk__in=wanted).order_by("workload__name", "pk")
    placed: dict[int, dict[int, list[Placed]]] = defaultdict(lambda: defaultdict(list))
    # There are thousands, so only what is asked of them is read.
    for pk, host, workload in rows.values_list("pk", "host_id", "workload__name"):
        placed[host][wanted[pk]].append(Placed(pk, workload))
    found: dict[int, dict[Host, list[Placed]]] = defaultdict(dict)
    for row in Host.objects.filter(pk__in=placed).select_related("enforcer").order_by("name"):
        for policy, own in placed[row.pk].items():
            found[policy][row] = own
    return found


def _withdrawn_hosts(policies: Sequence[Policy]) -> dict[int, set[Host]]:
    """Hosts with an agent, by resource, where the newest version has no allocations."""
    empty = [policy.resource_id for policy in policies if not policy.allocations]
    found: dict[int, set[Host]] = defaultdict(set)
    rows = Attachment.objects.filter(resource__in=empty, host__enforcer__isnull=False)
    for row in rows.select_related("host__enforcer"):
        found[row.resource_id].add(row.host)
    return found


def _newest_documents(hosts: set[Host]) -> dict[int, PublishedDocument]:
    rows = PublishedDocument.objects.filter(host__in=hosts).order_by("host_id", "-revision")
    return {row.host_id: row for row in rows.distinct("host_id")}


def _state(policy: Policy, hosts: Sequence[HostLink]) -> PolicyState:
    links = {one.link for one in hosts}
    link = next((link for link in Link if link in links), Link.READ_BACK)
    last = [one for one in hosts if one.link is link]
    # What was measured otherwise says more than what was not measured yet.
    contradicted = [one.gap for one in last if one.is_contradicted]
    gaps = contradicted or [one.gap for one in last if one.gap]
    if policy.allocations and not hosts:
        gaps, link = [publishing_gap(policy)], Link.APPROVED
    return PolicyState(
        link=link,
        hosts=tuple(sorted(one.name for one in hosts if one.link in _IN_FORCE)),
        gaps=tuple(gaps),
        allocations=frozenset().union(*(one.allocations for one in hosts)),
        times=_times(policy, hosts, link),
        is_contradicted=bool(contradicted),
    )


def _times(policy: Policy, hosts: Sequence[HostLink], last: Link) -> dict[Link, datetime]:
    """Of the links up to the last one that holds everywhere."""
    order = list(Link)
    found = {Link.APPROVED: policy.created_at}
    for link in order[1 : order.index(last) + 1]:
        if times := [one.times[link] for one in hosts if link in one.times]:
            found[link] = min(times)
    return found
