"""Each filter by organisation is taken out of the code, one at a time, and nothing leaks.

A site is the line of ours that narrows rows to an organisation or a person. Without the policies
of the database many of them are all that keeps rows apart, which the last test shows.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.test import Client

from accounts.models import Scope, Token
from advisor.models import (
    Allocation,
    ClassChange,
    ClusterClaim,
    Incident,
    Policy,
    Recommendation,
    Workload,
)
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.claimed import changed, claimed
from tests.web.fleet import Fleet
from tests.web.test_access import LISTS, details
from tests.web.test_accessibility import PAGES
from web.api.v1.document import openapi

ROOT = Path(__file__).parents[2]
SKIPPED = ("accounts/models/organisation.py", "advisor/queries/scope.py")
"""Every query goes through these, so a site is who calls them."""
NARROWING = ("organisation", "memberships__user", "user_id", "user")

UNALIKE = re.compile(
    rb'name="csrfmiddlewaretoken" value="[^"]*"|"X-CSRFToken": *"[^"]*"'
    rb"|[^>]* free in [^<]*; the database has [^<]*"
)
"""What is drawn by lot for each answer, and how full the machine is at this moment."""
OF_NOBODY = "/api/v1/replays"
"""Experiments of studies, which are the same for all and take long to tell."""
FOR_ANYBODY = "shared report"
"""Its link is the right to see it."""
Site = tuple[str, int]
Filter = Callable[..., Any]


def site() -> Site:
    """The innermost line of ours that is not one of those that everybody calls."""
    frame = sys._getframe(2)
    while frame is not None:
        place = Path(frame.f_code.co_filename)
        if place.is_relative_to(ROOT) and ".venv" not in place.parts:
            name = str(place.relative_to(ROOT))
            if name not in SKIPPED and not name.startswith("tests/"):
                return name, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return "", 0


def is_narrowing(key: str) -> bool:
    return any(key == one or key.startswith((f"{one}_", f"{one}__")) for one in NARROWING)


@contextmanager
def filters(seen: set[Site], *, without: Site | None = None) -> Iterator[None]:
    """Notes each site, and leaves its narrowing out at this one."""
    real: Filter = QuerySet._filter_or_exclude

    def changed(self: Any, negate: bool, args: Any, kwargs: Mapping[str, Any]) -> Any:
        if not negate and any(map(is_narrowing, kwargs)):
            here = site()
            seen.add(here)
            if here == without:
                kwargs = {key: value for key, value in kwargs.items() if not is_narrowing(key)}
        return real(self, negate, args, kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(QuerySet, "_filter_or_exclude", changed)
        yield


def addresses(fleet: Fleet) -> list[str]:
    every = [address(fleet) for name, address in PAGES.items() if name != FOR_ANYBODY]
    lists = [f"/{name}/" for name in LISTS if name in ("workloads", "incidents", "hosts")]
    found = ["/search/?q=nfs", "/search/?q=db", *lists]
    rows = [
        f"/api/v1/{name}/{row.pk}"
        for name, row in (
            ("resources", fleet.resources["nfs-07"]),
            ("recommendations", Recommendation.objects.order_by("pk")[0]),
            ("incidents", Incident.objects.order_by("pk")[0]),
            ("policies", Policy.objects.order_by("pk")[0]),
            ("allocations", Allocation.objects.order_by("pk")[0]),
            ("workloads", Workload.objects.order_by("pk")[0]),
            ("hosts", fleet.hosts["kvm-02"]),
            ("claims", ClusterClaim.objects.order_by("pk")[0]),
            ("class-changes", ClassChange.objects.order_by("pk")[0]),
        )
    ]
    lists = [
        path
        for path, methods in openapi()["paths"].items()
        if "get" in methods and "{" not in path and path != OF_NOBODY
    ]
    return sorted({*every, *details(fleet).values(), *found, *rows, *lists})


def asking(user: User) -> Client:
    """A browser in which the person is logged in, that shows their token to the API."""
    membership = user.memberships.get()
    _, secret = Token.objects.issue(
        organisation=membership.organisation, scope=Scope.READ, name="t", user=user
    )
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    client.force_login(user)
    return client


def names_of(fleet: Fleet) -> list[bytes]:
    return [name.encode() for name in (*fleet.hosts, *fleet.resources, "db-orders")]


def body_of(client: Client, path: str) -> bytes:
    """What is answered; nothing that it may have stored is kept."""
    with transaction.atomic():
        answer = client.get(path)
        transaction.set_rollback(True)
    return body_of_answer(answer)


def body_of_answer(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def leaks(client: Client, fleet: Fleet, paths: list[str]) -> list[str]:
    """The addresses that name something of the fleet to a stranger."""
    found = []
    for path in paths:
        # What is asked for is repeated in the answer.
        content = body_of(client, path)
        asked = {value.encode() for _, value in parse_qsl(urlsplit(path).query)}
        if any(name in content and name not in asked for name in names_of(fleet)):
            found.append(path)
    return found


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    """With a claim of a cluster that db-orders uses, and a change of its class."""
    claimed(fleet)
    changed(fleet, ClusterClaim.objects.get())
    return fleet


@pytest.fixture
def stranger(fleet: Fleet) -> Client:
    client = asking(fleet.people.outsider)
    client.raise_request_exception = False
    return client


def sites_of(stranger: Client, fleet: Fleet, paths: list[str]) -> dict[Site, list[str]]:
    """By site the addresses whose answers pass it: no other answer changes without it."""
    # More is asked of who has something to see.
    operator = asking(fleet.people.operator)
    passed: dict[Site, list[str]] = {}
    for path in paths:
        seen: set[Site] = set()
        with filters(seen):
            assert leaks(stranger, fleet, [path]) == []
            operator.get(path)
        for one in seen:
            passed.setdefault(one, []).append(path)
    return dict(sorted(passed.items()))


@pytest.mark.timeout(400)
def test_walls_hide_nothing_of_ones_own(fleet: Fleet) -> None:
    paths = addresses(fleet)
    clients = [asking(one) for one in (fleet.people.operator, fleet.people.viewer)]

    def shown() -> dict[str, list[bytes]]:
        return {path: [UNALIKE.sub(b"", body_of(one, path)) for one in clients] for path in paths}

    make_roles()
    plain = shown()
    with acting_as(DatabaseRole.WEB):
        assert shown() == plain


@pytest.mark.timeout(600)
@pytest.mark.slow
def test_no_row_of_others_is_shown_without_any_one_filter(stranger: Client, fleet: Fleet) -> None:
    make_roles()
    paths = addresses(fleet)
    sites = sites_of(stranger, fleet, paths)

    found = {}
    with acting_as(DatabaseRole.WEB):
        for one, passing in sites.items():
            with filters(set(), without=one):
                if leaked := leaks(stranger, fleet, passing):
                    found[one] = leaked

    assert found == {}
    assert len(sites) >= 20


@pytest.mark.timeout(600)
@pytest.mark.slow
def test_without_the_walls_a_missing_filter_would_show_rows(
    stranger: Client, fleet: Fleet
) -> None:
    paths = addresses(fleet)

    leaking = 0
    for one, passing in sites_of(stranger, fleet, paths).items():
        with filters(set(), without=one):
            leaking += bool(leaks(stranger, fleet, passing))

    assert leaking >= 3
