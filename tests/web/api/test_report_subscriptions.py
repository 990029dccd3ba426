"""Subscriptions of reports through the API."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from advisor.models import NotificationChannel, ReportSubscription, Team
from advisor.reports import subscriptions
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.api.asking import Program, program_of
from tests.web.api.test_door import problem
from tests.web.api.test_stated import done
from tests.web.fleet import Fleet

BODY = {"name": "mondays", "channel": "letters", "every": "weekly", "zone": "Europe/Berlin"}
PATH = "report-subscriptions"


@pytest.fixture
def managing(fleet: Fleet) -> Program:
    """Of the owner, for what leaves the organisation takes an admin."""
    for name, kind in (("letters", "mail"), ("hook", "webhook")):
        NotificationChannel.objects.create(
            organisation=fleet.organisation, name=name, kind=kind, address="a@example.org"
        )
    return program_of(fleet.people.owner, fleet.organisation)


def test_subscription_is_stated_sent_stopped_and_removed(fleet: Fleet, managing: Program) -> None:
    team = Team.objects.create(organisation=fleet.organisation, name="shop", tags=["tag=a"])
    make_roles()
    with acting_as(DatabaseRole.WEB):
        made = done(managing("PUT", PATH, BODY | {"team_id": team.pk, "hour": 6}))
        path = f"{PATH}/{made['id']}"
        sent = done(managing("POST", f"{path}/send"))
        stopped = done(managing("POST", f"{path}/stop"))
        again = done(managing("PUT", PATH, BODY))
        listed = managing.read(PATH)["items"]
        gone = managing("DELETE", path)

    assert (made["team_id"], made["hour"], made["due_at"]) == (team.pk, 6, "2026-11-23T05:00:00Z")
    assert sent["due_at"] == "2026-11-20T12:00:00Z"
    assert stopped["stopped_because"] == "owner stopped it"
    assert (again["stopped_at"], again["team_id"], again["hour"]) == (None, None, 7)
    assert (listed, gone.status_code) == ([again], 204)
    assert not ReportSubscription.objects.exists()


def test_tag_of_a_subscription_is_of_what_is_stated(fleet: Fleet, managing: Program) -> None:
    made = done(managing("PUT", PATH, BODY))
    tag = managing("GET", f"{PATH}/{made['id']}")["ETag"]
    subscriptions.make_next(fleet.organisation.pk, now=timezone.now())

    assert done(managing("PUT", PATH, BODY | {"hour": 9}, if_match=tag))["hour"] == 9
    assert problem(managing("PUT", PATH, BODY, if_match=tag)) == (412, "changed_meanwhile")


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        ({"every": "often"}, (422, "invalid")),
        ({"hour": 24}, (422, "invalid")),
        ({"hour": "7"}, (422, "invalid")),
        ({"zone": "Mars"}, (409, "refused")),
        ({"channel": "nobody"}, (409, "refused")),
        ({"channel": "hook"}, (409, "refused")),
        ({"team_id": 10**9}, (404, "not_found")),
    ],
)
def test_what_cannot_be_is_refused(
    managing: Program, change: dict[str, Any], answer: tuple[int, str]
) -> None:
    assert problem(managing("PUT", PATH, BODY | change)) == answer
    assert not ReportSubscription.objects.exists()


def test_operator_reads_alone(managing: Program, program: Program) -> None:
    made = done(managing("PUT", PATH, BODY))

    assert program.read(PATH)["items"] == [made]
    for method, path in (("PUT", PATH), ("POST", f"{PATH}/{made['id']}/send")):
        body = BODY if method == "PUT" else None
        assert problem(program(method, path, body)) == (403, "not_allowed")
