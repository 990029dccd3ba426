"""`sluice status`: what it says of each resource, and what its exit status says of all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command, load_command_class
from django.utils import timezone

from accounts.models import Organisation
from advisor.decisions.maintenance_windows import add_maintenance_window
from advisor.management.status_exit import StatusExit
from advisor.models import Incident, Resource, ResourceStatus, State
from tests.advisor.judged_windows import judge, judged_window
from tests.advisor.stated_datastores import stated_datastore

pytestmark = pytest.mark.django_db

CLEAR, CONGESTED, STALLED, UNKNOWN = State
FRESH, LATE = timedelta(seconds=10), timedelta(minutes=11, seconds=30)
STALE = "not evaluated for 11 min (background worker is behind)"


@pytest.fixture
def acme() -> Organisation:
    return Organisation.objects.create(slug="acme", name="Acme")


def datastore(
    acme: Organisation, name: str, state: State, age: timedelta | None = FRESH
) -> Resource:
    """A datastore that was in this state when it was evaluated, so long ago."""
    resource = stated_datastore(acme, name, "h1")
    now = timezone.now()
    at = None if age is None else now - age
    reason = "the newest samples are old" if state == UNKNOWN else "as measured"
    ResourceStatus.objects.create(resource=resource, state=state, looked_at=at, reason=reason)
    if at is not None:
        judge(resource, judged_window(at, state))
    return resource


def status() -> tuple[int, list[Mapping[str, Any]]]:
    """The exit status and the rows of `sluice status --json`."""
    out = StringIO()
    try:
        call_command("status", "--json", stdout=out)
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    return code, json.loads(out.getvalue())["resources"]


@pytest.mark.parametrize(
    ("resources", "code"),
    [
        ([(CLEAR, FRESH)], 0),
        ([(CLEAR, FRESH), (CONGESTED, FRESH)], 1),
        ([(CLEAR, FRESH), (STALLED, FRESH)], 1),
        # What is known to be bad is not hidden by what is not known.
        ([(CLEAR, LATE), (CONGESTED, FRESH)], 1),
        ([(CLEAR, FRESH), (CLEAR, LATE)], 3),
        # It was congested, and nobody knows whether it is.
        ([(CONGESTED, LATE)], 3),
        ([(STALLED, LATE)], 3),
        ([(CLEAR, FRESH), (UNKNOWN, FRESH)], 3),
        ([(CLEAR, FRESH), (UNKNOWN, None)], 3),
        ([(UNKNOWN, FRESH)], 4),
        ([(UNKNOWN, None)], 4),
        ([], 4),
    ],
    ids=[
        "all clear", "one congested", "one stalled", "congested beside stale", "one stale",
        "congested when last evaluated", "stalled when last evaluated", "one without samples",
        "one never evaluated", "nothing was ever judged", "nothing was evaluated", "no resource",
    ],
)  # fmt: skip
def test_exit_status_says_the_gravest_that_is_known(
    acme: Organisation, resources: list[tuple[State, timedelta | None]], code: int
) -> None:
    for index, (state, age) in enumerate(resources):
        datastore(acme, f"ds{index}", state, age)

    found, rows = status()

    assert found == code
    assert len(rows) == len(resources)


def test_what_is_stale_is_unknown_with_its_age(acme: Organisation) -> None:
    datastore(acme, "ds1", CLEAR, LATE)

    _, (row,) = status()

    assert (row["state"], row["stale"], row["reason"]) == ("unknown", True, STALE)
    assert datetime.fromisoformat(row["evaluated_at"]) < timezone.now() - timedelta(minutes=11)


def test_table_says_the_same_as_the_document(acme: Organisation) -> None:
    datastore(acme, "ds1", CLEAR, LATE)
    out = StringIO()

    with pytest.raises(SystemExit):
        call_command("status", stdout=out)

    assert STALE in out.getvalue()


@pytest.mark.parametrize(
    ("state", "stalled_windows", "code"), [(CONGESTED, 0, 0), (STALLED, 3, 1)]
)
def test_a_maintenance_window_excuses_congestion_but_no_stall(
    acme: Organisation, state: State, stalled_windows: int, code: int
) -> None:
    now = timezone.now()
    resource = datastore(acme, "ds1", state)
    Incident.objects.create(
        organisation=acme,
        resource=resource,
        started_at=now - timedelta(minutes=5),
        stalled_windows=stalled_windows,
    )
    add_maintenance_window(
        organisation=acme,
        name="backup",
        starts_at=now - timedelta(minutes=30),
        length=timedelta(hours=1),
    )

    found, _ = status()

    assert found == code


def test_help_says_what_every_exit_status_means() -> None:
    said = load_command_class("advisor", "status").create_parser("sluice", "status").format_help()

    flat = " ".join(said.split())
    assert "Exit status:" in flat
    for code in StatusExit:
        assert f" {int(code)} " in flat.split("Exit status:")[1]
