"""`sluice pool`: what people type, and what they read of it."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Organisation
from advisor.models import Pool
from tests.advisor.scenario import MBIT, Cluster, make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def cluster() -> Cluster:
    cluster = make_cluster()
    Organisation.objects.filter(slug="other").delete()
    return cluster


def sluice(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def sluice_json(*words: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(sluice(*words, "--json"))
    return found


def test_pool_takes_rates_as_people_write_them() -> None:
    sluice(
        "pool", "set", "h1/up0", "web", "--reservation", "75Mbit", "--limit", "80Mbit",
        "--shares", "2000", "--member", "web-1", "web-2",
    )  # fmt: skip

    (row,) = sluice_json("pool")

    assert (row["resource"], row["pool"], row["members"]) == ("h1/up0", "web", ["web-1", "web-2"])
    assert (row["reservation"], row["limit"], row["shares"]) == (75 * MBIT, 80 * MBIT, 2000)
    assert {one["workload"]: one["pool"] for one in sluice_json("allocation")} == {
        "web-1": "web", "web-2": "web", "web-3": None,
    }  # fmt: skip


def test_pool_without_terms_says_by_what_it_counts() -> None:
    text = sluice("pool", "set", "h1/up0", "web", "--member", "web-2")

    assert "its members' shares" in text


def test_option_for_members_alone_empties_the_pool() -> None:
    sluice("pool", "set", "h1/up0", "web", "--member", "web-1", "web-2")

    sluice("pool", "set", "h1/up0", "web", "--member")

    assert sluice_json("pool")[0]["members"] == []


def test_removed_pool_is_gone() -> None:
    sluice("pool", "set", "h1/up0", "web", "--member", "web-1")

    text = sluice("pool", "remove", "h1/up0", "web")

    assert "no pools yet" in text
    assert not Pool.objects.exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["set", "nowhere", "web"], 'there is no resource "nowhere"'),
        (["set", "h1/up0", "web", "--limit", "75 parsec"], "75 parsec"),
        (["set", "h1/up0", "web", "--member", "db"], "no allocation on h1/up0: db"),
        (["remove", "h1/up0", "db"], 'h1/up0 has no pool "db"; there are: none'),
    ],
    ids=["resource", "rate", "member", "pool"],
)
def test_pool_that_cannot_be_is_refused_in_one_line(words: list[str], complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint) as refused:
        sluice("pool", *words)

    assert "\n" not in str(refused.value)
