"""The page of members: who sees and may do what, and the way in by an invitation."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from accounts.actor import COMMAND_LINE
from accounts.models import AuditEntry, Invitation, Membership, Role
from accounts.services.invitations import invite
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.conftest import client_of
from tests.web.fleet import PASSWORD, Fleet

pytestmark = pytest.mark.any_database

LINK = re.compile(r"http://testserver(/invitations/[^/]+/)")


def membership(person: User) -> Membership:
    return Membership.objects.get(user=person)


def forms(fleet: Fleet) -> dict[str, tuple[str, dict[str, str]]]:
    """What may be sent about the viewer, and about an invitation."""
    viewer = membership(fleet.people.viewer).pk
    invitation, _ = invite(
        organisation=fleet.organisation, role=Role.VIEWER, by=COMMAND_LINE, now=fleet.now
    )
    return {
        "invite": (reverse("invite"), {"role": "viewer", "mail": "bob@example.org"}),
        "role": (reverse("give-role", args=[viewer]), {"role": "operator"}),
        "remove": (reverse("remove-member", args=[viewer]), {}),
        "withdraw": (reverse("withdraw-invitation", args=[invitation.pk]), {}),
    }


def state(fleet: Fleet) -> tuple[object, ...]:
    members = Membership.objects.order_by("pk").values_list("user", "organisation", "role")
    return (*members, *Invitation.objects.order_by("pk").values_list("pk", "withdrawn_at"))


# The outsider owns another organisation, in which they may invite; of this one they see nothing.
ANSWERS = {
    "owner": {"invite": 200, "role": 302, "remove": 302, "withdraw": 302},
    "operator": {"invite": 403, "role": 403, "remove": 403, "withdraw": 403},
    "outsider": {"invite": 200, "role": 404, "remove": 404, "withdraw": 404},
}


@pytest.mark.parametrize("who", ANSWERS)
@pytest.mark.parametrize("form", ["invite", "role", "remove", "withdraw"])
def test_form_is_taken_from_who_may(nothing_yet: Fleet, who: str, form: str) -> None:
    address, fields = forms(nothing_yet)[form]
    before = state(nothing_yet)

    answer = client_of(getattr(nothing_yet.people, who)).post(address, fields)

    assert answer.status_code == ANSWERS[who][form]
    assert (state(nothing_yet) == before) is (answer.status_code >= 400)
    newest = Invitation.objects.order_by("-pk")[0]
    assert who != "outsider" or newest.organisation != nothing_yet.organisation or form != "invite"


@pytest.mark.parametrize("form", ["invite", "role", "remove", "withdraw"])
def test_nothing_is_changed_by_following_a_link(nothing_yet: Fleet, form: str) -> None:
    address, _ = forms(nothing_yet)[form]

    assert client_of(nothing_yet.people.owner).get(address).status_code == 405


def test_viewer_sees_members_and_neither_forms_nor_invitations(nothing_yet: Fleet) -> None:
    forms(nothing_yet)

    page = client_of(nothing_yet.people.viewer).get(reverse("members")).content.decode()

    assert "new-operator" in page
    assert not any(
        word in page for word in ("new-outsider", "Invite", "Open invitations", "/role/")
    )


def test_viewer_may_leave(nothing_yet: Fleet) -> None:
    own = membership(nothing_yet.people.viewer).pk

    client_of(nothing_yet.people.viewer).post(reverse("remove-member", args=[own]))

    assert not Membership.objects.filter(pk=own).exists()


def test_last_owner_is_told_why_they_stay(nothing_yet: Fleet) -> None:
    owner = client_of(nothing_yet.people.owner)
    own = membership(nothing_yet.people.owner).pk

    page = owner.post(reverse("remove-member", args=[own]), follow=True).content.decode()

    assert "is the only owner of" in page
    assert membership(nothing_yet.people.owner).role == Role.OWNER


@pytest.mark.parametrize("fields", [{"role": "king"}, {"role": "viewer", "mail": "no mail"}])
def test_wrong_input_is_told_and_invites_nobody(
    nothing_yet: Fleet, fields: dict[str, str]
) -> None:
    owner = client_of(nothing_yet.people.owner)

    page = owner.post(reverse("invite"), fields, follow=True).content.decode()

    assert 'class="error"' in page
    assert not Invitation.objects.exists()


def test_invitation_is_mailed_where_there_is_mail(nothing_yet: Fleet, settings: Any) -> None:
    settings.HAS_MAIL = True
    client_of(nothing_yet.people.owner).post(
        reverse("invite"), {"role": "viewer", "mail": "bob@example.org"}
    )

    (letter,) = mail.outbox
    assert letter.to == ["bob@example.org"]
    assert LINK.search(str(letter.body))


def invited(fleet: Fleet) -> str:
    page = client_of(fleet.people.owner).post(reverse("invite"), {"role": "operator"})
    found = LINK.search(page.content.decode())
    assert found is not None
    return found[1]


def sign_up(client: Client, link: str) -> HttpResponse:
    form = {
        "username": "bob", "email": "bob@example.org", "next": link,
        "password1": PASSWORD, "password2": PASSWORD,
    }  # fmt: skip
    return client.post(reverse("account_signup"), form)


def test_new_person_comes_in_by_the_link_though_sign_up_is_closed(nothing_yet: Fleet) -> None:
    link, client = invited(nothing_yet), Client()

    page = client.get(link).content.decode()
    signed_up = sign_up(client, link)
    client.post(link, REMOTE_ADDR="192.0.2.7")

    assert "I am new here" in page
    assert signed_up.headers["Location"] == link
    assert Membership.objects.get(user__username="bob").role == Role.OPERATOR
    entry = AuditEntry.objects.get(action="accept invitation")
    assert (entry.actor, entry.address) == ("bob", "192.0.2.7")


def test_existing_person_joins_with_the_database_keeping_organisations_apart(
    nothing_yet: Fleet, settings: Any
) -> None:
    link, outsider = invited(nothing_yet), client_of(nothing_yet.people.outsider)
    make_roles()
    settings.HAS_ROW_WALLS = True
    with acting_as(DatabaseRole.WEB):
        page = outsider.get(link).content.decode()
        joined = outsider.post(link)

    assert "Join as new-outsider" in page
    assert joined.status_code == 302
    found = Membership.objects.filter(organisation=nothing_yet.organisation)
    assert found.get(user=nothing_yet.people.outsider).role == Role.OPERATOR


def test_used_link_says_so_and_opens_no_sign_up(nothing_yet: Fleet) -> None:
    link = invited(nothing_yet)
    late = Client()
    late.get(link)
    client_of(nothing_yet.people.outsider).post(link)

    page = late.get(link)
    sign_up(late, link)

    assert page.status_code == 410
    assert b"This link was used already" in page.content
    assert not User.objects.filter(username="bob").exists()


def test_expired_link_says_so(nothing_yet: Fleet) -> None:
    link = invited(nothing_yet)
    Invitation.objects.update(expires_at=nothing_yet.now - timedelta(days=1))

    page = client_of(nothing_yet.people.outsider).post(link)

    assert page.status_code == 410
    assert b"This link expired on 2026-11-19" in page.content


def test_who_is_not_logged_in_is_not_let_in(nothing_yet: Fleet) -> None:
    link = invited(nothing_yet)

    assert Client().post(link).status_code == 200
    assert Invitation.objects.get().accepted_at is None
