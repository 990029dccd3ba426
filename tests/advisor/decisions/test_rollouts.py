"""Policies of a datastore of several hosts come in stages, and each change is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.actor import COMMAND_LINE
from accounts.models import Organisation
from accounts.models.audit import AuditEntry
from accounts.services.audit import verify
from advisor.advice.shared.decide.recommended_allocation import DRAFT
from advisor.advice.what_if.drafts import scene_of
from advisor.core.rollout import PolicyStage
from advisor.decisions.decide import approve, rollback
from advisor.decisions.documents import publish_documents
from advisor.decisions.enrolment import enroll
from advisor.decisions.inventory import attach
from advisor.decisions.rollouts.advance import advance, open_rollouts
from advisor.decisions.rollouts.steer import (
    go_on,
    resume_rollouts,
    set_terms,
    stage_resource,
    stop_rollouts,
)
from advisor.errors import DecisionRefused
from advisor.history.policy_state import policy_state
from advisor.models import (
    Allocation,
    Policy,
    PolicyChange,
    PolicyRollout,
    PublishedDocument,
    Recommendation,
    Resource,
)
from advisor.queries.promises import promises_of
from config.database_roles import DatabaseRole
from ingest.models import Host
from tests.advisor.agent_passes import agent_pass
from tests.advisor.agent_support import state_support
from tests.advisor.disk_samples import CgroupPhase, DiskPhase, cgroup_lines, disk_lines
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, People, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore
from tests.config.roles import acting_as, make_roles

pytestmark = pytest.mark.django_db

REPORT = timedelta(minutes=1)
STAGE = timedelta(minutes=10)
STEP_S = 10
HOSTS = ("k1", "k2", "k3", "k4")
FAR_BACK = timedelta(minutes=5)


@dataclass
class Fleet:
    """Four hosts with one datastore, a workload of the high tier and one of the low on each."""

    organisation: Organisation
    people: People
    datastore: Resource
    allocations: list[Allocation]
    now: datetime
    began: datetime
    silent: set[str] = field(default_factory=set)
    by_whom: Callable[[], AbstractContextManager[None]] = nullcontext
    rates: list[dict[str, float]] = field(default_factory=list)

    def propose(self, *, high_limit: float | None = None, kind: str = "shares") -> Recommendation:
        rows = [
            {
                "allocation": one.pk,
                "workload": one.workload.name,
                "reservation": 0.0,
                "limit": high_limit if one.reservation else None,
                "shares": 2000 if one.reservation else 500,
                "entitlement": high_limit or 200.0 if one.reservation else 50.0,
            }
            for one in self.allocations
        ]
        return Recommendation.objects.create(
            organisation=self.organisation,
            resource=self.datastore,
            kind=kind,
            summary="Give the high tier more",
            inputs="{}",
            answer=json.dumps({"allocations": rows, "evidence": {"capacity": 2000.0}}),
            created_at=self.now,
            expires_at=self.now + timedelta(hours=24),
        )

    def approve(self, *, high_limit: float | None = None, kind: str = "shares") -> PolicyRollout:
        advice = self.propose(high_limit=high_limit, kind=kind)
        policy = approve(recommendation=advice, user=self.people.owner, now=self.now)
        assert policy is not None
        return policy.rollout

    def wait(
        self, length: timedelta, *, high: dict[str, float] | None = None, samples: bool = True
    ) -> None:
        """Agents report and hosts send samples; the scheduler looks each minute."""
        if samples:
            self.measure(length, high=high or {})
        for _ in range(length // REPORT):
            self.now += REPORT
            for name in HOSTS:
                if name not in self.silent:
                    agent_pass(self.host(name), at=self.now)
            with self.by_whom():
                for rollout in open_rollouts(now=self.now):
                    advance(rollout=rollout, now=self.now)

    def measure(self, length: timedelta, *, high: dict[str, float]) -> None:
        """Rates of the high tier by host, 200 if nothing is said; the low tier has 50 I/Os."""
        count = int(length.total_seconds()) // STEP_S
        self.rates += [high] * count
        lines = []
        for name in HOSTS:
            wanted = [one.get(name, 200.0) for one in self.rates]
            on_disk = [DiskPhase(intervals=1, iops=one + 50, latency_ms=5) for one in wanted]
            told = [disk_lines(name, "ds", on_disk, start=self.began)]
            for path, iops in ((f"/high-{name}", wanted), (f"/low-{name}", [50.0] * len(wanted))):
                own = [CgroupPhase(intervals=1, iops=one, waits=0.5) for one in iops]
                told.append(cgroup_lines(name, path, own, start=self.began))
            # Counters go on from what was sent before.
            lines += [line for one in told for line in one.splitlines()[-count:]]
        send(self.organisation, "\n".join(lines), now=self.now + length)

    def host(self, name: str) -> Host:
        return Host.objects.get(organisation=self.organisation, name=name)

    def put_in_force(self) -> None:
        """A first version that a person hurries to all hosts."""
        rollout = self.approve()
        for _ in rollout.sizes:
            self.wait(2 * REPORT)
            rollout = go_on(rollout=rollout, user=self.people.owner, now=self.now)

    def given(self) -> dict[str, int | None]:
        """The version that the newest document of each host is of."""
        return {name: version_of(self.host(name)) for name in HOSTS}


def version_of(host: Host) -> int | None:
    document = PublishedDocument.objects.filter(host=host).order_by("-revision").first()
    items = document.content["allocations"] if document else []
    return Policy.objects.get(pk=items[0]["policy"]).version if items else None


@pytest.fixture
def fleet() -> Fleet:
    return make_fleet()


def make_fleet() -> Fleet:
    cluster = make_cluster()
    organisation = cluster.organisation
    datastore = stated_datastore(organisation, "ds", *HOSTS, capacity=2000.0)
    allocations = []
    for name in HOSTS:
        for tier, reserved in (("high", 100.0), ("low", 0.0)):
            allocations.append(
                cgroup_allocation(
                    datastore, f"{tier}-{name}", host=name, tier=tier, reservation=reserved
                )
            )
        state_support(enroll(organisation=organisation, host_name=name).host)
    found = Fleet(
        organisation=organisation,
        people=cluster.people,
        datastore=datastore,
        allocations=allocations,
        now=NOW - FAR_BACK,
        began=NOW - FAR_BACK,
    )
    found.wait(FAR_BACK)
    return found


def states(policy: Policy) -> list[tuple[str, int]]:
    return [(one.state, one.stage) for one in PolicyChange.objects.filter(policy=policy)]


def test_one_host_then_a_quarter_then_all_get_it(fleet: Fleet) -> None:
    rollout = fleet.approve()
    first = fleet.given()
    fleet.wait(STAGE + REPORT)
    second = fleet.given()
    fleet.wait(STAGE + REPORT)
    third = fleet.given()
    fleet.wait(STAGE + REPORT)

    assert first == {"k1": 1, "k2": None, "k3": None, "k4": None}
    assert second == {"k1": 1, "k2": 1, "k3": None, "k4": None}
    assert third == dict.fromkeys(HOSTS, 1)
    rollout.refresh_from_db()
    assert rollout.state == PolicyStage.IN_FORCE
    assert rollout.guarded_until is not None
    assert states(rollout.policy) == [
        ("rolling_out", 0), ("rolling_out", 1), ("rolling_out", 2),
        ("in_force", 2), ("in_force", 2),
    ]  # fmt: skip
    whos = PolicyChange.objects.filter(policy=rollout.policy).values_list("who", "why")
    assert whos[0] == ("owner", f"recommendation {rollout.policy.recommendation_id} was approved")
    assert whos[1][0] == "the rollout"
    assert whos[1][1].startswith("no harm to latency of the high tier, promise kept and")


def test_versions_are_read_once_for_all_hosts_that_get_documents(fleet: Fleet) -> None:
    fleet.approve()

    with CaptureQueriesContext(connection) as found:
        publish_documents(resource=fleet.datastore, now=fleet.now)

    assert sum('FROM "advisor_policy"' in (one["sql"] or "") for one in found) == 1


def test_starved_high_tier_on_the_first_host_takes_the_policy_back(fleet: Fleet) -> None:
    fleet.put_in_force()
    harmful = fleet.approve(high_limit=20.0)
    during = fleet.given()

    fleet.wait(STAGE, high={"k1": 20.0})

    harmful.refresh_from_db()
    assert during == {"k1": 2, "k2": 1, "k3": 1, "k4": 1}
    assert harmful.state == PolicyStage.ROLLED_BACK
    assert fleet.given() == dict.fromkeys(HOSTS, 3)
    newest = fleet.datastore.policies.get(version=3)
    assert newest.rollback_of == harmful.policy
    assert newest.allocations == fleet.datastore.policies.get(version=1).allocations
    assert newest.created_by is None
    change = PolicyChange.objects.filter(policy=harmful.policy).last()
    assert change is not None
    assert change.who == "the rollout"
    assert "promise kept is 80 % worse" in change.why
    assert "against hosts that do not have it yet" in change.why
    taken_back = AuditEntry.objects.filter(action="roll back").get()
    assert taken_back.actor == "the rollout"
    assert policy_state(newest, now=fleet.now).is_in_force


def test_loss_on_all_hosts_alike_is_not_laid_at_the_policys_door(fleet: Fleet) -> None:
    rollout = fleet.approve()

    fleet.wait(STAGE + REPORT, high=dict.fromkeys(HOSTS, 60.0))

    rollout.refresh_from_db()
    assert (rollout.state, rollout.stage) == (PolicyStage.ROLLING_OUT, 1)


def test_host_that_does_not_report_holds_the_stage(fleet: Fleet) -> None:
    rollout = fleet.approve()
    fleet.silent = {"k1"}

    fleet.wait(STAGE)

    rollout.refresh_from_db()
    assert rollout.stage == 0
    assert rollout.settled_at is None
    assert rollout.waits_for.startswith("the agent of k1 is silent since")


def test_silent_host_is_not_the_first(fleet: Fleet) -> None:
    fleet.silent = {"k1"}
    fleet.wait(STAGE)

    fleet.approve()

    assert fleet.given() == {"k1": None, "k2": 1, "k3": None, "k4": None}


def test_stage_without_samples_waits_and_says_so(fleet: Fleet) -> None:
    rollout = fleet.approve()

    fleet.wait(2 * STAGE, samples=False)

    rollout.refresh_from_db()
    assert rollout.stage == 0
    assert rollout.waits_for == "nothing of it is measured"


@pytest.mark.parametrize("goes_on", [True, False])
def test_stage_without_samples_goes_on_in_the_end_only_where_it_may(
    fleet: Fleet, goes_on: bool
) -> None:
    set_terms(
        organisation=fleet.organisation,
        actor=COMMAND_LINE,
        now=fleet.now,
        longest_s=1200,
        goes_on_unsure=goes_on,
    )
    rollout = fleet.approve()

    fleet.wait(timedelta(minutes=22), samples=False)

    rollout.refresh_from_db()
    assert rollout.stage == (1 if goes_on else 0)
    if not goes_on:
        assert rollout.waits_for.endswith("after 20 min: somebody has to decide")


def test_host_that_joins_meanwhile_gets_it_in_the_last_stage(fleet: Fleet) -> None:
    fleet.approve()
    attach(fleet.datastore, "k5", "ds")
    joined = cgroup_allocation(fleet.datastore, "high-k5", host="k5", tier="high")
    fleet.allocations.append(joined)
    host = enroll(organisation=fleet.organisation, host_name="k5").host
    state_support(host)
    rollout = fleet.approve(kind=DRAFT)
    agent_pass(host, at=fleet.now)
    early = version_of(host)

    for stage in range(2):
        go_on(rollout=rollout, user=fleet.people.owner, now=fleet.now + stage * REPORT)

    assert early is None
    assert version_of(host) == 2


def test_draft_of_a_person_takes_the_place_of_one_under_way(fleet: Fleet) -> None:
    first = fleet.approve()
    fleet.wait(STAGE + REPORT)
    assert fleet.given() == {"k1": 1, "k2": 1, "k3": None, "k4": None}

    second = fleet.approve(high_limit=300.0, kind=DRAFT)

    first.refresh_from_db()
    assert first.state == PolicyStage.SUPERSEDED
    # What no one has proven is left by the hosts that do not get its successor yet.
    assert fleet.given() == {"k1": 2, "k2": None, "k3": None, "k4": None}
    assert second.former is None


def test_rolling_back_meanwhile_goes_to_what_all_hosts_had(fleet: Fleet) -> None:
    rollout = fleet.approve()

    rollback(resource=fleet.datastore, user=fleet.people.operator, now=fleet.now)

    rollout.refresh_from_db()
    assert rollout.state == PolicyStage.ROLLED_BACK
    assert fleet.given() == dict.fromkeys(HOSTS)
    newest = fleet.datastore.policies.get(version=2)
    assert newest.allocations == []


def test_stop_holds_stages_and_harm_and_new_policies_until_it_is_lifted(fleet: Fleet) -> None:
    fleet.put_in_force()
    rollout = fleet.approve(high_limit=20.0)
    stop_rollouts(
        organisation=fleet.organisation, actor=COMMAND_LINE, reason="month end", now=fleet.now
    )
    fleet.wait(STAGE, high={"k1": 20.0})
    rollout.refresh_from_db()
    assert rollout.state == PolicyStage.ROLLING_OUT
    assert fleet.given() == {"k1": 2, "k2": 1, "k3": 1, "k4": 1}
    with pytest.raises(DecisionRefused, match="rollouts are stopped"):
        fleet.approve()
    with pytest.raises(DecisionRefused, match="rollouts are stopped"):
        go_on(rollout=rollout, user=fleet.people.owner, now=fleet.now)

    resume_rollouts(organisation=fleet.organisation, actor=COMMAND_LINE, now=fleet.now)
    fleet.wait(STAGE, high={"k1": 20.0})

    rollout.refresh_from_db()
    assert rollout.state == PolicyStage.ROLLED_BACK
    acts = list(AuditEntry.objects.values_list("action", flat=True))
    assert acts[-3:] == ["stop rollouts", "resume rollouts", "roll back"]
    assert verify(fleet.organisation).broken is None


def test_a_person_may_roll_back_while_rollouts_are_stopped(fleet: Fleet) -> None:
    fleet.approve()
    stop_rollouts(organisation=fleet.organisation, actor=COMMAND_LINE, reason="", now=fleet.now)

    rollback(resource=fleet.datastore, user=fleet.people.operator, now=fleet.now)

    assert fleet.given() == dict.fromkeys(HOSTS)


@pytest.mark.parametrize("who", ["organisation", "resource"])
def test_stages_may_be_off(fleet: Fleet, who: str) -> None:
    if who == "resource":
        stage_resource(resource=fleet.datastore, staged=False, actor=COMMAND_LINE, now=fleet.now)
        fleet.datastore.refresh_from_db()
    else:
        set_terms(organisation=fleet.organisation, actor=COMMAND_LINE, now=fleet.now, staged=False)

    rollout = fleet.approve()

    assert fleet.given() == dict.fromkeys(HOSTS, 1)
    assert (rollout.sizes, rollout.guarded) == ([4], False)


def test_viewer_may_not_go_on(fleet: Fleet) -> None:
    rollout = fleet.approve()

    with pytest.raises(DecisionRefused, match="may not decide"):
        go_on(rollout=rollout, user=fleet.people.viewer, now=fleet.now)


def test_what_if_starts_from_what_each_host_has(fleet: Fleet) -> None:
    fleet.put_in_force()
    fleet.approve(high_limit=300.0)
    fleet.wait(2 * REPORT)

    scene = scene_of(fleet.datastore, now=fleet.now)

    limits = {
        one.workload.name: grant.limit
        for one, grant in zip(scene.allocations, scene.now, strict=True)
        if one.reservation
    }
    shares = {
        one.workload.name: grant.shares
        for one, grant in zip(scene.allocations, scene.now, strict=True)
        if one.reservation
    }
    assert limits == {"high-k1": 300.0, "high-k2": None, "high-k3": None, "high-k4": None}
    assert shares == dict.fromkeys(limits, 2000)


def test_policy_is_told_to_be_on_some_hosts_only(fleet: Fleet) -> None:
    fleet.put_in_force()
    rollout = fleet.approve(high_limit=300.0)
    fleet.wait(2 * REPORT)

    state = policy_state(rollout.policy, now=fleet.now)

    assert not state.is_in_force
    assert state.hosts == ("k1",)
    assert state.text == (
        "approved, not published everywhere: k2 keeps version 1 until a later stage; "
        "k3 keeps version 1 until a later stage; k4 keeps version 1 until a later stage"
    )


def test_day_of_a_workload_counts_a_version_from_when_its_host_was_given_it(
    fleet: Fleet,
) -> None:
    begun = fleet.now
    fleet.approve()
    fleet.wait(STAGE + REPORT)

    promises = promises_of(fleet.allocations)

    since = {
        one.workload.name: promises[one.pk][-1].since
        for one in fleet.allocations
        if one.reservation
    }
    assert since["high-k1"] == begun
    assert since["high-k2"] == PolicyChange.objects.get(stage=1).at > begun
    assert (since["high-k3"], since["high-k4"]) == (None, None)


def test_harm_that_cannot_be_taken_back_is_said(fleet: Fleet) -> None:
    fleet.put_in_force()
    harmful = fleet.approve(high_limit=20.0)
    # The version that held before would not reach this host either.
    fleet.datastore.attachments.filter(host__name="k4").delete()

    fleet.wait(STAGE, high={"k1": 20.0})

    harmful.refresh_from_db()
    assert harmful.state == PolicyStage.ROLLING_OUT
    assert "but it cannot be taken back: k4 has no device that reaches ds" in harmful.waits_for


def test_worker_has_the_rights_for_all_that_rollouts_do(fleet: Fleet) -> None:
    """From stage to stage, and back by itself, which the audit chain tells."""
    make_roles()
    fleet.by_whom = partial(acting_as, DatabaseRole.WORKER)
    good = fleet.approve()
    for _ in good.sizes:
        fleet.wait(STAGE + REPORT)
    harmful = fleet.approve(high_limit=20.0)
    fleet.wait(STAGE, high={"k1": 20.0})

    assert states(good.policy)[-1][0] == PolicyStage.SUPERSEDED
    assert states(harmful.policy)[-1][0] == PolicyStage.ROLLED_BACK
    assert AuditEntry.objects.order_by("number").last().actor == "the rollout"


@pytest.mark.parametrize("hosts", [4, 7])
def test_a_look_asks_a_fixed_number_of_queries(
    monkeypatch: pytest.MonkeyPatch, hosts: int
) -> None:
    monkeypatch.setattr(f"{__name__}.HOSTS", tuple(f"k{number}" for number in range(hosts)))
    fleet = make_fleet()
    rollout = fleet.approve()
    fleet.wait(3 * REPORT)

    with CaptureQueriesContext(connection) as asked:
        found = advance(rollout=rollout, now=fleet.now)

    assert found.settled_at is not None
    assert len(found.guards) == 3
    assert len(asked) <= 36
