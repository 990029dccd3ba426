"""Teams and tags through the API."""

from __future__ import annotations

from accounts.models import AuditEntry, Organisation
from advisor.decisions.teams import set_team
from advisor.models import Team, Workload
from tests.web.api.asking import Program
from tests.web.api.test_door import problem
from tests.web.api.test_stated import done
from tests.web.fleet import Fleet

SHOP = "label.team=shop"


def names(program: Program, query: str) -> list[str]:
    return [one["name"] for one in program.read(f"workloads?{query}")["items"]]


def test_team_is_stated_changed_and_removed(program: Program) -> None:
    body = {"name": "shop", "tags": [SHOP], "members": ["viewer", "operator"]}

    made = done(program("PUT", "teams", body))
    tag = program("GET", f"teams/{made['id']}")["ETag"]
    changed = done(program("PUT", "teams", {"name": "shop", "tags": ["tag=a"]}, if_match=tag))
    stale = program("PUT", "teams", body, if_match=tag)
    listed = program.read("teams")["items"]
    gone = program("DELETE", f"teams/{made['id']}")

    assert made["members"] == ["operator", "viewer"]
    assert changed == {**made, "tags": ["tag=a"]}
    assert problem(stale) == (412, "changed_meanwhile")
    assert (listed, gone.status_code) == ([changed], 204)
    assert not Team.objects.exists()
    assert [one.action for one in AuditEntry.objects.all()] == [
        "state team", "state team", "remove team",
    ]  # fmt: skip


def test_stated_tags_say_who_owns_a_workload(fleet: Fleet, program: Program) -> None:
    row = Workload.objects.get(name="db-orders")
    path = f"workloads/{row.pk}"
    done(program("PUT", "teams", {"name": "shop", "tags": [SHOP]}))
    tag = program("GET", path)["ETag"]

    found = done(program("PUT", f"{path}/tags", {"tags": [SHOP]}, if_match=tag))
    stale = program("PUT", f"{path}/tags", {"tags": []}, if_match=tag)

    assert (found["tags"], found["teams"]) == ([SHOP], ["shop"])
    assert (found["tier"], found["is_tier_stated"]) == (row.tier, row.tier_stated)
    assert problem(stale) == (412, "changed_meanwhile")
    assert names(program, "team=shop") == names(program, f"tag={SHOP}") == ["db-orders"]
    assert names(program, "team=nobody") == names(program, "tag=tag=a") == []
    without = done(program("PUT", f"{path}/tags", {"tags": []}))
    assert (without["tags"], without["teams"]) == ([], [])


def test_tier_is_stated_and_tags_stay(program: Program) -> None:
    path = f"workloads/{Workload.objects.get(name='db-orders').pk}"
    done(program("PUT", f"{path}/tags", {"tags": [SHOP]}))
    done(program("PATCH", path, {"tier": "low"}))

    found = done(program("PATCH", path, {"tier": None}))

    assert (found["is_tier_stated"], found["stated_tags"]) == (False, [SHOP])


def test_what_is_no_tag_is_refused(program: Program) -> None:
    assert problem(program("PUT", "teams", {"name": "a", "tags": ["team=shop"]})) == (
        422, "invalid",
    )  # fmt: skip
    assert problem(program("PUT", "teams", {"name": "a", "tags": ["tag= "]})) == (409, "refused")
    assert problem(program("PUT", "teams", {"name": "a", "members": ["outsider"]})) == (
        409, "refused",
    )  # fmt: skip
    assert not Team.objects.exists()


def test_viewer_and_strangers_state_nothing(
    fleet: Fleet, viewing: Program, foreign: Program
) -> None:
    team = set_team(organisation=fleet.organisation, name="shop", tags=[SHOP], members=["viewer"])

    refused = viewing("PUT", "teams", {"name": "shop", "tags": []})

    assert problem(refused) == (403, "not_allowed")
    assert problem(foreign("GET", f"teams/{team.pk}")) == (404, "not_found")
    assert problem(foreign("DELETE", f"teams/{team.pk}")) == (404, "not_found")
    assert foreign.read("teams")["items"] == []
    # A team of the same name elsewhere is another one.
    done(foreign("PUT", "teams", {"name": "shop"}))
    assert Team.objects.get(organisation=fleet.organisation).tags == [SHOP]
    assert Team.objects.get(organisation=Organisation.objects.get(slug="lakeside")).tags == []
