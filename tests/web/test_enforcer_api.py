"""The agent's endpoints: its own document, its own reports, and clear errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from unittest import mock

import pytest
from django.db import OperationalError
from django.http import HttpResponse
from django.test import Client

from accounts.models import Scope, Token
from advisor.advice.policy.decide.policy_inputs import AdviceInputs
from advisor.advice.registry import answer
from advisor.core.canonical import dumps, loads
from advisor.decisions.decide import approve
from advisor.decisions.enrolment import Enrolment, enroll
from advisor.models import (
    ComplianceRecord,
    Enforcer,
    Recommendation,
    RecommendationState,
    Resource,
)
from enforcers.contract import (
    HOST_TRAFFIC,
    ComplianceReport,
    EnforcementState,
    PolicyDocument,
    decode_document,
    encode_report,
    verify,
)
from enforcers.signature import SignatureKind
from enforcers.wire_signatures import document_media
from tests.advisor.agent_keys import document_key, report_headers
from tests.web import agents
from tests.web.fleet import Fleet
from tests.web.scenario import GBIT
from web.api.enforcer import MAX_REPORT_BYTES

DOCUMENT = "/api/v1/enforcer/document"
REPORT = "/api/v1/enforcer/report"
READS = document_media(SignatureKind.ED25519)
RATES = {"web-shop": 3.6 * GBIT, "mail-1": 1.1 * GBIT, "backup-7": 3.2 * GBIT}


@pytest.fixture
def enrolled(fleet: Fleet) -> Enrolment:
    """The agent of kvm-02 with a fresh token."""
    return enroll(organisation=fleet.organisation, host_name="kvm-02")


def pull(token: str) -> HttpResponse:
    return Client(enforce_csrf_checks=True).get(
        DOCUMENT, headers={"Authorization": f"Bearer {token}", "Accept": READS}
    )


def send(enrolled: Enrolment, body: bytes) -> HttpResponse:
    return send_as(enrolled, body, report_headers(enrolled, body))


def send_as(enrolled: Enrolment, body: bytes, headers: dict[str, str]) -> HttpResponse:
    return Client(enforce_csrf_checks=True).post(
        REPORT,
        body,
        content_type="application/json",
        headers={"Authorization": f"Bearer {enrolled.token}", **headers},
    )


def report_on(document: PolicyDocument, fleet: Fleet) -> ComplianceReport:
    return agents.report_of(document, now=fleet.now, rates=RATES)


def test_document_is_for_the_tokens_host_and_signed_with_its_key(enrolled: Enrolment) -> None:
    answer = pull(enrolled.token)

    document = decode_document(answer.content)
    assert answer.status_code == 200
    assert document.host == "kvm-02"
    own = "the host's own traffic"
    workloads = {item.workload for item in document.allocations}
    assert workloads == {"web-shop", "mail-1", "backup-7", own}
    verify(document, document_key(enrolled))


def test_policy_of_a_datastore_without_a_stated_capacity_is_in_the_document(
    fleet: Fleet,
) -> None:
    enrolled = enroll(organisation=fleet.organisation, host_name="kvm-01")
    advice = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    # As if the capacity had never been stated: what was delivered in congestion was divided.
    Resource.objects.filter(pk=advice.resource_id).update(capacity=None, staged=False)
    advice.inputs = dumps(replace(loads(AdviceInputs, advice.inputs), capacity=None))
    advice.answer = answer("policy", advice.inputs)
    advice.save()
    advice.refresh_from_db()
    approve(recommendation=advice, user=fleet.people.owner, now=fleet.now)

    document = decode_document(pull(enrolled.token).content)

    (spec,) = document.resources
    assert (spec.name, spec.capacity) == (
        "nfs-07",
        json.loads(advice.answer)["evidence"]["capacity"],
    )
    assert "db-orders" in {item.workload for item in document.allocations}


@pytest.mark.parametrize(
    ("accept", "version"),
    [("application/json; signature=ed25519", 1), (READS, 2)],
    ids=["former", "now"],
)
def test_agent_gets_documents_of_the_version_that_it_reads(
    enrolled: Enrolment, accept: str, version: int
) -> None:
    answer = Client(headers={"Accept": accept}).get(
        DOCUMENT, headers={"Authorization": f"Bearer {enrolled.token}"}
    )

    assert json.loads(answer.content)["schema_version"] == version
    verify(decode_document(answer.content), document_key(enrolled))


def test_document_is_never_kept_by_a_cache(enrolled: Enrolment) -> None:
    assert "no-store" in pull(enrolled.token).headers["Cache-Control"]


def test_pull_is_remembered(fleet: Fleet, enrolled: Enrolment) -> None:
    before = fleet.now - timedelta(minutes=1)
    Enforcer.objects.filter(host__name="kvm-02").update(last_pull_at=before)

    pull(enrolled.token)

    assert Enforcer.objects.get(host__name="kvm-02").last_pull_at == fleet.now


def test_report_becomes_records(fleet: Fleet, enrolled: Enrolment) -> None:
    before = ComplianceRecord.objects.count()
    report = report_on(decode_document(pull(enrolled.token).content), fleet)

    answer = send(enrolled, encode_report(report))

    assert (answer.status_code, answer.json()) == (200, {"accepted": 3})
    assert ComplianceRecord.objects.count() == before + 3


def test_same_report_sent_anew_changes_nothing(fleet: Fleet, enrolled: Enrolment) -> None:
    body = encode_report(report_on(decode_document(pull(enrolled.token).content), fleet))
    send(enrolled, body)
    once = ComplianceRecord.objects.count()

    answer = send(enrolled, body)

    assert answer.status_code == 200
    assert ComplianceRecord.objects.count() == once


def test_agent_of_the_first_version_goes_on_with_a_newer_service(
    fleet: Fleet, enrolled: Enrolment
) -> None:
    before = decode_document(pull(enrolled.token).content)
    body = json.loads(encode_report(report_on(before, fleet)))
    body["schema_version"] = 1
    # It had two mechanisms.
    body["support"] = body["support"][:2]
    for item in body["support"]:
        del item["units"], item["selectors"], item["holds"]
    for item in body["allocations"]:
        del item["controls"]

    answer = send(enrolled, json.dumps(body).encode())
    after = decode_document(pull(enrolled.token).content)

    assert (answer.status_code, answer.json()) == (200, {"accepted": 3})
    # It knows nothing of the host's own traffic, and keeps a part for it by itself.
    workloads = [one for one in before.allocations if one.selector.kind != HOST_TRAFFIC]
    assert list(after.allocations) == workloads
    stored = Enforcer.objects.get(host__name="kvm-02").support
    assert [item["holds"] for item in stored] == [None, None]


@pytest.fixture
def tokens(fleet: Fleet, enrolled: Enrolment) -> Callable[[str], str]:
    """The header that a program of a kind sends."""
    return lambda kind: authorization_of(kind, fleet, enrolled)


def authorization_of(kind: str, fleet: Fleet, enrolled: Enrolment) -> str:
    scopes = {"another scope": Scope.INGEST, "bound to no host": Scope.ENFORCE}
    if kind in scopes:
        _, secret = Token.objects.issue(
            organisation=fleet.organisation, scope=scopes[kind], name="other"
        )
        return f"Bearer {secret}"
    if kind == "revoked":
        enroll(organisation=fleet.organisation, host_name="kvm-02")
        return f"Bearer {enrolled.token}"
    return {"none": "", "unknown": "Bearer slu_x", "another scheme": "Basic b3duZXI6eA=="}[kind]


@pytest.mark.parametrize(
    "ask",
    [
        lambda **headers: Client().get(DOCUMENT, **headers),
        lambda **headers: Client().post(REPORT, **headers),
    ],
    ids=["document", "report"],
)
@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("none", 401, "unauthorized"),
        ("unknown", 401, "unauthorized"),
        ("another scheme", 401, "unauthorized"),
        ("revoked", 401, "unauthorized"),
        ("another scope", 403, "forbidden"),
        ("bound to no host", 403, "forbidden"),
    ],
)
def test_token_that_is_no_agents_is_refused(
    tokens: Callable[[str], str],
    ask: Callable[..., HttpResponse],
    kind: str,
    status: int,
    code: str,
) -> None:
    answer = ask(headers={"Authorization": tokens(kind)})

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["message"]


@pytest.mark.parametrize(
    ("change", "status", "reason"),
    [
        ({"host": "kvm-03"}, 422, 'this token is for "kvm-02"'),
        ({"reported_at": timedelta(minutes=11)}, 422, "set the clock of kvm-02"),
        ({"state": "asleep"}, 400, "$.state"),
        ({"schema_version": 99}, 400, "$.schema_version"),
        ({"surprise": 1}, 400, "$.surprise"),
    ],
    ids=["another host", "from the future", "unknown state", "unknown version", "unknown key"],
)
def test_report_that_does_not_fit_is_refused_with_the_reason(
    fleet: Fleet, enrolled: Enrolment, change: dict[str, object], status: int, reason: str
) -> None:
    before = ComplianceRecord.objects.count()
    report = report_on(decode_document(pull(enrolled.token).content), fleet)
    if isinstance(later := change.get("reported_at"), timedelta):
        report, change = replace(report, reported_at=fleet.now + later), {}
    body = json.loads(encode_report(report)) | change

    answer = send(enrolled, json.dumps(body).encode())

    assert answer.status_code == status
    assert reason in answer.json()["message"]
    assert ComplianceRecord.objects.count() == before


@pytest.mark.parametrize("body", [b" ", b"{", b"null", b"\xff\xfe", b"[" * 5000])
def test_body_that_is_no_report_is_400(enrolled: Enrolment, body: bytes) -> None:
    answer = send(enrolled, body)

    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")


def test_report_of_no_stated_length_is_411(enrolled: Enrolment) -> None:
    answer = send(enrolled, b"")

    assert (answer.status_code, answer.json()["code"]) == (411, "length_required")


def test_report_above_the_limit_is_413_and_not_read(enrolled: Enrolment) -> None:
    answer = send(enrolled, b" " * (MAX_REPORT_BYTES + 1))

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize(("endpoint", "method"), [(DOCUMENT, "post"), (REPORT, "get")])
def test_another_method_is_405(enrolled: Enrolment, endpoint: str, method: str) -> None:
    answer = getattr(Client(), method)(
        endpoint, headers={"Authorization": f"Bearer {enrolled.token}"}
    )

    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


def test_agent_is_asked_to_come_back_when_the_database_is_away(enrolled: Enrolment) -> None:
    with mock.patch("web.api.enforcer.given_document", side_effect=OperationalError):
        answer = pull(enrolled.token)

    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) > 0


def test_report_of_an_idle_agent_says_that_it_lives(fleet: Fleet, enrolled: Enrolment) -> None:
    document = decode_document(pull(enrolled.token).content)
    report = replace(
        report_on(document, fleet), allocations=(), state=EnforcementState.IDLE, revision=None
    )

    answer = send(enrolled, encode_report(report))

    assert answer.json() == {"accepted": 0}
    enforcer = Enforcer.objects.get(host__name="kvm-02")
    assert (enforcer.last_report_at, enforcer.applied_revision) == (fleet.now, None)
