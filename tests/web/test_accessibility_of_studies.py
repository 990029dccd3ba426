"""The rules of every page hold for what-if, cause, replay and advice too."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from advisor.advice.recommendation_store import keep
from advisor.advice.registry import answer, kind_named
from advisor.core.canonical import dumps
from advisor.models import Incident
from tests.advisor.advice.test_kinds import STORED
from tests.web import test_accessibility as rules
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of

pytestmark = pytest.mark.any_database

RULES = [
    getattr(rules, name)
    for name in sorted(vars(rules))
    if name.startswith("test_") and name != "test_current_section_is_marked_once"
]


def advice(fleet: Fleet) -> str:
    inputs = dumps(STORED["queue_depth"])
    row = keep(
        resource=fleet.resources["nfs-07"],
        kind=kind_named("queue_depth"),
        incident=None,
        inputs=inputs,
        found=answer("queue_depth", inputs),
        now=fleet.now,
    )
    return f"/recommendations/{row.pk}/"


def what_if(fleet: Fleet, *, query: str = "hours=1") -> str:
    return f"/resources/{fleet.resources['nfs-07'].pk}/what-if/?{query}"


PAGES: dict[str, Callable[[Fleet], str]] = {
    "what if": what_if,
    "what if with a wrong number": lambda fleet: what_if(fleet, query="hours=1&capacity=x"),
    "cause": lambda _: f"/incidents/{Incident.objects.get().pk}/cause/",
    "replays": lambda _: "/replay/",
    "replay with a player": lambda _: "/replay/sioc-nfs-idle-vm/",
    "replay of a scale": lambda _: "/replay/vmfs-hosts-per-lun/",
    "advice": advice,
}


@pytest.fixture(scope="module")
def rendered() -> dict[str, Page]:
    """Each page once: no rule changes it."""
    return {}


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest, story: Fleet, rendered: dict[str, Page]) -> Page:
    name = request.param
    if name not in rendered:
        fleet, operator = (request.getfixturevalue(one) for one in ("fleet", "operator"))
        rendered[name] = page_of(operator.get(PAGES[name](fleet)))
    return rendered[name]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__.removeprefix("test_"))
def test_page_keeps_the_rule(page: Page, rule: Callable[[Page], None]) -> None:
    rule(page)
