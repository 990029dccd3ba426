"""A move is made by a command and believed when it is measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import AbstractBaseUser
from django.db import connection
from pytest_django import Settings

from accounts.actor import COMMAND_LINE
from accounts.models.audit import AuditEntry
from advisor.decisions import inventory
from advisor.decisions.decide import approve
from advisor.decisions.moving import carry_out
from advisor.decisions.rollouts.steer import stop_rollouts
from advisor.models import (
    AdapterKind,
    PlacementMove,
    Recommendation,
    ResourceKind,
)
from advisor.tasks import tidy
from config.database_roles import DatabaseRole
from tests.advisor.samples import Phase, net_lines, send
from tests.advisor.scenario import MBIT, NOW, Cluster, make_cluster
from tests.config.roles import acting_as, make_roles

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)
LATER = NOW + 5 * MINUTE


@pytest.fixture(autouse=True)
def command(settings: Settings, tmp_path: Path) -> Path:
    """A command that notes what it was asked for, and ends well."""
    noted = tmp_path / "noted"
    code = f"import sys; open({str(noted)!r}, 'a').write(' '.join(sys.argv[1:]) + chr(10))"
    words = (sys.executable, "-c", code, "{workload}", "{source}", "{target}")
    settings.MOVE_COMMAND, settings.MOVE_ORGANISATIONS = words, ["acme"]
    return noted


def two_hosts() -> Cluster:
    """The cluster, and a second host with an uplink on which web-2 was found as well."""
    cluster = make_cluster()
    other = inventory.add_resource(
        organisation=cluster.organisation, name="h2/up0", kind=ResourceKind.UPLINK,
        attachments=[("h2", "up0")], capacity=94 * MBIT, line_rate=100 * MBIT,
    )  # fmt: skip
    inventory.set_allocation(
        resource=other, workload_name="web-2", host_name="h2", adapter_kind=AdapterKind.VNIC,
        adapter="p2",
    )  # fmt: skip
    return cluster


@pytest.fixture
def cluster() -> Cluster:
    return two_hosts()


def advise(cluster: Cluster, *names: str) -> Recommendation:
    moves = [{"workload": name, "source": "h1", "target": "h2"} for name in names]
    return Recommendation.objects.create(
        organisation=cluster.organisation, resource=cluster.uplink, topic="host_placement",
        kind="host_placement", summary="Move", inputs="{}",
        answer=json.dumps({"moves": moves, "refused": []}), created_at=NOW,
        expires_at=NOW + timedelta(hours=24),
    )  # fmt: skip


def approved(cluster: Cluster, *names: str, by: AbstractBaseUser | None = None) -> Recommendation:
    row = advise(cluster, *(names or ("web-2",)))
    approve(recommendation=row, user=by or cluster.people.owner, now=NOW)
    return row


def measure(cluster: Cluster, sent: Mapping[str, float], *, until: datetime) -> None:
    """What the adapter p2 carries on each host, over the three minutes before."""
    for host, rate in sent.items():
        phases = [Phase(intervals=18, sent={}, received={"p2": rate})]
        lines = net_lines(host, phases, start=until - 3 * MINUTE)
        send(cluster.organisation, lines, now=until)


def states() -> list[str]:
    return [one.state for one in PlacementMove.objects.order_by("place")]


def test_command_runs_and_the_move_is_believed_when_it_is_measured(
    cluster: Cluster, command: Path
) -> None:
    row = approved(cluster)
    assert states() == ["waiting"]

    carry_out(recommendation=row, now=NOW)
    assert command.read_text() == "web-2 h1 h2\n"
    assert states() == ["checking"]
    measure(cluster, {"h1": 0.0, "h2": 20 * MBIT}, until=LATER)
    carry_out(recommendation=row, now=LATER)

    move = PlacementMove.objects.get()
    assert (move.state, move.exit_status) == ("moved", 0)
    assert move.measured == "h2: 20.0 Mbit/s; h1: 0 bit/s"
    told = AuditEntry.objects.filter(subject="web-2 from h1 to h2").order_by("number")
    assert [one.action for one in told] == ["run a move command", "see what a move did"]
    assert {one.details["asked_by"] for one in told} == {"owner"}


@pytest.mark.parametrize(
    "sent",
    [{}, {"h1": 20 * MBIT, "h2": 0.0}, {"h1": 20 * MBIT, "h2": 20 * MBIT}, {"h1": 20 * MBIT}],
    ids=["nothing", "still there", "on both", "only there"],
)
def test_command_that_says_all_went_well_is_not_believed(
    cluster: Cluster, sent: dict[str, float]
) -> None:
    row = approved(cluster)
    carry_out(recommendation=row, now=NOW)

    measure(cluster, sent, until=LATER)
    carry_out(recommendation=row, now=LATER)
    assert states() == ["checking"]

    carry_out(recommendation=row, now=NOW + 16 * MINUTE)
    assert states() == ["not seen"]


def test_samples_from_before_the_end_prove_nothing(cluster: Cluster) -> None:
    row = approved(cluster)
    measure(cluster, {"h2": 20 * MBIT}, until=NOW)
    carry_out(recommendation=row, now=NOW)

    carry_out(recommendation=row, now=NOW + MINUTE)

    assert states() == ["checking"]


def test_failed_command_ends_the_moves_after_it(cluster: Cluster, settings: Settings) -> None:
    settings.MOVE_COMMAND = ("/bin/false", "{workload}", "{target}")
    row = approved(cluster, "web-2", "web-3")

    carry_out(recommendation=row, now=NOW)
    carry_out(recommendation=row, now=NOW)

    first, second = PlacementMove.objects.order_by("place")
    assert (first.state, first.exit_status) == ("failed", 1)
    assert (second.state, second.said) == ("failed", "a move before it failed")


def test_odd_name_reaches_no_command(cluster: Cluster, command: Path) -> None:
    row = approved(cluster, "a; rm -rf x")

    carry_out(recommendation=row, now=NOW)

    assert states() == ["failed"]
    assert "cannot be passed to a command" in PlacementMove.objects.get().said
    assert not command.exists()


def test_move_whose_command_was_taken_away_needs_no_worker_of_moves(
    cluster: Cluster, settings: Settings
) -> None:
    approved(cluster)
    settings.MOVE_COMMAND = ()

    tidy()

    assert states() == ["failed"]
    assert PlacementMove.objects.get().said == "no command is configured any more"


def test_without_a_command_nothing_is_asked_for(cluster: Cluster, settings: Settings) -> None:
    settings.MOVE_COMMAND = ()

    approved(cluster)

    assert not PlacementMove.objects.exists()


def test_command_of_one_organisation_moves_nothing_of_another(
    cluster: Cluster, settings: Settings, command: Path
) -> None:
    settings.MOVE_ORGANISATIONS = ["globex"]
    approved(cluster)
    assert not PlacementMove.objects.exists()

    settings.MOVE_ORGANISATIONS = ["acme"]
    row = advise(cluster, "web-3")
    approve(recommendation=row, user=cluster.people.owner, now=NOW)
    settings.MOVE_ORGANISATIONS = ["globex"]
    carry_out(recommendation=row, now=NOW)

    assert states() == ["failed"]
    assert not command.exists()


def test_approval_of_an_operator_is_noted_alone(cluster: Cluster) -> None:
    row = approved(cluster, by=cluster.people.operator)

    row.refresh_from_db()
    assert (row.state, PlacementMove.objects.count()) == ("approved", 0)


def test_stop_holds_moves_that_wait(cluster: Cluster, command: Path) -> None:
    row = approved(cluster)
    stop_rollouts(organisation=cluster.organisation, actor=COMMAND_LINE, reason="", now=NOW)

    carry_out(recommendation=row, now=NOW)

    assert states() == ["waiting"]
    assert not command.exists()


def test_move_that_waited_too_long_is_not_made(cluster: Cluster, command: Path) -> None:
    row = approved(cluster)

    carry_out(recommendation=row, now=NOW + timedelta(hours=2))

    assert states() == ["failed"]
    assert not command.exists()


def test_command_of_a_worker_that_died_is_judged_by_what_is_measured(cluster: Cluster) -> None:
    row = approved(cluster)
    PlacementMove.objects.update(state="running", started_at=NOW)

    carry_out(recommendation=row, now=LATER)
    assert states() == ["running"]
    carry_out(recommendation=row, now=NOW + 9 * MINUTE)
    assert states() == ["checking"]

    measure(cluster, {"h2": 20 * MBIT}, until=NOW + 12 * MINUTE)
    carry_out(recommendation=row, now=NOW + 12 * MINUTE)
    assert states() == ["moved"]


def test_worker_has_the_rights_for_it(cluster: Cluster) -> None:
    row = approved(cluster)
    measure(cluster, {"h2": 20 * MBIT}, until=LATER)
    make_roles()

    with acting_as(DatabaseRole.WORKER):
        carry_out(recommendation=row, now=NOW)
        carry_out(recommendation=row, now=LATER)

    assert states() == ["moved"]


@pytest.mark.django_db(transaction=True)
def test_of_two_workers_one_runs_the_command(command: Path) -> None:
    row = approved(two_hosts())

    def look(_: int) -> None:
        try:
            carry_out(recommendation=row, now=NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(look, range(2)))

    assert command.read_text() == "web-2 h1 h2\n"
