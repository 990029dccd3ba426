"""Logging in at a company's provider: who gets in as what, and what a provider may do wrong."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from allauth.socialaccount.internal import statekit
from allauth.socialaccount.models import SocialAccount, SocialLogin, SocialToken
from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actor import COMMAND_LINE
from accounts.models import AuditEntry, Membership, Role
from accounts.oidc import OidcProvider
from accounts.services.invitations import invite
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.company import CLIENT_ID, OTHER_KEY, SECRET, Company, company_at_work
from tests.web.conftest import client_of
from tests.web.fleet import PASSWORD, Fleet
from web import bounded_requests

pytestmark = pytest.mark.any_database

ROLES = {
    "storage": {"new-northgate": "operator"},
    "bosses": {"new-northgate": "admin", "new-lakeside": "viewer"},
    "founders": {"new-northgate": "owner"},
}
ALICE = {
    "sub": "4711", "preferred_username": "alice", "email": "alice@corp.example",
    "email_verified": True, "groups": ["storage", "canteen"],
}  # fmt: skip


@pytest.fixture(scope="module")
def at_work() -> Iterator[Company]:
    with company_at_work() as company:
        yield company


@pytest.fixture
def company(at_work: Company, nothing_yet: Fleet, settings: Any) -> Iterator[Company]:
    """The provider as the product knows it; each test tells it what to get wrong."""
    fresh = Company(issuer=at_work.issuer, person=dict(ALICE))
    cache.clear()
    for name in Company.__slots__:
        setattr(at_work, name, getattr(fresh, name))
    settings.OIDC = OidcProvider(
        issuer=at_work.issuer, client_id=CLIENT_ID, secret=SECRET, name="Corp", roles=ROLES
    )
    yield at_work
    at_work.goes_on.set()


def sent_to(client: Client, **fields: str) -> str:
    """Where the button leads a browser."""
    page = client.post(reverse("oidc-login"), fields).content.decode()
    found = re.search(r'content="0; url=([^"]+)"', page)
    assert found is not None, page
    return html.unescape(found[1])


def back_from(place: str) -> str:
    """What the provider sends the browser back to."""
    answer = requests.get(place, allow_redirects=False, timeout=10)
    back = urlsplit(answer.headers["Location"])
    return f"{back.path}?{back.query}"


def log_in(client: Client | None = None, **fields: str) -> HttpResponse:
    client = client or Client()
    return client.get(back_from(sent_to(client, **fields)))


def role(name: str = "alice", organisation: str = "new-northgate") -> str | None:
    found = Membership.objects.filter(user__username=name, organisation__slug=organisation)
    return found.values_list("role", flat=True).first()


def state() -> tuple[object, ...]:
    """What a failed login must leave as it is."""
    return (
        *User.objects.order_by("pk").values_list("pk", "username", "email", "last_login"),
        *Membership.objects.order_by("pk").values_list("pk", "role", "from_groups"),
        *SocialAccount.objects.order_by("pk").values_list("pk", "user", "uid"),
        *AuditEntry.objects.order_by("pk").values_list("pk"),
    )


def test_button_stands_on_the_login_page_where_there_is_a_provider(
    company: Company, settings: Any
) -> None:
    with_it = Client().get(reverse("login")).content.decode()
    settings.OIDC = None
    without = Client().get(reverse("login")).content.decode()

    assert "Log in with Corp" in with_it
    assert reverse("oidc-login") not in without
    assert Client().post(reverse("oidc-login")).status_code == 404
    assert Client().get(reverse("oidc-callback")).status_code == 404


def test_new_person_gets_the_role_of_their_group(company: Company) -> None:
    client = Client(REMOTE_ADDR="192.0.2.7")

    answer = log_in(client)

    assert answer.status_code == 302
    assert client.get("/").status_code == 200
    assert role() == Role.OPERATOR
    assert EmailAddress.objects.get(user__username="alice").verified
    entry = AuditEntry.objects.get(action="join by group")
    assert (entry.actor, entry.subject, entry.address, entry.details) == (
        "groups at Corp", "alice", "192.0.2.7", {"role": "operator"},
    )  # fmt: skip


def test_login_leads_to_the_page_that_was_asked_for(company: Company) -> None:
    assert log_in(next="/hosts/").headers["Location"] == "/hosts/"
    assert log_in(next="https://elsewhere.example/").headers["Location"] == "/"


def test_nobody_is_sent_to_the_provider_by_a_link(company: Company) -> None:
    answer = Client().get(reverse("oidc-login"))

    assert answer.headers["Location"] == reverse("login")


@pytest.mark.parametrize(
    ("groups", "after"),
    [(["bosses"], "admin"), (["storage", "bosses"], "admin"), (["canteen"], None), ([], None)],
    ids=["other", "highest", "taken away", "none"],
)
def test_groups_are_looked_at_again_at_each_login(
    company: Company, groups: list[str], after: str | None
) -> None:
    log_in()
    company.person["groups"] = groups

    log_in()

    assert role() == after


def test_groups_may_open_several_organisations(company: Company) -> None:
    company.person["groups"] = ["storage", "bosses"]

    log_in()

    assert (role(), role(organisation="new-lakeside")) == ("admin", "viewer")


def test_login_works_with_the_database_keeping_organisations_apart(
    company: Company, settings: Any
) -> None:
    make_roles()
    settings.HAS_ROW_WALLS = True
    client = Client()
    with acting_as(DatabaseRole.WEB):
        answers = [log_in(client).status_code, client.get("/").status_code]
        company.person["groups"] = []
        answers += [log_in(client).status_code, client.get("/").status_code]

    assert answers == [302, 200, 302, 403]
    assert role() is None


def connected(fleet: Fleet, person: User) -> Client:
    """Somebody who was here before, after connecting their login at the company."""
    client = Client()
    client.post(reverse("login"), {"login": person.get_username(), "password": PASSWORD})
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    log_in(client, process="connect")
    assert SocialAccount.objects.get().user == person
    return client


def disconnected(client: Client) -> str:
    """What the page says after the button was pressed."""
    return client.post(reverse("oidc-disconnect"), follow=True).content.decode()


def test_login_is_disconnected_by_who_has_a_password(nothing_yet: Fleet, company: Company) -> None:
    client = connected(nothing_yet, nothing_yet.people.viewer)
    make_roles()

    with acting_as(DatabaseRole.WEB):
        page = disconnected(client)

    assert "Connect your login at Corp" in page
    assert not SocialAccount.objects.exists()
    # The provider opens nothing of hers from now on, and her password does.
    log_in(other := Client())
    assert other.get("/").wsgi_request.user != nothing_yet.people.viewer
    form = {"login": "new-viewer", "password": PASSWORD}
    assert Client().post(reverse("login"), form).status_code == 302


def test_last_way_in_is_not_disconnected(nothing_yet: Fleet, company: Company) -> None:
    client = connected(nothing_yet, nothing_yet.people.viewer)
    nothing_yet.people.viewer.set_unusable_password()
    nothing_yet.people.viewer.save()
    log_in(client)

    page = disconnected(client)

    assert "It is your only way in: set a password first." in page
    assert SocialAccount.objects.get().user == nothing_yet.people.viewer


def test_role_by_groups_keeps_its_login(nothing_yet: Fleet, company: Company) -> None:
    client = Client()
    log_in(client)
    alice = User.objects.get(username="alice")
    alice.set_password(PASSWORD)
    alice.save()
    log_in(client)

    page = disconnected(client)

    assert "You have a role by your groups at Corp, so you log in there alone." in page
    assert SocialAccount.objects.get().user == alice


def test_disconnecting_takes_the_password_again(
    nothing_yet: Fleet, company: Company, settings: Any
) -> None:
    client = connected(nothing_yet, nothing_yet.people.viewer)
    settings.ACCOUNT_REAUTHENTICATION_TIMEOUT = 0

    answer = client.post(reverse("oidc-disconnect"))

    assert answer.headers["Location"].startswith(reverse("account_reauthenticate"))
    assert SocialAccount.objects.exists()


def test_who_has_no_login_of_a_company_disconnects_none(
    nothing_yet: Fleet, company: Company
) -> None:
    client = client_of(nothing_yet.people.viewer)

    assert client.post(reverse("oidc-disconnect")).status_code == 404
    assert client.get(reverse("oidc-disconnect")).status_code == 405
    assert "Disconnect your login" not in client.get(reverse("profile")).content.decode()


def test_role_by_hand_stays_whatever_groups_say(nothing_yet: Fleet, company: Company) -> None:
    connected(nothing_yet, nothing_yet.people.viewer)
    company.person["groups"] = ["bosses"]

    log_in()
    with_more = role("new-viewer")
    company.person["groups"] = []
    log_in()

    assert (with_more, role("new-viewer")) == ("viewer", "viewer")
    # What the same groups open elsewhere was theirs for as long as they had the group.
    assert role("new-viewer", "new-lakeside") is None


def test_role_that_is_set_by_hand_is_no_longer_changed_by_groups(
    nothing_yet: Fleet, company: Company
) -> None:
    log_in()
    pk = Membership.objects.get(user__username="alice").pk
    client_of(nothing_yet.people.owner).post(reverse("give-role", args=[pk]), {"role": "viewer"})

    log_in()

    assert role() == Role.VIEWER


def test_last_owner_stays_one(nothing_yet: Fleet, company: Company) -> None:
    company.person["groups"] = ["founders"]
    log_in()
    Membership.objects.filter(user=nothing_yet.people.owner).delete()
    company.person["groups"] = []

    answer = log_in()

    assert answer.status_code == 302
    assert role() == Role.OWNER


def test_person_is_matched_by_the_subject_alone(nothing_yet: Fleet, company: Company) -> None:
    """Neither by a name nor by a mail address, which others may have taken there."""
    company.person |= {"preferred_username": "new-owner", "email": "x@corp.example"}

    log_in()
    company.person["preferred_username"] = "renamed"
    log_in()

    (account,) = SocialAccount.objects.all()
    assert account.user != nothing_yet.people.owner
    assert (account.provider, account.uid) == (company.issuer, "4711")


def test_subject_of_another_issuer_is_another_person(company: Company) -> None:
    del company.person["email"]
    log_in()
    SocialAccount.objects.update(provider="https://former.example")

    log_in()

    assert User.objects.filter(socialaccount__uid="4711").distinct().count() == 2


@pytest.mark.parametrize("verified", [True, False])
def test_mail_address_of_somebody_here_opens_nothing_of_theirs(
    nothing_yet: Fleet, company: Company, verified: bool
) -> None:
    owner = nothing_yet.people.owner
    owner.email = "boss@corp.example"
    owner.save()
    EmailAddress.objects.create(user=owner, email=owner.email, verified=True, primary=True)
    company.person |= {"email": owner.email, "email_verified": verified}

    answer = log_in()

    if verified:
        assert answer.status_code == 403
        assert b"Somebody here has your mail address" in answer.content
    else:
        assert User.objects.get(username="alice").email == ""
    assert not SocialAccount.objects.filter(user=owner).exists()


def test_invited_person_comes_in_without_a_group(nothing_yet: Fleet, company: Company) -> None:
    company.person["groups"] = []
    _, secret = invite(
        organisation=nothing_yet.organisation, role=Role.VIEWER, by=COMMAND_LINE,
        now=nothing_yet.now,
    )  # fmt: skip
    link, client = reverse("invitation", args=[secret]), Client()
    client.get(link)

    answer = log_in(client, next=link)
    client.post(link)
    log_in()

    assert answer.headers["Location"] == link
    assert role() == Role.VIEWER


def test_who_has_a_login_here_connects_it(nothing_yet: Fleet, company: Company) -> None:
    connected(nothing_yet, nothing_yet.people.viewer)
    other = Client()

    log_in(other)

    assert other.get("/").status_code == 200
    assert other.get("/").wsgi_request.user == nothing_yet.people.viewer


def test_role_by_groups_takes_a_login_at_the_provider(
    nothing_yet: Fleet, company: Company, settings: Any
) -> None:
    """A password that was set here would outlive the person's place in the company."""
    log_in()
    alice = User.objects.get(username="alice")
    alice.set_password(PASSWORD)
    alice.save()
    form = {"login": "alice", "password": PASSWORD}
    client = Client()

    by_groups = client.post(reverse("login"), form)
    out = client.get("/").status_code
    Membership.objects.filter(user=alice).update(from_groups=False)
    by_hand = client.post(reverse("login"), form)

    assert (by_groups.status_code, out, by_hand.status_code) == (403, 302, 302)
    assert b"You log in at Corp" in by_groups.content


def test_table_that_is_emptied_takes_roles_away(company: Company, settings: Any) -> None:
    log_in()
    settings.OIDC = replace(settings.OIDC, roles={})
    del company.person["groups"]

    answer = log_in()

    assert answer.status_code == 302
    assert role() is None


def test_person_who_comes_in_twice_at_once_is_made_once(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    del company.person["email"]
    log_in()
    before = state()
    monkeypatch.setattr(SocialLogin, "lookup", lambda _: None)

    answer = log_in()

    assert answer.status_code == 403
    assert b"Begin again" in answer.content
    assert state() == before


def test_login_is_connected_by_who_types_the_password_again(
    nothing_yet: Fleet, company: Company
) -> None:
    client = Client()
    client.post(reverse("login"), {"login": "new-viewer", "password": PASSWORD})

    asked = log_in(client, process="connect")
    before = SocialAccount.objects.count()
    client.post(asked.headers["Location"], {"password": "wrong"})
    still = SocialAccount.objects.count()
    client.post(asked.headers["Location"], {"password": PASSWORD})

    assert (before, still) == (0, 0)
    assert SocialAccount.objects.get().user == nothing_yet.people.viewer


def test_what_a_provider_says_of_itself_is_asked_for_once(company: Company, settings: Any) -> None:
    asked = []
    company.change_answer = lambda path, usual: asked.append(path) or usual

    for _ in range(3):
        sent_to(Client())

    assert asked == ["/.well-known/openid-configuration"]


def test_log_tells_why_and_holds_no_token(
    company: Company, caplog: pytest.LogCaptureFixture
) -> None:
    company.change_answer = lambda path, usual: (
        {"error": "invalid_client", "id_token": usual["id_token"]} if path == "/token" else usual
    )

    log_in()

    (said,) = [one for one in caplog.records if one.message == "no login by the provider"]
    assert vars(said)["reason"] == "no token: invalid_client"
    assert "eyJ" not in caplog.text + str(vars(said))


def test_second_factor_is_asked_for_after_the_provider_too(company: Company) -> None:
    log_in()
    TOTP.activate(User.objects.get(username="alice"), generate_totp_secret())
    client = Client()

    answer = log_in(client)

    assert answer.headers["Location"].startswith(reverse("mfa_authenticate"))
    assert client.get("/").status_code == 302


def test_login_ends_though_its_person_stays(company: Company, settings: Any) -> None:
    client = Client()
    log_in(client)
    client.get("/")

    left = client.session.get_expiry_date() - timezone.now()

    assert timedelta(hours=11) < left <= timedelta(hours=12)


@pytest.mark.parametrize("groups", [["canteen"], [], None])
def test_new_person_without_a_group_that_opens_is_told_so(
    company: Company, groups: list[str] | None
) -> None:
    before = state()
    company.person["groups"] = groups

    answer = log_in()

    assert answer.status_code == 403
    assert b"nothing here is open to you" in answer.content
    assert state() == before


@pytest.mark.parametrize("groups", ["left out", None, 7, {"storage": True}, ["storage", 7]])
def test_provider_that_says_no_groups_takes_no_role_away(company: Company, groups: Any) -> None:
    log_in()
    before = state()
    company.person["groups"] = groups
    if groups == "left out":
        del company.person["groups"]
    client = Client()

    answer = log_in(client)

    assert answer.status_code == 403
    assert b"does not say in which groups you are" in answer.content
    assert client.get("/").status_code == 302
    assert state() == before


Lie = Callable[[dict[str, Any]], dict[str, Any]]


def without(name: str) -> Lie:
    return lambda claims: {key: value for key, value in claims.items() if key != name}


def with_(**wrong: Any) -> Lie:
    return lambda claims: {**claims, **wrong}


LIES: dict[str, Lie] = {
    "issuer": with_(iss="https://evil.example"),
    "no issuer": without("iss"),
    "audience": with_(aud="another-client"),
    "no audience": without("aud"),
    "nonce": with_(nonce="of another login"),
    "no nonce": without("nonce"),
    "expired": with_(exp=int(time.time()) - 60),
    "no end": without("exp"),
    "from the future": with_(iat=int(time.time()) + 3600),
    "no subject": without("sub"),
    "empty subject": with_(sub=""),
    "subject of another kind": with_(sub=None),
    "endless subject": with_(sub="x" * 10_000),
}


def refused(before: tuple[object, ...], status: int = 502) -> None:
    client = Client()

    answer = log_in(client)

    assert answer.status_code == status
    assert b"To the login" in answer.content
    assert client.get("/").status_code == 302
    assert state() == before


@pytest.mark.parametrize("lie", LIES)
def test_token_that_lies_opens_nothing(company: Company, lie: str) -> None:
    log_in()
    company.change_token = LIES[lie]

    refused(state())


def test_token_signed_by_somebody_else_opens_nothing(company: Company) -> None:
    company.signs_with = OTHER_KEY

    refused(state())


def test_token_without_a_signature_opens_nothing(company: Company) -> None:
    company.signs_with, company.algorithm = None, "none"

    refused(state())


def test_token_signed_with_what_everybody_knows_opens_nothing(company: Company) -> None:
    """The public key as a shared secret, if the algorithm of the token's head were believed."""
    company.signs_with, company.algorithm = "x" * 64, "HS256"

    refused(state())


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/token", b"<html>"), ("/token", []), ("/token", {"error": "invalid_grant"}),
        ("/token", {"access_token": "x"}), ("/token", {"access_token": "x", "id_token": 7}),
        ("/token", {"access_token": "x", "id_token": "x.y.z"}),
        ("/keys", b""), ("/keys", {}), ("/keys", {"keys": [{}]}), ("/keys", {"keys": []}),
    ],
)  # fmt: skip
def test_answers_that_make_no_sense_open_nothing(
    company: Company, path: str, answer: object
) -> None:
    company.change_answer = lambda asked, usual: answer if asked == path else usual

    refused(state())


@pytest.mark.parametrize(
    "metadata",
    [b"", [], {}, {"issuer": "https://evil.example"}, {"authorization_endpoint": "javascript:1"}],
    ids=str,
)
def test_provider_that_describes_itself_wrongly_gets_no_browser(
    company: Company, metadata: Any
) -> None:
    whole = company.metadata() | metadata if metadata and isinstance(metadata, dict) else metadata
    company.change_answer = lambda *_: whole

    answer = Client().post(reverse("oidc-login"))

    assert answer.status_code == 502
    assert b"What Corp says does not hold" in answer.content


def test_access_token_of_a_login_is_kept_nowhere(company: Company) -> None:
    log_in()

    assert not SocialToken.objects.exists()


def test_state_counts_once_and_in_its_own_browser(company: Company) -> None:
    client, other = Client(), Client()
    back = back_from(sent_to(client))

    answers = [one.get(back) for one in (other, client, client)]

    assert [one.status_code for one in answers] == [403, 302, 403]
    assert b"This login is over" in answers[0].content
    assert other.get("/").status_code == 302


def test_state_is_over_after_ten_minutes(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client()
    back = back_from(sent_to(client))
    later = type("Clock", (), {"time": lambda: time.time() + 601})
    monkeypatch.setattr(statekit, "time", later)

    assert client.get(back).status_code == 403


@pytest.mark.parametrize(
    ("error", "words"),
    [("access_denied", b"says that you said no"), ("server_error", b"does not let you in")],
)
def test_refusal_of_the_provider_is_told(company: Company, error: str, words: bytes) -> None:
    client = Client()
    asked = re.search(r"state=(\w+)", sent_to(client))
    assert asked is not None

    answer = client.get(reverse("oidc-callback"), {"error": error, "state": asked[1]})

    assert answer.status_code == 403
    assert words in answer.content


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_requests, "SILENT_S", 0.3)
    monkeypatch.setattr(bounded_requests, "ALL_S", 0.3)


@pytest.mark.parametrize("path", ["/token", "/keys"])
def test_provider_that_hangs_is_left(company: Company, hurried: None, path: str) -> None:
    company.stalls_at = path
    began_s = time.monotonic()

    refused(state(), status=503)

    assert time.monotonic() - began_s < 5


def test_provider_that_answers_without_haste_is_left(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each piece comes in time, and the whole does not."""
    monkeypatch.setattr(bounded_requests, "ALL_S", 0.3)
    company.drips_s = 0.05
    began_s = time.monotonic()

    answer = Client().post(reverse("oidc-login"))

    assert answer.status_code == 503
    assert time.monotonic() - began_s < 2


def test_provider_that_hangs_at_once_is_left(company: Company, hurried: None) -> None:
    company.stalls_at = "/.well-known/openid-configuration"

    answer = Client().post(reverse("oidc-login"))

    assert answer.status_code == 503
    assert b"Corp does not answer" in answer.content


def test_answer_without_end_is_left(company: Company) -> None:
    company.change_answer = lambda *_: b" " * (bounded_requests.LARGEST_BYTES + 1)

    assert Client().post(reverse("oidc-login")).status_code == 503


def test_provider_that_is_down_is_told(company: Company, settings: Any) -> None:
    settings.OIDC = OidcProvider(issuer="http://127.0.0.1:1", client_id=CLIENT_ID, name="Corp")

    answer = Client().post(reverse("oidc-login"))

    assert answer.status_code == 503
    assert b"Corp does not answer" in answer.content


def test_who_is_logged_in_stays_so_when_the_provider_fails(
    nothing_yet: Fleet, company: Company
) -> None:
    viewer = client_of(nothing_yet.people.viewer)
    company.signs_with = OTHER_KEY

    log_in(viewer)

    assert viewer.get("/").status_code == 200
