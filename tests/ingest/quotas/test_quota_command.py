"""`sluice quota`, as people and programs use it."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from tests.ingest.quotas.test_new_series import send
from tests.ingest.scenario import Tenant, disk_line, now

NOBODY_ANSWERS = "redis://127.0.0.1:1/0"


@pytest.fixture(autouse=True)
def no_queue(settings: Any) -> None:
    settings.REDIS_URL = NOBODY_ANSWERS


def run(*words: str) -> str:
    output = StringIO()
    call_command("quota", *words, stdout=output, stderr=StringIO())
    return output.getvalue()


def quotas(*words: str) -> dict[str, Any]:
    return {row["quota"]: row for row in json.loads(run("--json", *words))}


def test_without_quotas_the_use_is_shown(client: Client, tenant: Tenant) -> None:
    send(client, tenant, disk_line(now()), disk_line(now(), name="sdb"))

    found = quotas()

    assert {name: row["limit"] for name, row in found.items()} == {
        "points_per_s": None,
        "bytes_per_s": None,
        "series": None,
        "hosts": None,
    }
    assert (found["series"]["used"], found["hosts"]["used"]) == (2, 1)
    # The queue's server, which adds up rates, does not answer.
    assert found["points_per_s"]["used"] is None


def test_quotas_are_set_one_by_one_and_given_back_to_the_installation(
    tenant: Tenant, settings: Any
) -> None:
    settings.QUOTAS = {**settings.QUOTAS, "series": 7000, "hosts": 70}

    run("set", "--points-per-s", "100", "--series", "5", "--hosts", "none")
    first = quotas()
    run("set", "--series", "default")
    second = quotas()

    assert [row["limit"] for row in first.values()] == [100, None, 5, None]
    assert [row["limit"] for row in second.values()] == [100, None, 7000, None]


def test_other_organisations_keep_theirs(tenant: Tenant, stranger: Tenant) -> None:
    run("--organisation", "northgate", "set", "--hosts", "3")

    assert quotas("--organisation", "northgate")["hosts"]["limit"] == 3
    assert quotas("--organisation", "lakeside")["hosts"]["limit"] is None


def test_what_was_refused_is_shown(client: Client, tenant: Tenant) -> None:
    run("set", "--hosts", "1")
    send(client, tenant, disk_line(now(), host="h1"))
    send(client, tenant, disk_line(now(), host="h2"))

    found = quotas()["hosts"]

    assert (found["refused_bodies"], found["lost_points"]) == (1, 0)
    assert found["last_hit_at"] is not None
    assert "refused bodies" in run()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["set"], "name a quota: --points-per-s, --bytes-per-s, --series, --hosts"),
        (["set", "--hosts", "0"], '"0" is no whole number above 0, "none" or "default"'),
        (["set", "--hosts", "many"], '"many" is no whole number above 0, "none" or "default"'),
    ],
    ids=["nothing", "zero", "a word"],
)
def test_wrong_quota_is_refused(tenant: Tenant, words: list[str], said: str) -> None:
    with pytest.raises(CommandError) as refused:
        run(*words)

    assert said in str(refused.value)
