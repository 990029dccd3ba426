"""Who is told of incidents, as programs state and read it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from accounts.models import AuditEntry, KeptAnswer, Organisation, Scope
from advisor.models import (
    Delivery,
    NotificationChannel,
    NotificationRule,
    NotificationSilence,
    Team,
)
from advisor.notifications.deliver import deliver_next
from advisor.notifications.message import trial_message
from config.database_roles import DatabaseRole
from tests.advisor.notifications.receivers import web_sink
from tests.config.roles import acting_as, make_roles
from tests.web.api.asking import Program, program_of
from tests.web.api.test_door import problem
from tests.web.api.test_stated import done
from tests.web.fleet import Fleet
from tests.web.test_query_counts import count_queries

HOOK = {"name": "tickets", "kind": "webhook", "address": "https://t.example.org/very/secret?a=b"}
RULE = {
    "name": "nights", "channel": "tickets", "least": "promise_missed", "resources": ["nfs-07"],
    "teams": ["shop"], "tags": ["label.app=db"],
    "quiet": ["Mon-Sun 22:00 9h"], "zone": "Europe/Berlin", "grave_anyway": False,
    "tells_end": False,
}  # fmt: skip
CHANNELS, RULES = "notification-channels", "notification-rules"


@pytest.fixture
def owning(fleet: Fleet) -> Program:
    """Of the owner, who sets channels and rules; there is a team."""
    made_team(fleet)
    return program_of(fleet.people.owner, fleet.organisation)


def made_channel(fleet: Fleet, name: str = "tickets", **facts: Any) -> NotificationChannel:
    stated = {"kind": "webhook", "address": HOOK["address"], "secret": "s3cret", **facts}
    return NotificationChannel.objects.create(organisation=fleet.organisation, name=name, **stated)


def made_team(fleet: Fleet) -> Team:
    return Team.objects.create(organisation=fleet.organisation, name="shop", tags=["tag=shop"])


def made_delivery(fleet: Fleet, by: NotificationChannel, **facts: Any) -> Delivery:
    return Delivery.objects.create(
        organisation=fleet.organisation, channel=by, key=uuid4(), next_at=fleet.now,
        created_at=fleet.now, message=trial_message(by.name).plain(), **facts,
    )  # fmt: skip


def actions(fleet: Fleet) -> list[str]:
    rows = AuditEntry.objects.filter(organisation=fleet.organisation).order_by("number")
    return [one.action for one in rows]


# --- Channels


def test_secret_of_a_webhook_is_told_once_and_its_address_never(
    fleet: Fleet, owning: Program
) -> None:
    first = owning("PUT", CHANNELS, HOOK, idempotency_key="k1")
    replayed = owning("PUT", CHANNELS, HOOK, idempotency_key="k1")
    row = NotificationChannel.objects.get()
    later = [
        done(owning("PUT", CHANNELS, HOOK)),
        owning.read(f"{CHANNELS}/{row.pk}"),
        owning.read(CHANNELS),
    ]

    assert done(first)["secret"] == row.secret
    assert len(row.secret) >= 32
    assert replayed["Idempotency-Replayed"] == "true"
    assert done(replayed)["secret"] is None
    assert done(first)["leads_to"] == "https://t.example.org/…"
    kept = str(list(KeptAnswer.objects.values())) + str(list(AuditEntry.objects.values()))
    for told in (json.dumps(later), replayed.content.decode(), kept):
        assert row.secret not in told
        assert "very/secret" not in told
    assert actions(fleet) == ["state a channel", "change a channel"]


@pytest.mark.parametrize("who", ["viewer", "operator"])
def test_who_may_not_change_channels_reads_neither_addresses_nor_reasons(
    fleet: Fleet, who: str
) -> None:
    row = made_channel(fleet, stopped_at=fleet.now, stopped_because="ann@example.org is refused")
    sent = made_delivery(fleet, row, state="given up", reason="t.example.org is inside")
    program = program_of(getattr(fleet.people, who), fleet.organisation)

    read = [
        program.read(path)
        for path in (
            CHANNELS, f"{CHANNELS}/{row.pk}", "deliveries", f"deliveries/{sent.pk}",
        )
    ]  # fmt: skip

    assert read[1]["stopped_at"] is not None
    assert (read[1]["leads_to"], read[1]["stopped_because"]) == (None, None)
    assert (read[3]["subject"], read[3]["reason"]) == ("Sluice can reach you here", None)
    for hidden in ("example.org", "s3cret", "refused"):
        assert hidden not in json.dumps(read)


def test_admin_reads_why_a_channel_stopped_and_starts_it(fleet: Fleet, owning: Program) -> None:
    row = made_channel(fleet, stopped_at=fleet.now, stopped_because="it answers 404", failures=5)
    path = f"{CHANNELS}/{row.pk}"
    assert owning.read(path)["stopped_because"] == "it answers 404"
    assert problem(owning("POST", f"{path}/try")) == (409, "refused")

    started = done(owning("POST", f"{path}/start"))

    row.refresh_from_db()
    assert (started["stopped_at"], row.failures) == (None, 0)
    assert problem(owning("POST", f"{path}/start")) == (409, "refused")
    assert actions(fleet) == ["start a channel again"]


def test_channel_gathers_as_stated_and_keeps_its_address(fleet: Fleet, owning: Program) -> None:
    row = made_channel(fleet)
    stated = {"name": "tickets", "kind": "webhook", "digest": "day", "hour": 6,
              "zone": "Europe/Berlin"}  # fmt: skip

    told = done(owning("PUT", CHANNELS, stated))
    other = owning("PUT", CHANNELS, stated | {"kind": "mail"})

    row.refresh_from_db()
    assert (row.address, row.secret, told["secret"]) == (HOOK["address"], "s3cret", None)
    assert {name: told[name] for name in stated} == stated
    assert owning.read(f"{CHANNELS}/{row.pk}")["digest"] == "day"
    # The address of one kind is none of another.
    assert problem(other) == (409, "refused")
    assert row.kind == "webhook"


def test_channel_is_tried_and_its_delivery_says_what_became_of_it(
    fleet: Fleet, owning: Program, settings: Any
) -> None:
    settings.NOTIFY_INSIDE = True
    with web_sink() as web:
        row = made_channel(fleet, address=web.url)
        answer = owning("POST", f"{CHANNELS}/{row.pk}/try")
        before = done(answer, 201)
        deliver_next(fleet.organisation.pk, now=fleet.now)
        after = owning.read(answer["Location"])

    assert len(web.posts) == 1
    assert (before["state"], after["state"]) == ("waiting", "sent")
    assert web.posts[0].headers["Idempotency-Key"] == before["key"]


def test_channel_that_changed_meanwhile_is_not_overwritten(fleet: Fleet, owning: Program) -> None:
    row = made_channel(fleet)
    tag = owning("GET", f"{CHANNELS}/{row.pk}")["ETag"]

    # The part of the address that nobody is shown counts too.
    done(owning("PUT", CHANNELS, HOOK | {"address": "https://t.example.org/other"}, if_match=tag))

    assert problem(owning("PUT", CHANNELS, HOOK, if_match=tag)) == (412, "changed_meanwhile")
    assert problem(owning("DELETE", f"{CHANNELS}/{row.pk}", if_match=tag)) == (
        412, "changed_meanwhile",
    )  # fmt: skip


def test_channel_goes_with_its_rules_and_deliveries(fleet: Fleet, owning: Program) -> None:
    row = made_channel(fleet)
    made_delivery(fleet, row)
    done(owning("PUT", RULES, RULE))

    done(owning("DELETE", f"{CHANNELS}/{row.pk}"), 204)

    assert owning.read(CHANNELS)["items"] == owning.read(RULES)["items"] == []
    assert owning.read("deliveries")["items"] == []
    assert actions(fleet)[-1] == "remove a channel"


WRONG_CHANNELS = {
    "no name": ({"name": ""}, 422, ""),
    "blank name": ({"name": " "}, 409, "needs a name"),
    "long name": ({"name": "x" * 201}, 422, ""),
    "line in a name": ({"name": "a\nb"}, 409, "letters that can be printed"),
    "kind": ({"kind": "pigeon"}, 422, ""),
    "address": ({"address": "ftp://x"}, 409, "begins with https://"),
    "long address": ({"address": "https://x.org/" + "x" * 2000}, 422, ""),
    "service": ({"kind": "service", "address": "file:///etc/passwd"}, 409, "begins with one of"),
    "secret": ({"secret": "mine"}, 422, ""),
    "no address": ({"address": ""}, 409, "begins with https://"),
    "rhythm": ({"digest": "week"}, 422, ""),
    "hour": ({"digest": "day", "hour": 24}, 422, ""),
    "zone": ({"digest": "day", "zone": "Mars"}, 409, "not a time zone"),
}


@pytest.mark.parametrize(
    ("changed", "status", "why"), WRONG_CHANNELS.values(), ids=list(WRONG_CHANNELS)
)
def test_channel_that_cannot_be_is_refused(
    fleet: Fleet, owning: Program, changed: dict[str, str], status: int, why: str
) -> None:
    answer = owning("PUT", CHANNELS, HOOK | changed)

    assert problem(answer)[0] == status
    assert why in answer.json()["detail"]
    assert not NotificationChannel.objects.exists()
    assert actions(fleet) == []


# --- Rules


def test_rule_says_all_that_was_stated(fleet: Fleet, owning: Program) -> None:
    made_channel(fleet)

    stated = done(owning("PUT", RULES, RULE))
    read = owning.read(f"{RULES}/{stated['id']}")
    short = done(owning("PUT", RULES, {"name": "nights", "channel": "tickets"}))

    assert read == stated == {"id": stated["id"], **RULE}
    assert short["id"] == stated["id"]
    assert short == {
        "id": stated["id"], "name": "nights", "channel": "tickets", "least": "congested",
        "resources": [], "teams": [], "tags": [], "quiet": [],
        "zone": "UTC", "grave_anyway": True, "tells_end": True,
    }  # fmt: skip
    done(owning("DELETE", f"{RULES}/{stated['id']}"), 204)
    assert owning.read(RULES)["items"] == []
    assert actions(fleet) == [
        "state a rule of notifications", "state a rule of notifications",
        "remove a rule of notifications",
    ]  # fmt: skip


def test_rule_that_changed_meanwhile_is_not_overwritten(fleet: Fleet, owning: Program) -> None:
    made_channel(fleet)
    tag = owning("PUT", RULES, RULE)["ETag"]
    pk = NotificationRule.objects.get().pk
    assert owning("GET", f"{RULES}/{pk}")["ETag"] == tag

    done(owning("PUT", RULES, RULE | {"resources": []}, if_match=tag))

    assert problem(owning("PUT", RULES, RULE, if_match=tag)) == (412, "changed_meanwhile")


WRONG_RULES = {
    "blank name": ({"name": " "}, 409, "needs a name"),
    "channel": ({"channel": "theirs"}, 409, 'there is no channel "theirs"'),
    "severity": ({"least": "dire"}, 422, ""),
    "resource": ({"resources": ["nfs-07", "no-such"]}, 409, 'there is no resource "no-such"'),
    "many resources": ({"resources": ["nfs-07"] * 201}, 422, ""),
    "team": ({"teams": ["theirs"]}, 409, 'there is no team "theirs"'),
    "many teams": ({"teams": ["shop"] * 51}, 422, ""),
    "tag": ({"tags": ["shop"]}, 422, ""),
    "tag of a line": ({"tags": ["label.app=a\nb"]}, 422, ""),
    "window": ({"quiet": ["nights"]}, 409, "no window of the week"),
    "many windows": ({"quiet": ["Sat 22:00 6h"] * 21}, 422, ""),
    "zone": ({"zone": "Mars"}, 409, "not a time zone"),
    "NUL": ({"zone": "a\x00b"}, 422, ""),
    "more": ({"telepathy": True}, 422, ""),
}


@pytest.mark.parametrize(("changed", "status", "why"), WRONG_RULES.values(), ids=list(WRONG_RULES))
def test_rule_that_makes_no_sense_is_refused(
    fleet: Fleet, owning: Program, changed: dict[str, Any], status: int, why: str
) -> None:
    made_channel(fleet)

    answer = owning("PUT", RULES, RULE | changed)

    assert problem(answer)[0] == status
    assert why in answer.json()["detail"]
    assert not NotificationRule.objects.exists()


# --- Silences


def later(fleet: Fleet, **length: float) -> str:
    return (fleet.now + timedelta(**length)).isoformat()


def test_operator_silences_a_resource_and_tells_again(fleet: Fleet, program: Program) -> None:
    resource = fleet.resources["nfs-07"]
    stated = {"resource_id": resource.pk, "until": later(fleet, hours=2), "reason": "disk"}

    made = done(program("POST", "silences", stated), 201)
    read = program.read(f"silences/{made['id']}")
    listed = program.read("silences")["items"]
    done(program("DELETE", f"silences/{made['id']}"), 204)

    assert [read] == listed == [made]
    assert (made["resource"], made["made_by"]) == ("nfs-07", "operator")
    assert program.read("silences")["items"] == []
    assert actions(fleet) == ["silence notifications", "end a silence"]


def test_silence_that_ended_is_none(fleet: Fleet, program: Program) -> None:
    row = NotificationSilence.objects.create(
        organisation=fleet.organisation, until=fleet.now - timedelta(seconds=1), made_by="a"
    )

    assert program.read("silences")["items"] == []
    assert program("GET", f"silences/{row.pk}").status_code == 404


@pytest.mark.parametrize(
    ("changed", "status"),
    [({"until": {"hours": -1}}, 409), ({"until": {"days": 31}}, 409), ({"until": {}}, 409),
     ({"reason": "x" * 301}, 422), ({"reason": "a\nb"}, 409), ({"resource_id": 10**9}, 404)],
    ids=str,
)  # fmt: skip
def test_silence_that_makes_no_sense_is_refused(
    fleet: Fleet, program: Program, changed: dict[str, Any], status: int
) -> None:
    stated = {"until": {"hours": 1}} | changed

    answer = program("POST", "silences", stated | {"until": later(fleet, **stated["until"])})

    assert problem(answer)[0] == status
    assert not NotificationSilence.objects.exists()


# --- Who may


@pytest.mark.parametrize(
    ("who", "scope", "may_silence"),
    [
        ("viewer", Scope.WRITE, False),
        ("operator", Scope.WRITE, True),
        ("owner", Scope.READ, False),
    ],
)
def test_who_may_not_is_refused_and_changes_nothing(
    fleet: Fleet, who: str, scope: Scope, *, may_silence: bool
) -> None:
    row = made_channel(fleet)
    rule = NotificationRule.objects.create(
        organisation=fleet.organisation, name="nights", channel=row
    )
    program = program_of(getattr(fleet.people, who), fleet.organisation, scope)

    refused = [
        program(method, path, body).status_code
        for method, path, body in (
            ("PUT", CHANNELS, HOOK), ("DELETE", f"{CHANNELS}/{row.pk}", None),
            ("POST", f"{CHANNELS}/{row.pk}/try", None),
            ("POST", f"{CHANNELS}/{row.pk}/start", None),
            ("PUT", RULES, RULE), ("DELETE", f"{RULES}/{rule.pk}", None),
        )
    ]  # fmt: skip
    silenced = program("POST", "silences", {"until": later(fleet, hours=1)}).status_code

    assert refused == [403] * 6
    assert silenced == (201 if may_silence else 403)
    assert NotificationChannel.objects.get() == row
    assert NotificationRule.objects.get().least == 1
    assert not Delivery.objects.exists()


def test_another_organisation_has_its_own(fleet: Fleet, owning: Program, foreign: Program) -> None:
    row = made_channel(fleet)
    rule = done(owning("PUT", RULES, RULE))
    silence = done(owning("POST", "silences", {"until": later(fleet, hours=1)}), 201)
    sent = made_delivery(fleet, row)

    for path in (CHANNELS, RULES, "silences", "deliveries"):
        assert foreign.read(path)["items"] == []
    for path in (
        f"{CHANNELS}/{row.pk}", f"{RULES}/{rule['id']}", f"silences/{silence['id']}",
        f"deliveries/{sent.pk}",
    ):  # fmt: skip
        assert foreign("GET", path).status_code == 404
    # By name nobody reaches what is of others.
    assert problem(foreign("PUT", RULES, {"name": "n", "channel": "tickets"})) == (409, "refused")
    done(foreign("PUT", CHANNELS, HOOK | {"address": "https://theirs.example.org/"}))
    refused = foreign("PUT", RULES, RULE)
    assert 'there is no team "shop"' in refused.json()["detail"]
    refused = foreign("PUT", RULES, RULE | {"teams": []})
    assert 'there is no resource "nfs-07"' in refused.json()["detail"]
    stated = {"until": later(fleet, hours=1), "resource_id": fleet.resources["nfs-07"].pk}
    assert foreign("POST", "silences", stated).status_code == 404
    row.refresh_from_db()
    assert row.address == HOOK["address"]
    lakeside = Organisation.objects.get(slug="lakeside")
    assert NotificationChannel.objects.get(organisation=lakeside).secret != row.secret


def test_all_of_it_works_with_the_rights_of_the_web_server(
    fleet: Fleet, owning: Program, settings: Any
) -> None:
    make_roles()
    settings.HAS_ROW_WALLS = True

    with acting_as(DatabaseRole.WEB):
        channel = done(owning("PUT", CHANNELS, HOOK))
        rule = done(owning("PUT", RULES, RULE))
        sent = done(owning("POST", f"{CHANNELS}/{channel['id']}/try"), 201)
        assert owning.read("deliveries")["items"] == [sent]
        silence = done(owning("POST", "silences", {"until": later(fleet, hours=1)}), 201)
        done(owning("DELETE", f"silences/{silence['id']}"), 204)
        done(owning("DELETE", f"{RULES}/{rule['id']}"), 204)
        done(owning("DELETE", f"{CHANNELS}/{channel['id']}"), 204)

    assert len(actions(fleet)) == 6


def test_lists_ask_as_much_for_many_as_for_few(fleet: Fleet, owning: Program) -> None:
    paths = (CHANNELS, RULES, "silences", "deliveries")

    def add(number: int) -> list[int]:
        for one in range(number):
            row = made_channel(fleet, f"channel {number} {one}")
            rule = NotificationRule.objects.create(
                organisation=fleet.organisation, name=f"rule {number} {one}", channel=row
            )
            rule.resources.set([fleet.resources["nfs-07"]])
            NotificationSilence.objects.create(
                organisation=fleet.organisation, until=fleet.now + timedelta(hours=1),
                made_by="a", resource=fleet.resources["nfs-07"],
            )  # fmt: skip
            made_delivery(fleet, row)
        return [count_queries(lambda path=path: owning.read(path)) for path in paths]

    add(1)
    assert add(9) == add(20)
