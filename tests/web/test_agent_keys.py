"""Keys of agents: of both kinds, new ones beside old ones, and reports signed by them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from email.message import Message
from io import StringIO
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.models import AuditEntry, Organisation
from advisor.decisions.enrolment import Enrolment, enroll, issue_reader_token, rotate
from advisor.decisions.signing.signer import SignerUnavailable
from advisor.errors import EnrolmentRefused
from advisor.models import AgentKey, ComplianceRecord, Enforcer
from enforcers.client import Client as AgentClient
from enforcers.config import ServerConfig
from enforcers.contract import (
    DOCUMENT_MEDIA,
    PolicyDocument,
    SignatureError,
    decode_document,
    encode_report,
    verify,
)
from enforcers.errors import ServerError
from enforcers.http_exchange import Answer
from enforcers.signature import SignatureKind
from enforcers.wire_signatures import REPORT_HEADER, document_media
from tests.advisor.agent_keys import document_key, report_headers, report_secret, share_secret
from tests.web import agents
from tests.web.fleet import Fleet
from tests.web.test_enforcer_api import DOCUMENT, RATES, REPORT, enrolled, pull, send_as

__all__ = ["enrolled"]
DAY = timedelta(days=1)


def body_on(document: PolicyDocument, fleet: Fleet) -> bytes:
    return encode_report(agents.report_of(document, now=fleet.now, rates=RATES))


def pull_as(token: str, accept: str) -> object:
    headers = {"Authorization": f"Bearer {token}", "Accept": accept}
    return Client().get(DOCUMENT, headers=headers)


@pytest.mark.parametrize(
    "accept",
    ["application/json", DOCUMENT_MEDIA, document_media(SignatureKind.HMAC)],
    ids=["first", "before", "this release"],
)
def test_agent_that_shares_a_secret_goes_on(
    fleet: Fleet, enrolled: Enrolment, accept: str
) -> None:
    secret = share_secret(enrolled)

    answer = pull_as(enrolled.token, accept)
    document = decode_document(answer.content)  # type: ignore[attr-defined]  # an answer
    verify(document, secret)
    reported = send_as(enrolled, body_on(document, fleet), {})

    assert reported.status_code == 200


def test_agent_that_reads_no_ed25519_is_told_so(enrolled: Enrolment) -> None:
    answer = pull_as(enrolled.token, DOCUMENT_MEDIA)

    assert answer.status_code == 422  # type: ignore[attr-defined]  # an answer
    assert "update the agent" in answer.json()["message"]  # type: ignore[attr-defined]  # an answer


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda body, sent: (body, {}), "the report is unsigned, and kvm-02 has a key"),
        (lambda body, sent: (body.replace(b"0.1.0", b"0.1.1"), sent), "was altered"),
        (
            lambda body, sent: (
                body, {REPORT_HEADER: sent[REPORT_HEADER].replace("number=7", "number=8")},
            ),
            "was altered",
        ),
        (lambda body, sent: (body, {REPORT_HEADER: "none"}), "must be number=N, ed25519=HEX"),
    ],
    ids=["unsigned", "altered", "another number", "of another form"],
)  # fmt: skip
def test_report_that_its_agent_did_not_sign_is_refused_by_name(
    fleet: Fleet, enrolled: Enrolment, change: object, reason: str
) -> None:
    body = body_on(decode_document(pull(enrolled.token).content), fleet)
    before = ComplianceRecord.objects.count()
    given, headers = change(body, report_headers(enrolled, body, 7))  # type: ignore[operator]  # a lambda

    answer = send_as(enrolled, given, headers)

    assert answer.status_code in (400, 422)
    assert reason in answer.json()["message"]
    assert ComplianceRecord.objects.count() == before
    # As long as nothing was taken the number is free.
    assert send_as(enrolled, body, report_headers(enrolled, body, 7)).status_code == 200


def test_report_that_comes_again_or_late_is_refused_as_replayed(
    fleet: Fleet, enrolled: Enrolment
) -> None:
    body = body_on(decode_document(pull(enrolled.token).content), fleet)
    first, second = (report_headers(enrolled, body, number) for number in (5, 6))
    assert send_as(enrolled, body, first).status_code == 200
    assert send_as(enrolled, body, second).status_code == 200

    answers = [send_as(enrolled, body, headers) for headers in (second, first)]

    assert [answer.status_code for answer in answers] == [422, 422]
    assert all("the report is replayed" in answer.json()["message"] for answer in answers)


def test_report_of_a_clock_that_was_ahead_keeps_none_out_once_it_is_right(
    fleet: Fleet, enrolled: Enrolment
) -> None:
    document = decode_document(pull(enrolled.token).content)
    ahead = encode_report(agents.report_of(document, now=fleet.now + DAY, rates=RATES))
    right = body_on(document, fleet)

    refused = send_as(enrolled, ahead, report_headers(enrolled, ahead, 9_000))
    taken = send_as(enrolled, right, report_headers(enrolled, right, 5_000))

    assert refused.status_code == 422
    assert "set the clock" in refused.json()["message"]
    assert taken.status_code == 200


class Asking:
    """The agent's way to the service, without a socket between them."""

    def ask(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], **_: object
    ) -> Answer:
        said = Client().generic(
            method, path, body or b"", content_type="application/json", headers=headers
        )
        return Answer(
            status=said.status_code, headers=Message(), body=said.content, place=f"{method} {path}"
        )


def agent_of(enrolment: Enrolment) -> AgentClient:
    config = ServerConfig(
        url=urlsplit("http://localhost"), timeout_s=5.0, ca_file=None, token=enrolment.token,
        document_key=document_key(enrolment), report_key=report_secret(enrolment),
    )  # fmt: skip
    return AgentClient(config, http=Asking())


def test_agent_whose_clock_was_ahead_is_heard_after_it_starts_anew(
    fleet: Fleet, enrolled: Enrolment, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = decode_document(pull(enrolled.token).content)
    ahead = encode_report(agents.report_of(document, now=fleet.now + DAY, rates=RATES))
    right = body_on(document, fleet)
    clock_us = 1_000_000 + 86_400_000_000
    monkeypatch.setattr("enforcers.client.time.time_ns", lambda: 1000 * clock_us)
    first = agent_of(enrolled)
    with pytest.raises(ServerError, match="set the clock"):
        first.send_report(ahead)
    # Its numbers only grow while it runs, also when the clock is right again.
    clock_us = 2_000_000
    first.send_report(right)

    agent_of(enrolled).send_report(right)

    (key,) = AgentKey.objects.filter(public_key=enrolled.server_key.partition(":")[2])
    assert key.newest_number == 1_000_000 + 86_400_000_000 + 2


def test_number_that_is_told_helps_nobody_who_repeats_a_report(
    fleet: Fleet, enrolled: Enrolment
) -> None:
    body = body_on(decode_document(pull(enrolled.token).content), fleet)
    sent = report_headers(enrolled, body, 5)
    assert send_as(enrolled, body, sent).status_code == 200

    answer = send_as(enrolled, body, sent)
    changed = {REPORT_HEADER: sent[REPORT_HEADER].replace("number=5", "number=6")}

    assert answer.json()["newest_number"] == 5
    assert send_as(enrolled, body, changed).status_code == 422


def test_report_on_a_revision_that_was_never_published_is_refused_and_shown(
    fleet: Fleet, enrolled: Enrolment
) -> None:
    document = decode_document(pull(enrolled.token).content)
    body = json.loads(body_on(document, fleet)) | {"revision": 999}
    sent = json.dumps(body).encode()
    before = ComplianceRecord.objects.count()
    applied = Enforcer.objects.get(host__name="kvm-02").applied_revision

    answer = send_as(enrolled, sent, report_headers(enrolled, sent))

    assert answer.status_code == 422
    assert "reports revision 999, which was never published" in answer.json()["message"]
    enforcer = Enforcer.objects.get(host__name="kvm-02")
    assert (enforcer.applied_revision, "999" in enforcer.refusal) == (applied, True)
    assert ComplianceRecord.objects.count() == before


def test_both_agents_work_until_the_overlap_is_over(
    fleet: Fleet, enrolled: Enrolment, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = rotate(organisation=fleet.organisation, host_name="kvm-02", overlap=DAY)

    for one in (enrolled, new):
        document = decode_document(pull(one.token).content)
        verify(document, document_key(one))
        body = body_on(document, fleet)
        assert send_as(one, body, report_headers(one, body)).status_code == 200
    with pytest.raises(SignatureError):
        verify(document, document_key(enrolled))

    later = fleet.now + DAY
    monkeypatch.setattr("web.api.enforcer.timezone.now", lambda: later)
    assert pull(enrolled.token).status_code == 401
    assert pull(new.token).status_code == 200


def test_key_of_one_token_does_not_sign_for_the_other(fleet: Fleet, enrolled: Enrolment) -> None:
    new = rotate(organisation=fleet.organisation, host_name="kvm-02", overlap=DAY)
    body = body_on(decode_document(pull(new.token).content), fleet)

    answer = send_as(new, body, report_headers(enrolled, body))

    assert answer.status_code == 422
    assert "signed by another key" in answer.json()["message"]


def test_agent_that_shares_a_secret_is_led_over(fleet: Fleet, enrolled: Enrolment) -> None:
    secret = share_secret(enrolled)

    new = rotate(organisation=fleet.organisation, host_name="kvm-02", overlap=DAY)

    by_secret, by_key = (decode_document(pull(one.token).content) for one in (enrolled, new))
    verify(by_secret, secret)
    verify(by_key, document_key(new))
    assert by_secret.allocations == by_key.allocations != ()


def test_second_rotation_does_not_prolong_the_first(fleet: Fleet, enrolled: Enrolment) -> None:
    rotate(organisation=fleet.organisation, host_name="kvm-02", overlap=timedelta(hours=1))
    rotate(organisation=fleet.organisation, host_name="kvm-02", overlap=DAY)

    first = AgentKey.objects.get(public_key=enrolled.server_key.partition(":")[2]).token
    assert first.expires_at is not None
    assert first.expires_at - fleet.now < timedelta(hours=1, minutes=1)


def test_enrolling_anew_ends_everything_at_once(fleet: Fleet, enrolled: Enrolment) -> None:
    share_secret(enrolled)

    enroll(organisation=fleet.organisation, host_name="kvm-02")

    assert pull(enrolled.token).status_code == 401
    assert Enforcer.objects.get(host__name="kvm-02").signing_key == ""


@pytest.mark.parametrize(
    ("host", "overlap", "reason"),
    [
        ("kvm-77", DAY, "has no agent"),
        ("kvm-02", timedelta(days=31), "at most 30 days"),
        ("kvm-02", -DAY, "at most 30 days"),
    ],
)
def test_rotation_that_cannot_be_is_refused(
    fleet: Fleet, enrolled: Enrolment, host: str, overlap: timedelta, reason: str
) -> None:
    before = AgentKey.objects.count()

    with pytest.raises(EnrolmentRefused, match=reason):
        rotate(organisation=fleet.organisation, host_name=host, overlap=overlap)

    assert AgentKey.objects.count() == before
    assert pull(enrolled.token).status_code == 200


def test_host_of_another_organisation_is_not_rotated(fleet: Fleet, enrolled: Enrolment) -> None:
    other = Organisation.objects.create(slug="lakeside-3", name="Lakeside")

    with pytest.raises(EnrolmentRefused, match="has no agent"):
        rotate(organisation=other, host_name="kvm-02", overlap=DAY)


def test_same_name_in_another_organisation_has_another_key(
    fleet: Fleet, enrolled: Enrolment
) -> None:
    other = Organisation.objects.create(slug="lakeside-3", name="Lakeside")
    theirs = enroll(organisation=other, host_name="kvm-02")

    document = decode_document(pull(theirs.token).content)

    verify(document, document_key(theirs))
    with pytest.raises(SignatureError):
        verify(document, document_key(enrolled))


def test_command_writes_new_keys_beside_the_configuration(
    fleet: Fleet, enrolled: Enrolment, tmp_path: Path
) -> None:
    (tmp_path / "agent.toml").write_text("# mine\n")
    said = StringIO()
    words = ["enroll", "kvm-02", "--out", str(tmp_path), "--organisation", "northgate"]
    words[-1] = fleet.organisation.slug

    call_command(*words, "--rotate", "--overlap", "2", stdout=said)

    assert (tmp_path / "agent.toml").read_text() == "# mine\n"
    assert {one.name for one in tmp_path.iterdir()} == {
        "agent.toml", "token", "server-key", "report-key",
    }  # fmt: skip
    assert "works until" in said.getvalue() or "work until" in said.getvalue()
    assert 'server_key_file = "server-key"' in said.getvalue()
    assert (tmp_path / "report-key").stat().st_mode & 0o777 == 0o600
    newest = AuditEntry.objects.latest("pk")
    assert (newest.action, newest.subject) == ("rotate agent keys", "kvm-02")
    assert (tmp_path / "token").read_text() not in str(AuditEntry.objects.values())
    with pytest.raises(CommandError, match="leave out --lease"):
        call_command(*words, "--rotate", "--lease", "60")
    with pytest.raises(CommandError, match="at most 86400 s"):
        call_command(*words, "--lease", "86401")


def test_tokens_of_samples_overlap_too(fleet: Fleet, enrolled: Enrolment) -> None:
    from accounts.models import Token

    first = issue_reader_token(host=enrolled.host)
    issue_reader_token(host=enrolled.host, overlap=DAY)

    assert Token.objects.valid(first, now=fleet.now) is not None
    assert Token.objects.valid(first, now=fleet.now + 2 * DAY) is None


def test_agent_waits_while_nobody_signs(
    fleet: Fleet, enrolled: Enrolment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody() -> None:
        raise SignerUnavailable("the signer does not answer")

    monkeypatch.setattr("advisor.decisions.signing.documents.find_signer", nobody)
    answer = pull(enrolled.token)

    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) > 0
    monkeypatch.setattr("advisor.decisions.enrolment.find_signer", nobody)
    with pytest.raises(EnrolmentRefused, match="does not answer"):
        enroll(organisation=fleet.organisation, host_name="kvm-03")


def test_lost_key_of_documents_is_said_to_the_agent(fleet: Fleet, enrolled: Enrolment) -> None:
    AgentKey.objects.filter(host=enrolled.host).update(salt="of another secret")

    answer = pull(enrolled.token)

    assert answer.status_code == 503
    assert "put the secret back from a backup" in answer.json()["message"]


def test_stored_keys_of_a_host_are_public_ones(enrolled: Enrolment) -> None:
    stored = str(list(AgentKey.objects.values()))

    assert enrolled.server_key.partition(":")[2] in stored
    for secret in (enrolled.report_key.partition(":")[2], enrolled.token):
        assert secret not in stored
        assert secret not in repr(enrolled)
    assert REPORT
