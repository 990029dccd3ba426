"""Any file is taken over as it is planned, from any other state."""

from __future__ import annotations

import pytest
from django.db import transaction
from hypothesis import given, settings

from accounts.actor import COMMAND_LINE
from accounts.models import Organisation
from advisor.decisions.policy_file.apply import apply_policy_file, plan_policy_file
from advisor.decisions.policy_file.decide.difference import after_changes, conflicts
from advisor.decisions.policy_file.decide.document import PolicyFile
from advisor.decisions.policy_file.decide.read import read_policy_file
from advisor.decisions.policy_file.decide.write import policy_file_text
from advisor.decisions.policy_file.present import exported, present_state
from advisor.models import NotificationChannel
from tests.advisor.policy_file.documents import FEW, documents
from tests.advisor.scenario import NOW

pytestmark = pytest.mark.django_db
SITES = documents(FEW)


def taken_over(organisation: Organisation, document: PolicyFile) -> PolicyFile:
    """The state after a file was taken over; it is the one that was planned."""
    read = read_policy_file(policy_file_text(document, units={}), file="site.yaml")
    before = present_state(organisation).document
    changes = plan_policy_file(organisation, read, now=NOW)
    assert present_state(organisation).document == before

    apply_policy_file(organisation, read, expected=changes, actor=COMMAND_LINE, now=NOW)

    after = present_state(organisation).document
    assert after == after_changes(before, changes)
    assert plan_policy_file(organisation, read, now=NOW) == ()
    return after


@settings(max_examples=10)
@given(SITES, SITES)
def test_any_file_is_taken_over_after_any_other(first: PolicyFile, second: PolicyFile) -> None:
    with transaction.atomic():
        one = Organisation.objects.create(slug="one", name="One")
        other = Organisation.objects.create(slug="other", name="Other")
        for own in (one, other):
            NotificationChannel.objects.create(
                organisation=own, name="chat", kind="webhook", address="https://c.example.org/"
            )
            NotificationChannel.objects.create(
                organisation=own, name="letters", kind="mail", address="ann@example.org"
            )
        assert taken_over(one, first) == first
        # A resource of another kind or unit is refused, which other tests show.
        if not any(conflicts(second, present_state(one))):
            after = taken_over(one, second)
            assert taken_over(other, exported(one)) == after
        transaction.set_rollback(True)
