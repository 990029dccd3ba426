"""What every request to the API goes through, whatever its route."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.db import OperationalError
from django.test import Client

from accounts.actor import COMMAND_LINE
from accounts.models import AuditEntry, KeptAnswer, Membership, Role, Scope, Token
from accounts.services.kept_answers import KEPT_FOR
from accounts.services.members import change_role
from advisor.models import Resource
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.api.asking import Program, program_of
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from web.api.v1 import door, rate_limit, recommendations

CHANGE = {"threshold": 20.0}


@pytest.fixture
def path(fleet: Fleet) -> str:
    """Of a resource that can be changed."""
    return f"resources/{fleet.resources['nfs-07'].pk}"


def problem(answer: Any) -> tuple[int, str]:
    """The status and code of a refusal, which has the form of RFC 9457."""
    assert answer["Content-Type"] == "application/problem+json"
    said = answer.json()
    assert said["status"] == answer.status_code
    assert said.keys() >= {"type", "title", "detail", "code"}
    return answer.status_code, said["code"]


def threshold_of(fleet: Fleet) -> float:
    return Resource.objects.get(pk=fleet.resources["nfs-07"].pk).threshold


# --- Who asks


@pytest.mark.parametrize("scope", [Scope.INGEST, Scope.ENFORCE, Scope.METRICS])
def test_token_of_another_scope_opens_nothing(fleet: Fleet, scope: Scope, path: str) -> None:
    _, secret = Token.objects.issue(organisation=fleet.organisation, scope=scope, name="t")

    assert problem(Program(secret)("GET", path)) == (403, "forbidden")


def as_password(fleet: Fleet) -> str:
    secret = program_of(fleet.people.operator, fleet.organisation).secret
    return f"Basic {base64.b64encode(f'operator:{secret}'.encode()).decode()}"


def test_who_shows_no_token_is_told_how(fleet: Fleet, path: str) -> None:
    answers = [
        Program("unknown")("GET", path),
        Client().get(f"/api/v1/{path}"),
        # As a password, which a browser would send by itself the next time.
        Client().get(f"/api/v1/{path}", headers={"Authorization": as_password(fleet)}),
        # A browser in which the person is logged in.
        client_of(fleet.people.operator).get(f"/api/v1/{path}"),
        client_of(fleet.people.operator).post(f"/api/v1/{path}"),
    ]

    assert [problem(one) for one in answers] == [(401, "unauthorized")] * 5
    assert all(one["WWW-Authenticate"].startswith("Bearer") for one in answers)


def test_role_of_the_moment_decides(fleet: Fleet, program: Program, path: str) -> None:
    change_role(
        organisation=fleet.organisation, username="operator", role=Role.VIEWER,
        by=COMMAND_LINE, now=fleet.now,
    )  # fmt: skip

    assert problem(program("PATCH", path, CHANGE)) == (403, "not_allowed")


def test_token_shows_its_own_organisation_of_a_person_in_two(fleet: Fleet, path: str) -> None:
    person = fleet.people.outsider
    lakeside = person.memberships.get().organisation
    Membership.objects.create(organisation=fleet.organisation, user=person, role=Role.OWNER)
    there, here = program_of(person, lakeside), program_of(person, fleet.organisation)

    assert there.read("resources")["items"] == []
    assert problem(there("GET", path)) == (404, "not_found")
    assert here.read(path)["name"] == "nfs-07"


def test_walls_of_the_database_hide_nothing_of_ones_own(
    fleet: Fleet, program: Program, foreign: Program, path: str
) -> None:
    make_roles()
    plain = program.read(path)
    with acting_as(DatabaseRole.WEB):
        assert program.read(path) == plain
        assert program("PATCH", path, CHANGE, idempotency_key="a").status_code == 200
        assert foreign("GET", path).status_code == 404


def test_change_is_recorded_as_its_person(fleet: Fleet, program: Program, path: str) -> None:
    program("PATCH", path, CHANGE)

    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.subject, entry.address) == (
        "operator", "change resource", "nfs-07", "127.0.0.1",
    )  # fmt: skip


# --- What is wrong


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "nothing", (404, "not_found")),
        ("GET", "resources/999999", (404, "not_found")),
        ("GET", "resources/99999999999999999999999", (422, "invalid")),
        ("GET", "resources/word", (404, "not_found")),
        ("PUT", "resources", (405, "method_not_allowed")),
        ("GET", "resources?limit=0", (422, "invalid")),
        ("GET", "resources?limit=201", (422, "invalid")),
        ("GET", "resources?cursor=%00", (422, "invalid")),
        ("GET", "recommendations?state=odd", (422, "invalid")),
        ("POST", "resources/1/rollback", (422, "invalid")),
    ],
)
def test_refusal_is_a_problem_with_a_code(
    program: Program, method: str, path: str, expected: tuple[int, str]
) -> None:
    assert problem(program(method, path)) == expected


@pytest.mark.parametrize(
    "body",
    [
        {"threshold": "20"},
        {"threshold": -1},
        {"threshold": 0},
        {"threshold": 1e308},
        {"threshold": float("nan")},
        {"threshold": float("inf")},
        {"threshold": True},
        {"lun_queue_depth": 2**80},
        {"lun_queue_depth": 1.5},
        {"disks": "a\0b"},
        {"disks": "\ud800"},
        {"disks": "x" * 10_000},
        {"no_such_setting": 1},
        [],
        "text",
        None,
    ],
)
def test_wrong_value_is_refused_and_nothing_changes(
    fleet: Fleet, program: Program, path: str, body: Any
) -> None:
    before = Resource.objects.filter(pk=fleet.resources["nfs-07"].pk).values().get()

    assert problem(program("PATCH", path, body)) == (422, "invalid")
    assert Resource.objects.filter(pk=fleet.resources["nfs-07"].pk).values().get() == before


def test_body_that_is_no_json_is_refused(program: Program, path: str) -> None:
    answer = program.client.patch(
        f"/api/v1/{path}", b"{", content_type="application/json",
        headers={"Authorization": f"Bearer {program.secret}"},
    )  # fmt: skip

    assert problem(answer) == (400, "invalid")


def test_body_that_is_too_large_is_refused(
    program: Program, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "MOST_BODY_BYTES", 10)

    assert problem(program("PATCH", path, CHANGE)) == (413, "too_large")


def test_wrong_fields_are_named(program: Program, path: str) -> None:
    answer = program("PATCH", path, {"threshold": -1, "odd": 2})

    assert [one["where"] for one in answer.json()["errors"]] == [
        "body.asked.threshold", "body.asked.odd",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("error", "expected"),
    [(ZeroDivisionError(), (500, "failed")), (OperationalError(), (503, "unavailable"))],
)
def test_what_fails_on_our_side_is_a_problem_too(
    program: Program,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    expected: tuple[int, str],
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(recommendations, "page_of", fail)

    answer = program("GET", "recommendations")

    assert problem(answer) == expected
    assert ("Retry-After" in answer) is (expected[0] == 503)


def test_method_that_is_not_there_is_answered_with_those_that_are(program: Program) -> None:
    answer = program("PUT", "resources")

    assert set(answer["Allow"].split(", ")) == {"GET", "POST"}


def test_head_is_answered_as_get_without_a_body(program: Program, path: str) -> None:
    read, head = program("GET", path), program("HEAD", path)

    assert (head.status_code, head.content, head["ETag"]) == (200, b"", read["ETag"])


# --- What changed meanwhile


def test_who_has_what_is_there_gets_no_body(program: Program, path: str) -> None:
    tag = program("GET", path)["ETag"]

    same = program("GET", path, if_none_match=f'"other", W/{tag}')
    program("PATCH", path, CHANGE)
    changed = program("GET", path, if_none_match=tag)

    assert (same.status_code, same.content) == (304, b"")
    assert changed.status_code == 200


def test_change_of_what_changed_meanwhile_is_refused(
    fleet: Fleet, program: Program, path: str
) -> None:
    tag = program("GET", path)["ETag"]
    program("PATCH", path, {"threshold": 30.0})

    stale = program("PATCH", path, CHANGE, if_match=tag)
    after = program("PATCH", path, CHANGE, if_match=stale["ETag"])

    assert problem(stale) == (412, "changed_meanwhile")
    assert after.status_code == 200
    assert threshold_of(fleet) == 20.0


# --- Once


def test_same_request_under_a_key_is_done_once(fleet: Fleet, program: Program, path: str) -> None:
    first = program("PATCH", path, CHANGE, idempotency_key="a-1")
    Resource.objects.update(threshold=99.0)
    again = program("PATCH", path, CHANGE, idempotency_key="a-1")

    assert threshold_of(fleet) == 99.0
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again["Idempotency-Replayed"] == "true"
    assert (again["ETag"], again["Content-Type"]) == (first["ETag"], first["Content-Type"])
    assert AuditEntry.objects.count() == 1


def test_other_request_under_a_key_is_refused(program: Program, path: str) -> None:
    program("PATCH", path, CHANGE, idempotency_key="a-1")

    answers = [
        program("PATCH", path, {"threshold": 21.0}, idempotency_key="a-1"),
        program("DELETE", path, idempotency_key="a-1"),
    ]

    assert [problem(one) for one in answers] == [(422, "key_in_use")] * 2


def test_key_of_another_token_is_another(fleet: Fleet, program: Program, path: str) -> None:
    program("PATCH", path, CHANGE, idempotency_key="a-1")

    other = program_of(fleet.people.owner, fleet.organisation)
    answer = other("PATCH", path, {"threshold": 21.0}, idempotency_key="a-1")

    assert answer.status_code == 200
    assert threshold_of(fleet) == 21.0


def test_refused_request_can_be_sent_again_under_its_key(
    fleet: Fleet, program: Program, path: str
) -> None:
    refused = program("PATCH", path, CHANGE, idempotency_key="a", if_match='"old"')
    answer = program("PATCH", path, CHANGE, idempotency_key="a")

    assert (refused.status_code, answer.status_code) == (412, 200)


def test_key_is_forgotten_after_a_day(fleet: Fleet, program: Program, path: str) -> None:
    program("PATCH", path, CHANGE, idempotency_key="old")
    KeptAnswer.objects.update(created_at=fleet.now - KEPT_FOR - timedelta(seconds=1))

    program("PATCH", path, CHANGE, idempotency_key="new")

    assert [one.key for one in KeptAnswer.objects.all()] == ["new"]


@pytest.mark.parametrize("key", ["x" * 201, "a\tb"])
def test_impossible_key_is_refused(program: Program, path: str, key: str) -> None:
    assert problem(program("PATCH", path, CHANGE, idempotency_key=key)) == (422, "invalid")


def test_refusal_undoes_what_came_before_it(fleet: Fleet, program: Program, path: str) -> None:
    answer = program(
        "PATCH", path, CHANGE | {"host_queue_depths": [{"host": "nobody", "queue_depth": 3}]}
    )

    assert problem(answer) == (409, "refused")
    assert threshold_of(fleet) != 20.0


# --- How often


@pytest.fixture
def counted(valkey_url: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are counted in a valkey that knows of none yet; three may be sent a minute."""
    redis.Redis.from_url(valkey_url).flushall()
    settings.REDIS_URL, settings.API_REQUESTS_PER_MINUTE = valkey_url, 3
    monkeypatch.setattr(rate_limit._Server, "away_until_s", 0.0)
    rate_limit._script.cache_clear()


@pytest.mark.valkey
def test_who_asks_too_often_waits(counted: None, program: Program, viewing: Program) -> None:
    answers = [program("GET", "resources") for _ in range(4)]

    assert [one.status_code for one in answers] == [200, 200, 200, 429]
    assert [one["RateLimit"].split(";")[1] for one in answers] == ["r=2", "r=1", "r=0", "r=0"]
    assert answers[0]["RateLimit-Policy"] == '"token";q=3;w=60'
    assert problem(answers[3]) == (429, "too_many_requests")
    # A third of a minute brings one more.
    assert 18 <= int(answers[3]["Retry-After"]) <= 20
    assert viewing("GET", "resources").status_code == 200


def test_without_the_queue_nobody_counts(
    program: Program, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REDIS_URL, settings.API_REQUESTS_PER_MINUTE = "unix:///nowhere.sock", 1
    monkeypatch.setattr(rate_limit._Server, "away_until_s", 0.0)
    rate_limit._script.cache_clear()

    answers = [program("GET", "resources") for _ in range(3)]

    assert [one.status_code for one in answers] == [200, 200, 200]
    assert "RateLimit" not in answers[0]
    assert json.loads(answers[0].content)["items"]
