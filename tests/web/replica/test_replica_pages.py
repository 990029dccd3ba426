"""Pages and the API on a real standby: what is read where, and what happens when it fails."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.contrib.auth.models import AbstractBaseUser
from django.db import OperationalError, connection, connections
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from psycopg import sql

from accounts.models import Membership, Organisation, Scope, Token
from accounts.row_wall import NOTHING, Seen, lifted, look_at, walled
from advisor.models import Resource, Team
from ingest.binary_cursor import streamed
from tests.config.queued import empty
from tests.web.api.asking import Program
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.replica.conftest import Told, look_again, statements
from tests.web.replica.pair import Pair
from tests.web.test_accessibility import FOR_ADMINS
from web.api.v1.api import api_patterns
from web.replica.alias import ALIAS
from web.replica.own_changes import has_just_changed, note_login
from web.replica.reads import _AskPrimary, on_replica, read_for

pytestmark = [pytest.mark.postgres, pytest.mark.valkey, pytest.mark.slow]

OF_WHO_ASKS = re.compile(
    r'^(?:SELECT .*? FROM|UPDATE) "(?:django_session|auth_user|accounts_(?:membership|token))"'
)
"""The primary is always asked for these."""
OF_THE_PRIMARY = {"health", "audit"}
"""Whether the primary is well, and a chain that is locked to be read."""


def log_in(user: AbstractBaseUser) -> Client:
    """A browser in which this person has just opened a page."""
    client = client_of(user)
    client.get("/")
    return client


def of_rows(queries: list[str]) -> list[str]:
    """Those that are not of who asks."""
    return [one for one in queries if not OF_WHO_ASKS.match(one)]


def is_readon_replica(client: Client, address: str = "/teams/") -> bool:
    """Where a page is read that is answered."""
    with statements() as asked:
        assert client.get(address).status_code == 200
    assert bool(of_rows(asked.of_primary)) != bool(asked.of_replica)
    return bool(asked.of_replica)


def make_team(name: str, organisation: Organisation) -> Team:
    """By somebody else, who is told nothing."""
    return Team.objects.create(organisation=organisation, name=name)


@pytest.fixture
def viewer(fleet: Fleet) -> Client:
    return log_in(fleet.people.viewer)


@pytest.fixture
def owner(fleet: Fleet) -> Client:
    return log_in(fleet.people.owner)


@pytest.fixture
def held(pair: Pair) -> Iterator[Pair]:
    pair.hold()
    yield pair
    pair.go_on()


def test_every_page_is_read_on_the_replica(told: Told, viewer: Client, owner: Client) -> None:
    found = {}

    for name, address in told.addresses.items():
        client = owner if name in FOR_ADMINS else viewer
        with statements() as asked:
            status = client.get(address).status_code
        found[name] = status, not of_rows(asked.of_primary), bool(asked.of_replica)

    expected = dict.fromkeys(told.addresses, (200, True, True))
    assert found == expected | dict.fromkeys(OF_THE_PRIMARY, (200, False, False))


def test_every_list_of_the_api_is_read_on_the_replica(
    program: Program, caplog: pytest.LogCaptureFixture
) -> None:
    lists = [str(one.pattern) for one in api_patterns() if "<" not in str(one.pattern)]
    found = {}

    for path in lists:
        with statements() as asked:
            status = program("GET", path).status_code
        if status == 200:
            found[path] = not of_rows(asked.of_primary), bool(asked.of_replica)

    assert len(found) > 20
    expected = dict.fromkeys(found, (True, True))
    assert found == {
        **expected,
        # What is known of who asks, and what lies in files.
        **dict.fromkeys(("me", "organisation", "replays"), (True, False)),
        **dict.fromkeys(("status", "audit/verification"), (False, False)),
    }
    assert [one for one in caplog.records if one.name.startswith("web.replica.reads")] == []


def test_the_standby_says_that_it_was_asked(viewer: Client, pair: Pair) -> None:
    viewer.get("/teams/")

    query = "SELECT string_agg(query, ' ') FROM pg_stat_activity WHERE usename = 'sluice_web'"
    assert "advisor_" in pair.ask_standby(query)
    assert pair.ask_standby("SELECT pg_is_in_recovery()")


@pytest.mark.parametrize("address", ["/login/", "/health/ready", "/health/evaluation"])
def test_logins_and_probes_ask_the_primary(viewer: Client, address: str) -> None:
    with statements() as asked:
        viewer.get(address)

    assert asked.of_replica == []


def test_who_is_not_logged_in_asks_the_primary(client: Client) -> None:
    with statements() as asked:
        assert client.get("/").status_code == 302

    assert asked.of_replica == []


def test_own_change_is_seen_at_once(owner: Client, viewer: Client, held: Pair) -> None:
    with statements() as asked:
        made = owner.post(reverse("make-team"), {"name": "tapes"})

    assert made.status_code == 302
    assert asked.of_replica == []
    assert "tapes" in owner.get("/teams/").content.decode()
    assert "tapes" not in viewer.get("/teams/").content.decode()
    held.go_on()
    assert "tapes" in viewer.get("/teams/").content.decode()


def test_who_changed_something_reads_the_replica_again(owner: Client, valkey_url: str) -> None:
    owner.post(reverse("make-team"), {"name": "discs"})
    reads = [is_readon_replica(owner)]
    with redis.Redis.from_url(valkey_url) as server:
        (key,) = server.keys("sluice:changed:*")
        lasts_s = server.ttl(key)
    empty(valkey_url)

    assert [*reads, is_readon_replica(owner)] == [False, True]
    # As far as it may be behind, since it was looked at four seconds ago, and one.
    assert lasts_s in (9, 10)


def test_program_reads_its_own_change(program: Program, held: Pair) -> None:
    stated = program("PUT", "teams", {"name": "reels"}, if_none_match="*")

    assert stated.status_code in (200, 201), stated.content
    assert "reels" in [one["name"] for one in program.read("teams")["items"]]


def test_login_is_a_change(fleet: Fleet) -> None:
    note_login(user=fleet.people.viewer)

    assert has_just_changed(fleet.people.viewer.pk)
    assert not has_just_changed(fleet.people.owner.pk)


def test_row_that_is_too_new_is_found(fleet: Fleet, viewer: Client, held: Pair) -> None:
    team = make_team("new", fleet.organisation)

    assert viewer.get(f"/teams/{team.pk}/").status_code == 200


def test_replica_that_lags_is_left_out_and_comes_back(
    fleet: Fleet, viewer: Client, pair: Pair, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.REPLICA_MOST_LAG_S = 0.2
    reads = [is_readon_replica(viewer)]
    caplog.clear()
    pair.hold()
    make_team("late", fleet.organisation)
    time.sleep(0.3)
    look_again()
    reads += [is_readon_replica(viewer), is_readon_replica(viewer)]
    pair.go_on()
    look_again()
    reads += [is_readon_replica(viewer)]

    assert reads == [True, False, False, True]
    told = [one for one in caplog.records if one.name == "web.replica.watch"]
    assert [one.levelname for one in told] == ["WARNING", "INFO"]
    assert " s behind" in told[0].reason  # type: ignore[attr-defined]


def test_killed_replica_is_left_out_and_comes_back(
    viewer: Client, pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    reads = [is_readon_replica(viewer)]
    pair.kill_standby()
    try:
        # The connection is one that was good; later ones find none.
        answers = [viewer.get("/teams/").status_code for _ in range(3)]
        look_again()
        reads += [is_readon_replica(viewer)]
    finally:
        pair.start_standby()
        pair.catch_up()
    look_again()
    reads += [is_readon_replica(viewer)]

    assert (answers, reads) == ([200, 200, 200], [True, False, True])
    warnings = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert [one.message for one in warnings] == ["replica is left out"]


def test_program_is_answered_when_the_replica_is_killed(
    program: Program, pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    before = program.read("teams")
    pair.kill_standby()
    try:
        after = program.read("teams")
    finally:
        pair.start_standby()

    assert before == after
    warnings = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert [one.message for one in warnings] == ["replica is left out"]


def test_answer_that_writes_is_made_on_the_primary(fleet: Fleet) -> None:
    def answer() -> HttpResponse:
        team = make_team("by a read", fleet.organisation)
        return HttpResponse(str(team.pk))

    with walled():
        look_at(fleet.organisation.pk)
        found = read_for(fleet.people.viewer.pk, answer)

        assert Team.objects.filter(pk=int(found.content)).exists()


def test_answer_whose_rows_break_off_is_made_on_the_primary(fleet: Fleet) -> None:
    tried = []

    def answer() -> HttpResponse:
        tried.append(connection.alias)
        query = sql.SQL("SELECT 1 / (3 - {})").format(sql.Identifier("n"))
        numbers = sql.SQL("{} FROM generate_series(1, {}) AS n").format(query, sql.Literal(3))
        enough = numbers + sql.SQL(" LIMIT 2") if connection.alias == "default" else numbers
        return HttpResponse(",".join(str(row[0]) for row in streamed(enough, [])))

    found = read_for(fleet.people.viewer.pk, answer)

    assert (found.content, tried) == (b"0,1", [ALIAS, "default"])


def test_statement_that_takes_too_long_is_not_tried_again(fleet: Fleet) -> None:
    tried = []

    def answer() -> HttpResponse:
        tried.append(connection.alias)
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = '50ms'; SELECT pg_sleep(5)")
        return HttpResponse()

    with pytest.raises(OperationalError, match="statement timeout"):
        read_for(fleet.people.viewer.pk, answer)

    assert tried == [ALIAS]
    connections[ALIAS].close()


def test_error_of_ones_own_is_raised_once(fleet: Fleet) -> None:
    tried = []

    def answer() -> HttpResponse:
        tried.append(connection.alias)
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        read_for(fleet.people.viewer.pk, answer)

    assert tried == [ALIAS]
    assert connection.alias == "default"


def test_without_the_queues_server_the_primary_is_read(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = redis.Redis(host="127.0.0.1", port=1, socket_connect_timeout=0.2)
    monkeypatch.setattr("web.replica.own_changes._client", lambda: nobody)

    assert not is_readon_replica(viewer)
    assert not is_readon_replica(viewer)


def test_organisation_never_sees_rows_of_another(fleet: Fleet) -> None:
    with lifted():
        theirs = Membership.objects.get(user=fleet.people.outsider).organisation_id
    assert Resource.objects.exists()

    def seen(whose: Seen | None) -> tuple[set[int], set[int]]:
        """The organisations of which there are memberships and resources, without a filter."""
        with on_replica(whose or NOTHING):
            return tuple(
                set(model.objects.values_list("organisation", flat=True))
                for model in (Membership, Resource)
            )  # type: ignore[return-value]

    own = fleet.organisation.pk
    assert seen(None) == (set(), set())
    assert seen(Seen(organisation=own)) == ({own}, {own})
    assert seen(Seen(organisation=theirs)) == ({theirs}, set())
    assert seen(Seen(user=fleet.people.viewer.pk)) == ({own}, {own})
    assert seen(Seen(user=fleet.people.outsider.pk)) == ({theirs}, set())
    assert seen(None) == (set(), set())


def test_connection_that_was_told_nothing_shows_nothing() -> None:
    connections[ALIAS].close()

    with connections[ALIAS].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM advisor_resource")
        assert cursor.fetchone() == (0,)


def test_page_of_another_organisation_is_not_found(told: Told, fleet: Fleet) -> None:
    outsider = log_in(fleet.people.outsider)
    pk = fleet.resources["nfs-07"].pk

    with statements() as asked:
        assert outsider.get(f"/resources/{pk}/").status_code == 404

    assert asked.of_replica


def test_replica_takes_no_change(fleet: Fleet) -> None:
    with (
        pytest.raises(_AskPrimary, match="read-only"),
        on_replica(Seen(organisation=fleet.organisation.pk)),
    ):
        make_team("never", fleet.organisation)


def test_metrics_say_whether_it_is_read(
    fleet: Fleet, client: Client, pair: Pair, settings: Any
) -> None:
    secret = token(fleet, Scope.METRICS)
    shown = [figures(client, secret)]
    pair.kill_standby()
    try:
        look_again()
        shown += [figures(client, secret)]
    finally:
        pair.start_standby()
    settings.HAS_REPLICA = False
    shown += [figures(client, secret)]

    assert shown == [{"read": 1.0, "lag_seconds": 0.0}, {"read": 0.0}, {}]


def figures(client: Client, secret: str) -> dict[str, float]:
    """Those of the replica."""
    text = client.get("/metrics", headers={"Authorization": f"Bearer {secret}"}).content.decode()
    found = re.findall(r"^sluice_replica_(\w+) (\S+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in found}


def token(fleet: Fleet, scope: Scope) -> str:
    user = None if scope == Scope.METRICS else fleet.people.owner
    _, secret = Token.objects.issue(
        organisation=fleet.organisation, scope=scope, name="program", user=user
    )
    return secret


@pytest.fixture
def program(fleet: Fleet) -> Program:
    return Program(token(fleet, Scope.WRITE))
