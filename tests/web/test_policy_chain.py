"""Each link of the chain from approval to measurement is broken in turn, and pages say so."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client

from advisor.decisions.decide import approve
from advisor.decisions.documents import publish_documents
from advisor.history.policy_reports import MEASURED_FOR, REPORT_GRACE
from advisor.management.status_exit import StatusExit
from advisor.models import Attachment, Recommendation
from enforcers.contract import Outcome, PolicyDocument, Setting
from tests.advisor.agent_passes import agent_pass
from tests.advisor.scenario import MBIT, NOW, Cluster, end_guards, make_cluster, propose
from tests.web.conftest import client_of
from tests.web.html import page_of

pytestmark = pytest.mark.django_db

REPORT = timedelta(seconds=30)
AS_PROMISED = {"web-1": 80.6 * MBIT, "web-2": 6.7 * MBIT, "web-3": 6.7 * MBIT}
# Everybody gets a third, as without a policy.
AS_EVER = dict.fromkeys(AS_PROMISED, 31.3 * MBIT)
IN_FORCE = "in force: applied, read back and measured on h1"


@dataclass
class World:
    """An approved policy, its host's agent, and the time by which pages go."""

    cluster: Cluster
    now: datetime = NOW
    is_running: bool = True
    pulls: bool = True
    outcome: Outcome = Outcome.UNCHANGED
    reason: str = "as wanted"
    rates: dict[str, float] = field(default_factory=lambda: dict(AS_PROMISED))
    shown: dict[str, Setting] = field(default_factory=dict)
    held: PolicyDocument | None = None

    def wait(self, length: timedelta) -> None:
        """The agent reports each half minute of this."""
        for _ in range(length // REPORT):
            self.now += REPORT
            if self.is_running:
                self.held = agent_pass(
                    self.cluster.enrolment.host,
                    at=self.now,
                    outcome=self.outcome,
                    reason=self.reason,
                    held_document=None if self.pulls else self.held,
                    shown=self.shown,
                    rates=self.rates,
                )


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World(cluster=make_cluster())
    monkeypatch.setattr("django.utils.timezone.now", lambda: world.now)
    approve(recommendation=propose(world.cluster), user=world.cluster.people.owner, now=NOW)
    return world


def lose_the_device(world: World) -> None:
    Attachment.objects.filter(resource=world.cluster.uplink).delete()
    publish_documents(resource=world.cluster.uplink, now=world.now)


def find_the_device(world: World) -> None:
    Attachment.objects.create(
        resource=world.cluster.uplink, host=world.cluster.enrolment.host, device="up0"
    )
    publish_documents(resource=world.cluster.uplink, now=world.now)


def decide_while_it_cannot_pull(world: World) -> None:
    world.pulls = False
    end_guards(at=world.now)
    advice = propose(world.cluster, reservation=74 * MBIT)
    approve(recommendation=advice, user=world.cluster.people.owner, now=world.now)


def pull(world: World) -> None:
    world.pulls = True


def die(world: World) -> None:
    world.is_running = False


def start(world: World) -> None:
    world.is_running = True


def end_as(outcome: Outcome, reason: str) -> Callable[[World], None]:
    def change(world: World) -> None:
        world.outcome, world.reason = outcome, reason

    return change


def change_the_kernel(world: World) -> None:
    found = Setting(reservation=75 * MBIT, limit=50 * MBIT, shares=1000.0)
    world.shown = {"web-1": found}


def put_the_kernel_right(world: World) -> None:
    world.shown = {}


def measure(rates: dict[str, float]) -> Callable[[World], None]:
    def change(world: World) -> None:
        world.rates = rates

    return change


@dataclass(frozen=True, kw_only=True)
class Break:
    """How a link breaks and mends, and what is said; both show within these times."""

    breaks: Callable[[World], None]
    mends: Callable[[World], None]
    link: str
    said: str
    shows_in: timedelta = REPORT
    mended_in: timedelta = REPORT
    version: int = 1


BREAKS = {
    "nothing is published": Break(
        breaks=lose_the_device,
        mends=find_the_device,
        link="approved",
        said="approved, not published: "
        "h1 has no device that reaches h1/up0, so nothing would be published there",
    ),
    "agent does not pull": Break(
        breaks=decide_while_it_cannot_pull,
        mends=pull,
        link="published",
        said="published, not applied: the agent of h1 still holds revision 1, 2 is published",
        # Of this version nothing was measured before.
        mended_in=3 * REPORT,
        version=2,
    ),
    "agent is gone": Break(
        breaks=die,
        mends=start,
        link="published",
        said="published, not applied: the agent of h1 is silent since 2026-11-20 12:02 UTC",
        shows_in=REPORT_GRACE + REPORT,
        mended_in=3 * REPORT,
    ),
    "kernel refuses": Break(
        breaks=end_as(Outcome.FAILED, "RTNETLINK answers: busy"),
        mends=end_as(Outcome.UNCHANGED, "as wanted"),
        link="published",
        said="published, not applied: web-1 on h1 is failed: RTNETLINK answers: busy",
    ),
    "kernel does not act": Break(
        breaks=end_as(Outcome.INEFFECTIVE, "nobody is held back"),
        mends=end_as(Outcome.UNCHANGED, "as wanted"),
        link="published",
        said="published, not applied: web-1 on h1 is ineffective: nobody is held back",
    ),
    "somebody changed the kernel": Break(
        breaks=change_the_kernel,
        mends=put_the_kernel_right,
        link="applied",
        said="applied, not read back everywhere: "
        "web-1 on h1: the kernel shows limit 50.0 Mbit/s, applied was no limit",
    ),
    "rates are not as promised": Break(
        breaks=measure(AS_EVER),
        mends=measure(AS_PROMISED),
        link="read back",
        said="in force: applied and read back on h1, but measured otherwise: "
        "web-1 on h1 got 31.3 Mbit/s, below the reservation 75.0 Mbit/s, and wanted more",
        # All windows that count must be without a breach again.
        mended_in=MEASURED_FOR,
    ),
}


def command(*arguments: str) -> str:
    out = StringIO()
    try:
        call_command(*arguments, "--organisation", "acme", stdout=out)
    except SystemExit as end:
        # The uplink was not evaluated here.
        assert end.code == StatusExit.NO_ANSWER  # noqa: PT017 - `status` always ends so here
    return out.getvalue()


def told(world: World) -> dict[str, str]:
    """All that people read of the policy, by place; white space as one space."""
    viewer: Client = client_of(world.cluster.people.viewer)
    newest = Recommendation.objects.order_by("-pk").first()
    assert newest is not None
    pages = {
        "overview": "/",
        "resource": f"/resources/{world.cluster.uplink.pk}/",
        "recommendation": f"/recommendations/{newest.pk}/",
    }
    found = {name: page_of(viewer.get(address)).all_text() for name, address in pages.items()}
    for name in ("policy", "status", "compliance"):
        found[name] = command(name)
    return {name: " ".join(text.split()) for name, text in found.items()}


@pytest.mark.parametrize("name", BREAKS)
def test_broken_link_is_told_within_a_period_and_so_is_its_end(world: World, name: str) -> None:
    case = BREAKS[name]
    world.wait(4 * REPORT)
    before = told(world)

    case.breaks(world)
    world.wait(case.shows_in)
    broken = told(world)
    newest = json.loads(command("policy", "--json"))[0]
    resource = json.loads(command("status", "--json"))["resources"][0]
    allocation = json.loads(command("compliance", "--json"))[0]

    case.mends(world)
    world.wait(case.mended_in)
    after = told(world)

    sentence = f"ersion {case.version} is {case.said}."
    for place in ("overview", "resource", "status", "compliance"):
        assert sentence in broken[place], place
        assert sentence not in before[place] + after[place], place
    assert f"ersion {case.version} of the policy is {case.said}." in broken["recommendation"]
    assert newest["gap"] in broken["policy"]
    assert newest["state"] == case.link
    assert case.said.endswith(f": {newest['gap']}")
    is_in_force = case.link == "read back"
    for row in (resource, allocation):
        assert (row["policy_link"], row["policy_in_force"]) == (case.link, is_in_force)
    assert allocation["in_force"] is is_in_force
    for page in (before, after):
        assert IN_FORCE in page["resource"]
        assert IN_FORCE in page["recommendation"]
