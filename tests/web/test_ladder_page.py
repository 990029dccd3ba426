"""The page of the ladder: what holds where and why, and rules that admins set and take back."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry, Organisation
from advisor.models import LadderRule
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of

NIGHTS = {
    "name": "nights", "resource": "", "tier": "high", "kind": "policy", "level": "act",
    "windows": "Sat 22:00 6h\nMon-Fri 01:00 90min", "zone": "Europe/Berlin",
    "frozen_from": "2036-12-20T00:00", "frozen_until": "2037-01-07T00:00",
    "because": "end of the year", "cool_down": "6h", "most_per_day": "3", "second_person": "on",
    "confirmed": "yes",
}  # fmt: skip


@pytest.fixture
def admin(fleet: Fleet) -> Client:
    return client_of(fleet.people.owner)


def rule(fleet: Fleet, name: str, **said: Any) -> LadderRule:
    return LadderRule.objects.create(organisation=fleet.organisation, name=name, **said)


def ladder(client: Client, query: str = "") -> Page:
    return page_of(client.get(reverse("ladder") + query))


def send(client: Client, verb: str, form: dict[str, str] | None = None) -> Page:
    return page_of(client.post(reverse(verb), form or {}, follow=True))


def test_form_states_all_that_a_rule_can_say_and_shows_it_again(
    admin: Client, fleet: Fleet
) -> None:
    send(admin, "set-rule", NIGHTS)

    row = LadderRule.objects.get(organisation=fleet.organisation)
    assert (row.tier, row.kind, row.level, row.second_person) == ("high", "policy", "act", True)
    assert (row.windows, row.zone) == (["Sat 22:00 6h", "Mon-Fri 01:00 90min"], "Europe/Berlin")
    # Midnight in Berlin's winter.
    assert row.frozen_from is not None
    assert row.frozen_from.isoformat() == "2036-12-19T23:00:00+00:00"
    assert (row.cooldown_s, row.most_changes_per_day) == (6 * 3600, 3)
    again = ladder(admin, "?rule=nights")
    shown = {one.get("id"): one.get("value") for one in again.elements("main input")}
    ids = {"name": "name", "zone": "zone", "frozen_from": "from", "frozen_until": "until",
           "because": "because", "cool_down": "cool-down"}  # fmt: skip
    assert {name: shown[f"rule-{key}"] for name, key in ids.items()} == {
        name: NIGHTS[name] for name in ids
    }
    entry = AuditEntry.objects.get(action="set a rule of the ladder")
    assert entry.actor == fleet.people.owner.get_username()


def test_rule_that_lets_sluice_act_is_confirmed_first(admin: Client) -> None:
    page = send(admin, "set-rule", NIGHTS | {"confirmed": ""})

    assert "Let Sluice approve by itself?" in page.text("#confirm-act")
    assert page.find("input", id="rule-name").get("value") == "nights"
    assert not LadderRule.objects.exists()
    sent = {one["name"]: one["value"] for one in page.elements("#confirm-act form input")}
    # It asks for two people, so it lets Sluice approve nothing yet.
    assert "For now it lets Sluice approve nothing more." in page.text("#confirm-act")
    send(admin, "set-rule", sent | {"confirmed": "yes"})
    assert LadderRule.objects.get().windows == ["Sat 22:00 6h", "Mon-Fri 01:00 90min"]


ACTS = {"level": "act", "cooldown_s": 60.0, "most_changes_per_day": 9}


@pytest.mark.parametrize("said", [{"level": "tell"}, {"level": "ask"}, {"second_person": True}])
def test_rule_whose_removal_lets_sluice_act_is_removed_when_that_is_confirmed(
    admin: Client, fleet: Fleet, said: dict[str, Any]
) -> None:
    rule(fleet, "free", tier="low", **ACTS)
    row = rule(fleet, "calm", **said)

    unconfirmed = send(admin, "remove-rule", {"name": "calm"})

    assert LadderRule.objects.filter(name="calm").exists()
    dialog = f"#remove-{row.pk}"
    assert "Sluice will then approve by itself (rule free): policy, tier low" in (
        unconfirmed.text(dialog)
    )
    assert "data-open-now" in unconfirmed.find("dialog", id=f"remove-{row.pk}").attributes
    asked = unconfirmed.find(f"{dialog} input", name="confirmed").get("value") or ""
    send(admin, "remove-rule", {"name": "calm", "confirmed": asked})
    assert not LadderRule.objects.filter(name="calm").exists()


def test_removal_that_lets_nobody_act_asks_once_and_tells_what_holds_then(
    admin: Client, fleet: Fleet
) -> None:
    rule(fleet, "free", **ACTS)
    rule(fleet, "careful", level="ask", windows=["Sat 22:00 6h"])
    row = rule(fleet, "calm", level="tell", second_person=True)

    told = ladder(admin).text(f"#remove-{row.pk}")
    send(admin, "remove-rule", {"name": "calm"})

    assert "approve by itself" not in told
    assert "The level is then ask, rule careful: policy, all tiers, every resource." in told
    assert "held up by it no more; rules careful and free still can." in told
    assert not LadderRule.objects.filter(name="calm").exists()


def test_rewritten_rule_that_lets_sluice_act_is_confirmed_first(
    admin: Client, fleet: Fleet
) -> None:
    rule(fleet, "free", **ACTS)
    rule(fleet, "calm", level="tell")
    narrower = {"name": "calm", "level": "tell", "tier": "high"}

    page = send(admin, "set-rule", narrower)

    asked = page.text("#confirm-act")
    assert "will then approve by itself (rule free): policy, tiers medium, low and none" in asked
    assert LadderRule.objects.get(name="calm").tier == ""
    answer = page.find("#confirm-act button", name="confirmed").get("value") or ""
    send(admin, "set-rule", narrower | {"confirmed": answer})
    assert LadderRule.objects.get(name="calm").tier == "high"


def test_undo_that_lets_sluice_act_says_so(admin: Client, fleet: Fleet) -> None:
    rule(fleet, "free", **ACTS)

    page = send(admin, "set-rule", {"name": "calm", "level": "tell"})
    unsaid = send(admin, "undo-rule")

    assert "Sluice will then approve by itself (rule free)" in page.text("#undo")
    assert "confirm it first" in unsaid.text(".messages")
    assert LadderRule.objects.filter(name="calm").exists()
    answer = page.find("#undo input", name="confirmed").get("value") or ""
    send(admin, "undo-rule", {"confirmed": answer})
    assert not LadderRule.objects.filter(name="calm").exists()


def test_confirmation_counts_for_what_was_asked_alone(admin: Client, fleet: Fleet) -> None:
    free = rule(fleet, "free", tier="low", **ACTS)
    row = rule(fleet, "calm", level="tell")
    asked = f"#remove-{row.pk} input"
    seen = ladder(admin).find(asked, name="confirmed").get("value") or ""
    LadderRule.objects.filter(pk=free.pk).update(tier="")

    again = send(admin, "remove-rule", {"name": "calm", "confirmed": seen})

    assert LadderRule.objects.filter(name="calm").exists()
    now = again.find(asked, name="confirmed").get("value") or ""
    assert "tier low" in seen
    assert "all tiers" in now
    send(admin, "remove-rule", {"name": "calm", "confirmed": now})
    assert not LadderRule.objects.filter(name="calm").exists()


def test_what_holds_is_told_by_scope_with_its_rule(operator: Client, fleet: Fleet) -> None:
    rule(fleet, "free", level="act", cooldown_s=60.0, most_changes_per_day=9)
    rule(fleet, "careful", tier="high", level="ask", second_person=True)
    rule(fleet, "calm", resource=fleet.resources["nfs-07"], level="tell")

    page = ladder(operator)

    rows = [row.all_text() for row in page.elements("#scopes tbody tr")]
    assert len(rows) == 2
    assert "nfs-07" in rows[0]
    assert rows[0].count("tell, rule calm") == 3
    assert "ask, rule careful; two people, rule careful" in rows[1]
    assert rows[1].count("act, rule free") == 2
    waits = page.text("#waiting")
    assert 'Not now: rule "calm": Sluice tells, and nothing is approved' in waits


def test_removed_rule_comes_back_by_undo(admin: Client, fleet: Fleet) -> None:
    send(admin, "set-rule", NIGHTS)
    before = LadderRule.objects.values().get()

    page = send(admin, "remove-rule", {"name": "nights"})
    assert not LadderRule.objects.exists()
    assert "You changed rule nights" in page.text("#undo")
    send(admin, "undo-rule")

    after = LadderRule.objects.values().get()
    assert after | {"id": None} == before | {"id": None}
    assert not ladder(admin).elements("#undo")


def test_changed_rule_goes_back_and_a_new_one_goes(admin: Client, fleet: Fleet) -> None:
    rule(fleet, "nights", level="tell")

    send(admin, "set-rule", NIGHTS)
    send(admin, "undo-rule")
    assert LadderRule.objects.get().level == "tell"

    send(admin, "set-rule", NIGHTS | {"name": "other"})
    send(admin, "undo-rule")
    assert LadderRule.objects.get().name == "nights"


def test_undo_takes_nothing_of_somebody_else_back(admin: Client, fleet: Fleet) -> None:
    send(admin, "set-rule", NIGHTS)
    LadderRule.objects.update(level="tell")

    page = send(admin, "undo-rule")

    assert 'rule "nights" was changed since' in page.text(".messages")
    assert LadderRule.objects.get().level == "tell"
    assert "there is nothing to undo" in send(admin, "undo-rule").text(".messages")


WRONG = {
    "states nothing": ({"level": "", "windows": "", "cool_down": "", "most_per_day": "",
                        "frozen_from": "", "frozen_until": "", "second_person": ""},
                       "it states nothing"),
    "acts without bounds": ({"cool_down": ""}, "a cool-down and a cap"),
    "no name": ({"name": " "}, "a rule needs a name"),
    "long name": ({"name": "x" * 300}, "300 characters; it can have 200"),
    "NUL": ({"because": "a\x00b"}, "cannot be stored"),
    "other resource": ({"resource": "no-such"}, 'there is no resource "no-such"'),
    "tier": ({"tier": "best"}, '"best" is no tier'),
    "kind": ({"kind": "magic"}, '"magic" is no kind of advice'),
    "level": ({"level": "dance"}, '"dance" is no level'),
    "window": ({"windows": "Sat"}, "no window of the week"),
    "many windows": ({"windows": "Sat 22:00 6h\n" * 21}, "21 windows"),
    "zone": ({"zone": "Mars"}, "not a time zone"),
    "half a freeze": ({"frozen_until": ""}, "a beginning and an end"),
    "freeze backwards": ({"frozen_until": "2036-01-01T00:00"}, "ends before it begins"),
    "no time": ({"frozen_from": "soon"}, "is not a time"),
    "length": ({"cool_down": "soon"}, "is not a length"),
    "endless": ({"cool_down": "9" * 400 + "d"}, "no longer than 366 days"),
    "count": ({"most_per_day": "many"}, "no number of changes"),
    "too many": ({"most_per_day": "99999999"}, "0 to 100,000"),
}  # fmt: skip


@pytest.mark.parametrize(("changed", "why"), WRONG.values(), ids=list(WRONG))
def test_form_that_makes_no_sense_is_refused_and_shown_again(
    admin: Client, changed: dict[str, str], why: str
) -> None:
    answer = admin.post(reverse("set-rule"), NIGHTS | changed)

    page = page_of(answer, status=400)
    assert why in page.text("#rule-error")
    if "zone" not in changed:
        assert page.find("input", name="zone").get("value") == "Europe/Berlin"
    assert not LadderRule.objects.exists()


@pytest.mark.parametrize("who", ["operator", "viewer"])
@pytest.mark.parametrize("verb", ["set-rule", "remove-rule", "undo-rule"])
def test_rules_are_set_by_admins_alone(fleet: Fleet, who: str, verb: str) -> None:
    rule(fleet, "calm", level="tell")
    client = client_of(getattr(fleet.people, who))

    status = client.post(reverse(verb), NIGHTS | {"name": "calm"}).status_code

    assert status == 403
    assert LadderRule.objects.get().level == "tell"
    assert not ladder(client).elements("#rule-name")


def test_page_works_with_the_rights_of_the_web_server(admin: Client, fleet: Fleet) -> None:
    make_roles()

    with acting_as(DatabaseRole.WEB):
        send(admin, "set-rule", NIGHTS)
        send(admin, "remove-rule", {"name": "nights"})
        send(admin, "undo-rule")

    assert LadderRule.objects.get().name == "nights"


def test_other_organisations_keep_their_rules(admin: Client, fleet: Fleet) -> None:
    other = Organisation.objects.exclude(pk=fleet.organisation.pk)[0]
    LadderRule.objects.create(organisation=other, name="theirs", level="tell")

    page = send(admin, "remove-rule", {"name": "theirs"})

    assert "there is no rule" in page.text(".messages")
    assert "theirs" not in ladder(admin).text("main table")
    assert LadderRule.objects.get().name == "theirs"
