"""Every route, method and role, of one's own rows and of those of others.

The routes are those of the URL map: one that is added without a word of what its parameters mean
fails here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.urls import URLResolver, get_resolver, reverse

from accounts.actor import member_actor
from accounts.models import JoinToken, Membership, Organisation, Scope, Token
from accounts.models.invitation import Invitation
from accounts.roles import Role
from accounts.services.invitations import invite
from accounts.services.join_tokens import Terms, make_join_token
from accounts.services.tokens import create_token
from advisor.models import (
    Allocation,
    ClassChange,
    ClusterClaim,
    ClusterPod,
    Delivery,
    Incident,
    LadderRule,
    MaintenanceWindow,
    NotificationChannel,
    NotificationRule,
    NotificationSilence,
    Policy,
    PolicyRollout,
    Pool,
    ReadSource,
    Recommendation,
    ReportSubscription,
    SavedView,
    SharedReport,
    Team,
    Workload,
)
from advisor.notifications.message import trial_message
from config.database_roles import OWN_TABLES, DatabaseRole
from config.row_walls import COLUMNS, Wall, wall_of
from ingest.models import Import, ImportRun
from tests.config.roles import acting_as, make_roles
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.test_removed_filters import body_of_answer, names_of
from web.api.v1.api import api_patterns

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
FORM = {"reason": "not now", "version": "0", "organisation": "1", "text": "x", "minutes": "5"}
"""What some form asks for."""

OBJECTS: dict[str, Callable[[Fleet], int]] = {
    "resources": lambda fleet: fleet.resources["nfs-07"].pk,
    "recommendations": lambda _: Recommendation.objects.order_by("pk")[0].pk,
    "incidents": lambda _: Incident.objects.order_by("pk")[0].pk,
    "episodes": lambda _: Incident.objects.order_by("pk")[0].pk,
    "workloads": lambda _: Workload.objects.get(name="db-orders").pk,
    "hosts": lambda fleet: fleet.hosts["kvm-02"].pk,
    "organisations": lambda fleet: fleet.organisation.pk,
    "imports": lambda _: ImportRun.objects.order_by("pk")[0].pk,
    "members": lambda fleet: fleet.organisation.memberships.get(user=fleet.people.operator).pk,
    "tokens": lambda _: Token.objects.order_by("pk")[0].pk,
    "connect": lambda _: JoinToken.objects.order_by("pk")[0].pk,
    "join-tokens": lambda _: JoinToken.objects.order_by("pk")[0].pk,
    "invitations": lambda _: Invitation.objects.order_by("pk")[0].pk,
    "policies": lambda _: Policy.objects.order_by("pk")[0].pk,
    "allocations": lambda _: Allocation.objects.order_by("pk")[0].pk,
    "rollouts": lambda _: PolicyRollout.objects.order_by("pk")[0].pk,
    "ladder-rules": lambda _: LadderRule.objects.order_by("pk")[0].pk,
    "teams": lambda _: Team.objects.order_by("pk")[0].pk,
    "pools": lambda _: Pool.objects.order_by("pk")[0].pk,
    "maintenance": lambda _: MaintenanceWindow.objects.order_by("pk")[0].pk,
    "channels": lambda _: NotificationChannel.objects.order_by("pk")[0].pk,
    "notification-channels": lambda _: NotificationChannel.objects.order_by("pk")[0].pk,
    "deliveries": lambda _: Delivery.objects.order_by("pk")[0].pk,
    "notification-rules": lambda _: NotificationRule.objects.order_by("pk")[0].pk,
    "subscriptions": lambda _: ReportSubscription.objects.order_by("pk")[0].pk,
    "report-subscriptions": lambda _: ReportSubscription.objects.order_by("pk")[0].pk,
    "links": lambda _: SharedReport.objects.order_by("pk")[0].pk,
    "views": lambda _: SavedView.objects.order_by("pk")[0].pk,
    "sources": lambda _: ReadSource.objects.order_by("pk")[0].pk,
    "claims": lambda _: ClusterClaim.objects.order_by("pk")[0].pk,
    "class-changes": lambda _: ClassChange.objects.order_by("pk")[0].pk,
    "silences": lambda _: NotificationSilence.objects.order_by("pk")[0].pk,
    "maintenance-windows": lambda _: MaintenanceWindow.objects.order_by("pk")[0].pk,
}
"""A row of the fleet for the number in a route, by the word before it."""
TEXTS = {
    "pk": "1",
    "key": "level",
    "name": "000-test-1",
    "secret": "nobody-knows-it",
    "slug": "backup",
    "uidb36": "1",
}

PUBLIC = {
    "login", "health-live", "health-ready", "health-evaluation", "health", "ping",
    "docs", "docs-page", "docs-search", "docs-file",
    # Without a token of its organisation the script only says why it does nothing.
    "join",
}  # fmt: skip
"""What answers everybody, and names nothing of anybody."""
OF_PROGRAMS = {
    "metrics", "enforcer-document", "enforcer-report", "enforcer-exchange", "enforcer-limits",
    "ingest-write", "ingest-write-v1", "ingest-query-v1", "ingest-remote-write", "ingest-otlp",
    *(pattern.name or "" for pattern in api_patterns()),
}  # fmt: skip
"""What takes a token, whoever is logged in."""
OF_PERSONS = ("account_", "mfa_", "usersessions_", "end-session", "oidc-")
"""The names of routes begin so that are of a person, and of no organisation."""
OF_VIEWERS = {"choose-organisation", "logout", "what-if"}
"""What a viewer may send: it changes no row of an organisation."""
OF_THEIR_OWN = ("logout", "export-organisation")
"""Who has logged out is nobody; who exports does it with their own, which the audit tells."""
REFUSED = {400, 401, 403, 404, 405, 410}


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A route by its name, empty where it leads on only, with an address."""

    name: str
    address: str
    has_object: bool


def patterns(
    within: URLResolver, text: str = "", names: tuple[str, ...] = ()
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Of each route its name, its text and what it asks for, with those that it is below."""
    for one in within.url_patterns:
        place = text + str(one.pattern)
        asks = (*names, *one.pattern.converters, *one.pattern.regex.groupindex)
        if isinstance(one, URLResolver):
            yield from patterns(one, place, asks)
        else:
            yield one.name or "", place, asks


def routes(fleet: Fleet) -> list[Route]:
    found = []
    for name, text, asks in patterns(get_resolver()):
        words, values = text.split("/"), {}
        for key in dict.fromkeys(asks):
            is_row = key == "pk" and not name.startswith(OF_PERSONS)
            value: object = TEXTS.get(key)
            if is_row:
                value = OBJECTS[words[words.index("<int:pk>") - 1]](fleet)
            assert value is not None, f"nothing says what {key} of {text} means"
            values[key] = value
        address = "/" + text.replace("<int:pk>", str(values.get("pk")))
        if name:
            address = reverse(name, kwargs=values)
        has_object = "pk" in values and not name.startswith(OF_PERSONS)
        found.append(Route(name=name, address=address, has_object=has_object))
    return found


@pytest.fixture
def imported(fleet: Fleet) -> Fleet:
    """The fleet with one of everything, so that each number in a route has a row."""
    run = ImportRun.objects.create(
        organisation=fleet.organisation, started_at=fleet.now, ended_at=fleet.now
    )
    assert not Import.objects.filter(run=run).exists()
    Pool.objects.create(resource=fleet.resources["kvm-04/eno1"], name="web")
    LadderRule.objects.create(organisation=fleet.organisation, name="freeze")
    PolicyRollout.objects.create(
        organisation=fleet.organisation, policy=Policy.objects.order_by("pk")[0], sizes=[1],
        guarded=False, started_at=fleet.now, published_at=fleet.now,
    )  # fmt: skip
    team = Team.objects.create(organisation=fleet.organisation, name="shop", tags=["tag=a"])
    team.members.set(fleet.organisation.memberships.all())
    channel = NotificationChannel.objects.create(
        organisation=fleet.organisation, name="chat", kind="webhook",
        address="https://chat.example.org/", secret="secret-of-chat",
    )  # fmt: skip
    NotificationRule.objects.create(
        organisation=fleet.organisation, name="nights", channel=channel
    )
    later = fleet.now + timedelta(hours=1)
    NotificationSilence.objects.create(
        organisation=fleet.organisation, until=later, made_by="somebody"
    )
    Delivery.objects.create(
        organisation=fleet.organisation, channel=channel, key=uuid4(), next_at=later,
        created_at=fleet.now, message=trial_message("chat").plain(),
    )  # fmt: skip
    ReportSubscription.objects.create(
        organisation=fleet.organisation, name="mondays", channel=channel, every="weekly", hour=7,
        due_at=fleet.now,
    )  # fmt: skip
    SavedView.objects.create(
        organisation=fleet.organisation, page="workloads", name="of the owner", query="q=db",
        member=fleet.organisation.memberships.get(user=fleet.people.owner),
    )  # fmt: skip
    SharedReport.objects.create(
        organisation=fleet.organisation, title="All of Northgate", written={}, made_by="somebody",
        made_at=fleet.now, expires_at=fleet.now,
    )  # fmt: skip
    ReadSource.objects.create(
        organisation=fleet.organisation, name="main", address="https://vc.example.org",
        user="reader", password="opensesame", next_at=later,
    )  # fmt: skip
    ClusterPod.objects.create(
        organisation=fleet.organisation, source=ReadSource.objects.get(name="main"), uid="p-1",
        namespace="shop", name="db-0", claims=["data-db-0"],
        workload=Workload.objects.get(name="db-orders"),
    )  # fmt: skip
    ClusterClaim.objects.create(
        organisation=fleet.organisation, source=ReadSource.objects.get(name="main"), uid="c-1",
        namespace="shop", name="data-db-0", resource=fleet.resources["nfs-07"],
    )  # fmt: skip
    ClassChange.objects.create(
        organisation=fleet.organisation, recommendation=Recommendation.objects.order_by("pk")[0],
        source=ReadSource.objects.get(name="main"), workload="db-orders", uid="c-1",
        namespace="shop", name="data-db-0", wanted="gold", asked_at=fleet.now, asked_by="owner",
        look_at=later,
    )  # fmt: skip
    MaintenanceWindow.objects.create(
        organisation=fleet.organisation, name="backup", starts_at=fleet.now, length_s=60.0
    )
    invite(
        organisation=fleet.organisation,
        by=member_actor(fleet.organisation.memberships.get(user=fleet.people.owner)),
        role=Role.VIEWER,
        now=fleet.now,
    )
    create_token(organisation=fleet.organisation, name="collectors", scope=Scope.INGEST)
    make_join_token(organisation=fleet.organisation, terms=Terms(), now=fleet.now)
    return fleet


@pytest.fixture
def strangers(imported: Fleet) -> dict[str, Client]:
    """A person of each role in another organisation, and nobody."""
    other = Organisation.objects.get(slug="lakeside")
    found = {"nobody": Client()}
    for role in Role.values:
        person = get_user_model().objects.create_user(username=f"lakeside-{role}")
        Membership.objects.create(organisation=other, user=person, role=role)
        found[role] = client_of(person)
    for client in found.values():
        client.raise_request_exception = False
    return found


def fingerprint() -> dict[str, tuple[int, int]]:
    """How many rows each table of organisations has, and a sum over what is in them."""
    found = {}
    with connection.cursor() as cursor:
        cursor.execute(OWN_TABLES)
        for (table,) in cursor.fetchall():
            cursor.execute(COLUMNS, [table])
            if wall_of(table, {name for (name,) in cursor.fetchall()}).wall is Wall.POLICY:
                cursor.execute(
                    f"SELECT count(*), coalesce(sum(hashtext(t::text)::bigint), 0) FROM {table} t"
                )
                found[table] = cursor.fetchone()
    return found


def asked(client: Client, method: str, address: str) -> tuple[int, bytes]:
    answer = client.post(address, FORM) if method == "POST" else client.generic(method, address)
    return answer.status_code, body_of_answer(answer)


@pytest.mark.timeout(400)
def test_nobody_of_another_organisation_sees_or_changes_anything(
    imported: Fleet, strangers: dict[str, Client]
) -> None:
    every, names = routes(imported), names_of(imported)
    make_roles()
    before = fingerprint()

    wrong = []
    with acting_as(DatabaseRole.WEB):
        for role, client in strangers.items():
            for route in every:
                for method in METHODS:
                    if method == "POST" and route.name.endswith(OF_THEIR_OWN):
                        continue
                    status, body = asked(client, method, route.address)
                    # A server that lacks something it needs says so to everybody.
                    is_error = status >= 500 and route.name not in PUBLIC
                    if is_error or any(name in body for name in names):
                        wrong.append((role, method, route.address, status))
                    if route.has_object and route.name and status not in REFUSED | {302}:
                        wrong.append((role, method, route.address, status))

    assert wrong == []
    assert fingerprint() == before
    assert len(every) * len(strangers) * len(METHODS) > 1000


def test_who_is_not_logged_in_sees_what_is_public_only(
    imported: Fleet, strangers: dict[str, Client]
) -> None:
    nobody, login = strangers["nobody"], reverse("login")

    wrong = []
    for route in routes(imported):
        for method in METHODS:
            answer = nobody.generic(method, route.address)
            to_login = answer.status_code == 302 and answer["Location"].startswith(login)
            is_moved = answer.status_code == 301 and not route.name
            refused = answer.status_code in REFUSED
            # Django's own views say which methods they have.
            has_said = method == "OPTIONS" and not answer.content
            is_public = route.name in PUBLIC or route.name.startswith(OF_PERSONS)
            if not (to_login or is_moved or refused or has_said or is_public):
                wrong.append((method, route.address, answer.status_code))

    assert wrong == []


def test_a_viewer_changes_nothing(imported: Fleet) -> None:
    viewer = client_of(imported.people.viewer)
    viewer.raise_request_exception = False
    before = fingerprint()

    wrong = []
    for route in routes(imported):
        for method in METHODS:
            if route.name in OF_VIEWERS and method == "POST":
                continue
            if route.name in PUBLIC or route.name.startswith(OF_PERSONS):
                continue
            status, _ = asked(viewer, method, route.address)
            is_change = method not in ("GET", "HEAD", "OPTIONS")
            # Some forms say on the page behind them why nothing was changed.
            if status >= 500 or (is_change and status not in REFUSED | {301, 302}):
                wrong.append((method, route.address, status))

    assert wrong == []
    assert fingerprint() == before


def test_what_programs_ask_takes_a_token_and_no_session(imported: Fleet) -> None:
    operator = client_of(imported.people.operator)

    statuses = {
        route.name: {asked(operator, method, route.address)[0] for method in METHODS}
        for route in routes(imported)
        if route.name in OF_PROGRAMS
    }

    assert statuses.keys() == OF_PROGRAMS
    assert all(found <= {401, 405} for found in statuses.values()), statuses
