"""Begin the rollout of a new policy version: its stages, and what other hosts keep meanwhile."""

from __future__ import annotations

from datetime import datetime

from accounts.models import Organisation
from advisor.core.rollout import PolicyStage, stage_sizes
from advisor.decisions.rollouts.changes import leave, note
from advisor.history.policy_reports import REPORT_GRACE
from advisor.models import Allocation, Policy, PolicyRollout, RolloutHost, RolloutTerms
from ingest.models import Host


def terms_of(organisation: Organisation) -> RolloutTerms:
    """How an organisation rolls out; what holds by default is not stored."""
    found = RolloutTerms.objects.filter(organisation=organisation).first()
    return found or RolloutTerms(organisation=organisation)


def shown_terms(organisation: Organisation) -> RolloutTerms:
    """The same as it was read with the organisation, for pages."""
    found: RolloutTerms | None = getattr(organisation, "rollout_terms", None)
    return found or RolloutTerms(organisation=organisation)


def held_terms(organisation: Organisation) -> RolloutTerms:
    """The terms, for one who changes them or approves; others wait until this transaction ends.

    So approvals are counted one after the other, and none begins beside a stop.
    """
    RolloutTerms.objects.get_or_create(organisation=organisation)
    return RolloutTerms.objects.select_for_update().get(organisation=organisation)


def begin_rollout(*, policy: Policy, who: str, why: str, now: datetime) -> PolicyRollout:
    """Give the version to the hosts of the first stage; who is called after must publish.

    What takes a policy back reaches all hosts at once, and nothing guards it.
    """
    former = _former(policy)
    takes_back = policy.rollback_of is not None or not policy.allocations
    ending = PolicyStage.ROLLED_BACK if policy.rollback_of else PolicyStage.SUPERSEDED
    leave(policy.resource, policy, ending, who=who, why=why, now=now)
    terms = terms_of(policy.organisation)
    hosts = _hosts_in_order(policy, former, now)
    guarded = terms.stages(policy.resource) and not takes_back
    rollout = PolicyRollout(
        organisation=policy.organisation,
        policy=policy,
        former=former,
        sizes=list(stage_sizes(len(hosts)) if guarded else (len(hosts),)),
        guarded=guarded,
        started_at=now,
        published_at=now,
    )
    note(rollout, PolicyStage.ROLLING_OUT, who=who, why=why, now=now)
    RolloutHost.objects.bulk_create(
        RolloutHost(
            rollout=rollout,
            host=host,
            stage=(stage := _stage_of(place, rollout.sizes)),
            released_at=now if stage == 0 else None,
        )
        for place, host in enumerate(hosts)
    )
    return rollout


def _stage_of(place: int, sizes: list[int]) -> int:
    return next(stage for stage, size in enumerate(sizes) if place < size)


def _former(policy: Policy) -> Policy | None:
    """The newest version before that all hosts were given."""
    rows = Policy.objects.filter(resource=policy.resource, version__lt=policy.version)
    for earlier in rows.select_related("rollout").order_by("-version"):
        rollout = getattr(earlier, "rollout", None)
        if rollout is None or rollout.is_at_last_stage:
            return earlier
    return None


def _hosts_in_order(policy: Policy, former: Policy | None, now: datetime) -> list[Host]:
    """Those with an agent that it concerns, those first whose agents can be watched."""
    granted = {item["allocation"] for item in policy.allocations}
    concerned = granted | {item["allocation"] for item in (former.allocations if former else ())}
    rows = Allocation.objects.filter(pk__in=concerned, host__enforcer__isnull=False)
    hosts: dict[Host, bool] = {}
    for allocation in rows.select_related("host__enforcer"):
        has_it = hosts.get(allocation.host, False)
        hosts[allocation.host] = has_it or allocation.pk in granted

    def preference(host: Host) -> tuple[bool, bool, str]:
        reported_at = host.enforcer.last_report_at
        is_silent = reported_at is None or now - reported_at > REPORT_GRACE
        return not hosts[host], is_silent, host.name

    return sorted(hosts, key=preference)
