"""What decisions cost on a fleet: a policy file, and a policy that reaches all hosts in stages.

All workloads share one datastore, which all hosts use: no rollout of such a fleet is larger.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from accounts.actor import COMMAND_LINE
from accounts.models import Membership, Organisation, Role
from advisor.decisions.decide import approve
from advisor.decisions.enrolment import enroll
from advisor.decisions.policy_file.apply import apply_policy_file, plan_policy_file
from advisor.decisions.policy_file.decide.read import Read, read_policy_file
from advisor.decisions.policy_file.decide.write import policy_file_text
from advisor.decisions.policy_file.present import exported, present_state
from advisor.decisions.rollouts.advance import advance
from advisor.decisions.rollouts.steer import go_on
from advisor.models import Allocation, PolicyRollout, Recommendation, Resource
from bench.fleet.cost import Cost, cost_of
from bench.fleet.databases import another_database, keep_still
from bench.fleet.fill import fill
from bench.fleet.rows import Row, at_most
from bench.fleet.shape import BRIEF, END, FleetShape
from bench.fleet.stage import find_stage, judge_all
from ingest.models import Host
from tests.advisor.agent_passes import agent_pass
from tests.advisor.agent_support import state_support

EXPONENT_ASKED = 1.1
BEGAN = END - timedelta(minutes=14)
"""Before it there are windows to compare with, and after it a stage can end."""
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The one datastore, its hosts with agents, and who decides."""

    organisation: Organisation
    datastore: Resource
    hosts: list[Host]
    owner: AbstractBaseUser


def decision_rows(sizes: tuple[int, int], say: Callable[[str], None]) -> list[Row]:
    """Of each step its time in the larger fleet, and by which power it grows."""
    found = [_costs(workloads, say) for workloads in sizes]
    rows = []
    for what in found[0]:
        smaller, larger = (costs[what] for costs in found)
        exponent = math.log(larger.cpu_s / smaller.cpu_s) / math.log(sizes[1] / sizes[0])
        note = (
            f"{smaller.cpu_s:.2f} s of CPU and {smaller.queries} queries, then"
            f" {larger.cpu_s:.2f} s and {larger.queries}, {larger.wall_s:.2f} s by the clock"
        )
        named = f"{what}, of {sizes[1]} workloads on {FleetShape(workloads=sizes[1]).hosts} hosts"
        rows.append(at_most(named, "exponent", EXPONENT_ASKED, exponent, note))
    return rows


def _costs(workloads: int, say: Callable[[str], None]) -> dict[str, Cost]:
    shape = FleetShape(workloads=workloads, most_per_group=workloads)
    with another_database(f"fleet_decisions_{workloads}"):
        fill(shape, BRIEF)
        keep_still()
        judge_all(find_stage(shape, BRIEF, say))
        fleet = _fleet()
        costs = {**_of_policy_file(fleet), **_of_rollout(fleet)}
    for what, cost in costs.items():
        say(f"{workloads}: {what}: {cost.wall_s:.2f} s, {cost.cpu_s:.2f} s of CPU, {cost.queries}")
    return costs


def _fleet() -> Fleet:
    organisation = Organisation.objects.get()
    owner = get_user_model().objects.create_user(username="owner", password=None)
    Membership.objects.create(organisation=organisation, user=owner, role=Role.OWNER)
    hosts = list(Host.objects.filter(organisation=organisation).order_by("name"))
    for host in hosts:
        state_support(enroll(organisation=organisation, host_name=host.name).host)
    return Fleet(
        organisation=organisation,
        datastore=Resource.objects.get(kind="datastore"),
        hosts=list(Host.objects.filter(organisation=organisation).order_by("name")),
        owner=owner,
    )


def _of_policy_file(fleet: Fleet) -> dict[str, Cost]:
    """A file that states everything anew, and then one that changes each allocation."""
    document = exported(fleet.organisation)
    changed = replace(
        document,
        allocations=tuple(
            replace(one, reservation=1.0, shares=1500) if one.resource.startswith("store") else one
            for one in document.allocations or ()
        ),
    )
    text = policy_file_text(changed, units={})
    units = present_state(fleet.organisation).units
    costs = {}

    def read() -> Read:
        return read_policy_file(text, file="fleet.yaml", units=units)

    costs["policy file written"] = cost_of(lambda: exported(fleet.organisation))
    costs["policy file read"] = cost_of(read)
    file = read()
    plan = plan_policy_file(fleet.organisation, file, now=END)
    costs["policy file planned"] = cost_of(
        lambda: plan_policy_file(fleet.organisation, file, now=END)
    )
    costs["policy file applied, each allocation changes"] = cost_of(
        lambda: apply_policy_file(
            fleet.organisation, file, expected=plan, actor=COMMAND_LINE, now=END
        )
    )
    nothing = plan_policy_file(fleet.organisation, file, now=END)
    costs["policy file applied again, nothing changes"] = cost_of(
        lambda: apply_policy_file(
            fleet.organisation, file, expected=nothing, actor=COMMAND_LINE, now=END
        )
    )
    return costs


def _of_rollout(fleet: Fleet) -> dict[str, Cost]:
    """A first version that a person hurries to all hosts, and the stages of a second."""
    rollout = _approved(fleet, BEGAN - MINUTE)
    while not rollout.is_at_last_stage:
        rollout = go_on(rollout=rollout, user=fleet.owner, now=BEGAN - MINUTE)
    costs = {}
    reported = cost_of(lambda: _all_report(fleet, BEGAN - MINUTE))
    costs["documents pulled and reports taken of all hosts"] = reported
    # As long as its guard watches the first, no second one is approved.
    go_on(rollout=rollout, user=fleet.owner, now=BEGAN - MINUTE)
    found = []
    costs["approval"] = cost_of(lambda: found.append(_approved(fleet, BEGAN)))
    (rollout,) = found
    _all_report(fleet, BEGAN)
    advance(rollout=rollout, now=BEGAN)
    costs["look at the first stage"] = cost_of(lambda: _look(rollout, BEGAN + 4 * MINUTE))
    rollout = go_on(rollout=rollout, user=fleet.owner, now=BEGAN + 9 * MINUTE)
    costs["publishing to the last stage"] = cost_of(
        lambda: go_on(rollout=rollout, user=fleet.owner, now=BEGAN + 9 * MINUTE)
    )
    _all_report(fleet, BEGAN + 9 * MINUTE)
    rollout.refresh_from_db()
    advance(rollout=rollout, now=BEGAN + 9 * MINUTE)
    costs["look at the last stage"] = cost_of(lambda: _look(rollout, END))
    return costs


def _look(rollout: PolicyRollout, now: datetime) -> None:
    """Whatever the guards find in this traffic, the rollout stays where it is."""
    with transaction.atomic():
        advance(rollout=rollout, now=now)
        transaction.set_rollback(True)


def _approved(fleet: Fleet, now: datetime) -> PolicyRollout:
    shares = 1000 + fleet.datastore.policies.count()
    rows = [
        {
            "allocation": one.pk, "workload": one.workload.name, "reservation": 0.0,
            "limit": None, "shares": shares, "entitlement": 1.0,
        }
        for one in Allocation.objects.filter(resource=fleet.datastore).select_related("workload")
    ]  # fmt: skip
    advice = Recommendation.objects.create(
        organisation=fleet.organisation,
        resource=fleet.datastore,
        kind="shares",
        summary="Give all the same",
        inputs="{}",
        answer=json.dumps({"allocations": rows, "evidence": {"capacity": 8000.0}}),
        created_at=now,
        expires_at=now + timedelta(hours=24),
    )
    policy = approve(recommendation=advice, user=fleet.owner, now=now)
    assert policy is not None
    return policy.rollout


def _all_report(fleet: Fleet, now: datetime) -> None:
    """Each agent pulls its document and reports that the kernel has it."""
    for host in fleet.hosts:
        agent_pass(host, at=now)
