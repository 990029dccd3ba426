"""An agent that asks again is given the document of before, until its lease is to be renewed."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.decisions.asking_agent import AskingAgent, asking_agent
from advisor.decisions.decide import approve
from advisor.decisions.document_sources import HeldDocument
from advisor.decisions.enrolment import enroll
from advisor.decisions.signing import given as module
from advisor.decisions.signing.documents import signed_for
from advisor.decisions.signing.given import GivenDocuments, given_document, round_moment
from advisor.models import AgentKey, Enforcer
from enforcers import ed25519
from enforcers.acceptance import accept
from enforcers.contract import HOST_TRAFFIC, PolicyDocument, canonical_bytes, decode_document
from enforcers.signature import SignatureKind, ed25519_message
from enforcers.wire_signatures import document_media
from tests.advisor.decisions.test_document_sources import add_version
from tests.advisor.scenario import NOW, Cluster, make_cluster, propose

ACCEPT = document_media(SignatureKind.ED25519)
BEGIN = round_moment(NOW, 900)
MOMENTS = st.integers(0, 10**9).map(lambda ms: NOW + timedelta(milliseconds=ms))
LEASES_S = st.integers(1, 86400)


@given(MOMENTS, LEASES_S)
def test_lease_counts_from_a_moment_that_is_past_and_near(now: datetime, lease_s: int) -> None:
    age_s = (now - round_moment(now, lease_s)).total_seconds()

    assert 0 <= age_s < max(1.0, min(30.0, lease_s / 30))


@given(MOMENTS, st.timedeltas(timedelta(0), timedelta(minutes=2)), LEASES_S)
def test_later_question_has_no_older_lease(now: datetime, later: timedelta, lease_s: int) -> None:
    assert round_moment(now, lease_s) <= round_moment(now + later, lease_s)


KEPT = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 40)))


@given(KEPT, st.integers(0, 100))
def test_what_is_kept_is_the_newest_of_each_key_and_has_a_limit(
    kept: list[tuple[int, int, int]], most_bytes: int
) -> None:
    documents = GivenDocuments(most_bytes=most_bytes)
    newest: dict[int, tuple[object, bytes]] = {}

    for key, revision, size in kept:
        facts, body = (held(revision), 5, BEGIN), bytes(size)
        documents.keep(key, facts, body)
        newest.pop(key, None)
        newest[key] = (facts, body)
        while sum(len(body) for _, body in newest.values()) > most_bytes:
            del newest[next(iter(newest))]

    for key in range(4):
        for revision in range(4):
            facts = (held(revision), 5, BEGIN)
            expected = newest.get(key)
            assert documents.find(key, facts) == (
                expected[1] if expected is not None and expected[0] == facts else None
            )


def held(revision: int) -> HeldDocument:
    return HeldDocument(revision=revision, text="", lease_s=900, dry_run=False)


@pytest.fixture
def cluster(db: None, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(module, "_GIVEN", GivenDocuments())
    cluster = make_cluster()
    approve(recommendation=propose(cluster), user=cluster.people.owner, now=NOW)
    # Once it is composed and noted, a question changes nothing.
    given_document(agent(cluster), accept=ACCEPT, now=NOW)
    return cluster


def agent(cluster: Cluster, now: datetime = NOW) -> AskingAgent:
    return asking_agent(f"Bearer {cluster.enrolment.token}", now=now)


def ask(cluster: Cluster, after_s: float = 0.0) -> bytes:
    """The answer so long after a lease began to count."""
    now = BEGIN + timedelta(seconds=after_s)
    return given_document(agent(cluster, now), accept=ACCEPT, now=now)


def is_signed(document: PolicyDocument) -> bool:
    """By the newest key of its host."""
    key = AgentKey.objects.filter(host__name=document.host).latest("pk")
    signature = bytes.fromhex(document.signature or "")
    message = ed25519_message(canonical_bytes(document))
    return ed25519.is_signed(message, signature, bytes.fromhex(key.public_key))


def test_same_document_is_given_until_the_next_round_moment(cluster: Cluster) -> None:
    first = ask(cluster)

    assert ask(cluster, 29.9) == first
    renewed = decode_document(ask(cluster, 30.0))
    assert renewed.issued_at == BEGIN + timedelta(seconds=30)
    assert renewed.expires_at == renewed.issued_at + timedelta(seconds=900)
    assert is_signed(renewed)
    assert is_signed(decode_document(first))


def test_document_is_signed_once_in_that_time(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed: list[PolicyDocument] = []

    def sign(document: PolicyDocument, **rest: Any) -> PolicyDocument:
        signed.append(document)
        return signed_for(document, **rest)

    monkeypatch.setattr(module, "signed_for", sign)

    for after_s in (0.0, 10.0, 20.0, 30.0, 40.0, 50.0):
        ask(cluster, after_s)

    # The first may be known from before.
    assert len(signed) <= 2


def test_new_policy_is_in_the_next_answer(cluster: Cluster) -> None:
    former = decode_document(ask(cluster))
    add_version(cluster)

    given_now = decode_document(ask(cluster, 1.0))

    assert given_now.revision == former.revision + 1
    own = [one for one in given_now.allocations if one.selector.kind != HOST_TRAFFIC]
    assert {one.shares for one in own} == {500}


@pytest.mark.parametrize("change", [{"dry_run": True}, {"lease_s": 600}], ids=["dry", "lease"])
def test_other_terms_are_in_the_next_answer(cluster: Cluster, change: dict[str, object]) -> None:
    former = ask(cluster)
    Enforcer.objects.update(**change)

    assert ask(cluster, 1.0) != former


def test_host_with_new_keys_is_given_a_document_of_theirs(cluster: Cluster) -> None:
    former = ask(cluster)
    new = enroll(organisation=cluster.organisation, host_name="h1")

    given_now = given_document(
        asking_agent(f"Bearer {new.token}", now=BEGIN), accept=ACCEPT, now=BEGIN
    )

    assert given_now != former
    assert is_signed(decode_document(given_now))


def test_agent_that_shares_a_secret_is_given_a_fresh_lease_each_time(cluster: Cluster) -> None:
    AgentKey.objects.all().delete()
    Enforcer.objects.update(signing_key="ab" * 16)

    found = [
        decode_document(given_document(agent(cluster), accept="", now=now))
        for now in (BEGIN + timedelta(seconds=1), BEGIN + timedelta(seconds=2))
    ]

    assert [one.issued_at for one in found] == [
        BEGIN + timedelta(seconds=1), BEGIN + timedelta(seconds=2)
    ]  # fmt: skip


@given(st.lists(st.tuples(st.floats(0.0, 40.0), st.floats(-2.0, 2.0)), min_size=2, max_size=8))
def test_agent_takes_each_document_whichever_server_it_asks(
    questions: list[tuple[float, float]],
) -> None:
    """Their clocks differ by less than the time between two questions."""
    asked_at, taken = BEGIN, None
    for pause_s, ahead_s in questions:
        asked_at += timedelta(seconds=10.0 + pause_s)
        document = made(round_moment(asked_at + timedelta(seconds=ahead_s), 900))
        lease_ends_at = accept(document, host="h1", held=taken, now=asked_at)
        assert asked_at + timedelta(seconds=868) <= lease_ends_at <= document.expires_at
        taken = document


def made(issued_at: datetime) -> PolicyDocument:
    return PolicyDocument(
        host="h1", revision=1, issued_at=issued_at, expires_at=issued_at + timedelta(seconds=900),
        dry_run=False, resources=(), allocations=(), pools=(),
    )  # fmt: skip
