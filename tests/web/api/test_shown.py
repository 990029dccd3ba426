"""Quotas and replays, which programs read alone."""

from __future__ import annotations

from accounts.services.organisation import set_quotas
from advisor.lab.replay.player import NAMES
from tests.web.api.asking import Program
from tests.web.api.test_door import problem
from tests.web.fleet import Fleet


def test_quotas_are_told_with_their_use(fleet: Fleet, viewing: Program) -> None:
    set_quotas(fleet.organisation, {"hosts": 50, "series": 0})

    rows = {one["quota"]: one for one in viewing.read("quotas")["items"]}

    assert (rows["hosts"]["limit"], rows["series"]["limit"]) == (50, None)
    assert rows["hosts"]["used"] == len(fleet.hosts)
    assert problem(viewing("PUT", "quotas", {"hosts": 60})) == (405, "method_not_allowed")


def test_replay_has_what_its_page_plays(viewing: Program) -> None:
    rows = viewing.read("replays")["items"]

    one = viewing.read(f"replays/{rows[0]['name']}")

    assert [row["name"] for row in rows] == list(NAMES)
    assert {name: one[name] for name in rows[0]} == rows[0]
    assert one["panels"]
    assert one["findings"]
    assert problem(viewing("GET", "replays/no-such")) == (404, "not_found")
