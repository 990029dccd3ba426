"""One statement finds whose agent asks, and takes the same tokens as everybody else does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from accounts.authentication import AuthenticationError, ForbiddenError, authenticate
from accounts.models import Scope, Token
from advisor.decisions.asking_agent import asking_agent
from advisor.decisions.enrolment import Enrolment, enroll
from advisor.models import AgentKey, Enforcer
from tests.advisor.scenario import NOW, make_cluster

pytestmark = pytest.mark.django_db

STATES: dict[str, Callable[[], object]] = {
    "valid": lambda: None,
    "ends later": lambda: Token.objects.update(expires_at=NOW + timedelta(seconds=1)),
    "ends now": lambda: Token.objects.update(expires_at=NOW),
    "has ended": lambda: Token.objects.update(expires_at=NOW - timedelta(seconds=1)),
    "revoked": lambda: Token.objects.update(revoked_at=NOW),
    "revoked in time to come": lambda: Token.objects.update(revoked_at=NOW + timedelta(days=1)),
    "of another scope": lambda: Token.objects.update(scope=Scope.INGEST),
    "is gone": lambda: Token.objects.all().delete(),
}


@pytest.fixture
def enrolment() -> Enrolment:
    cluster = make_cluster()
    enroll(organisation=cluster.organisation, host_name="h2")
    return cluster.enrolment


@pytest.mark.parametrize("state", STATES)
def test_token_is_taken_and_refused_as_by_everybody(enrolment: Enrolment, state: str) -> None:
    header = f"Bearer {enrolment.token}"
    STATES[state]()

    try:
        authenticate(header, scope=Scope.ENFORCE, now=NOW)
    except (AuthenticationError, ForbiddenError) as error:
        with pytest.raises(type(error), match=str(error)):
            asking_agent(header, now=NOW)
    else:
        assert asking_agent(header, now=NOW).host == enrolment.host


def test_all_that_the_agents_questions_need_is_one_statement(
    enrolment: Enrolment, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    header = f"Bearer {enrolment.token}"
    asking_agent(header, now=NOW)  # When a token was used is noted once a minute.

    with django_assert_num_queries(1):
        agent = asking_agent(header, now=NOW)
        assert (agent.host.name, agent.host.enforcer.lease_s) == ("h1", 900)
        assert agent.key is not None
        assert agent.key.host is agent.host

    assert agent.key == AgentKey.objects.get(host=enrolment.host)


def test_agent_from_before_there_were_keys_has_none(enrolment: Enrolment) -> None:
    AgentKey.objects.all().delete()

    agent = asking_agent(f"Bearer {enrolment.token}", now=NOW)

    assert (agent.host, agent.key) == (enrolment.host, None)


def test_host_that_is_enrolled_no_more_is_refused(enrolment: Enrolment) -> None:
    Enforcer.objects.all().delete()

    with pytest.raises(ForbiddenError, match="sluice enroll"):
        asking_agent(f"Bearer {enrolment.token}", now=NOW)
