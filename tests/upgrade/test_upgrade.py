"""A database of an earlier commit keeps all of its data when it is migrated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.apps import apps as today
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import migrations, transaction
from django.test import Client

from accounts.authentication import authenticate
from accounts.models import Organisation, Scope
from accounts.sealed_columns import count, places
from accounts.sealing import SealedBy
from advisor.history.levels import read_windows
from ingest.core.grid import moment
from tests.advisor.judged_windows import EVER
from tests.upgrade.former_state import (
    FORMER,
    Names,
    migrate_to_former_state,
    migrate_to_head,
    names_of_today,
    present_state,
)
from tests.upgrade.own_database import own_database
from tests.upgrade.rows import FIRST_NUMBER, ROWS, Values, fill, models_of, stored
from tests.upgrade.story import OWNER, SECRETS, tell
from tests.web.conftest import client_of
from tests.web.html import page_of

# The fixture migrates twice, which takes most of a minute on a busy machine.
# The schema of long ago; `test_dump` and `test_two_versions` upgrade at each commit.
pytestmark = [pytest.mark.timeout(400), pytest.mark.long]

STEPS_TO_ACCOUNTS = (
    ("ingest", "0007_give_tables_of_access_to_accounts"),
    ("accounts", "0001_take_over_from_ingest"),
    ("advisor", "0012_refer_to_accounts"),
    ("ingest", "0008_refer_to_accounts"),
)


REMOVED = {"advisor.predictionscore", "advisor.statepoint"}
"""No report proves that the policy behind a made-up score was applied, so the upgrade drops it.

Points became runs and records, which have a test of their own.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Former:
    """What was in the database before it was migrated, by the names of then."""

    rows: dict[str, dict[Any, Values]]
    names: Names


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a browser got for a path."""

    status: int
    text: str


@pytest.fixture(scope="module")
def upgraded(django_db_setup: None, django_db_blocker: Any) -> Iterator[Former]:
    """A database with a story and rows of every former model, migrated to the newest."""
    with own_database(django_db_blocker):
        former = migrate_to_former_state()
        tell(former)
        fill(former)
        _permit(former)
        before = Former(
            rows={model._meta.label_lower: stored(model) for model in models_of(former)},
            names=names_of_today(former),
        )
        migrate_to_head()
        yield before


@pytest.fixture
def migrated(upgraded: Former) -> Iterator[Former]:
    """The migrated database; what a test does in it is undone."""
    with transaction.atomic():
        yield upgraded
        transaction.set_rollback(True)


def _permit(former: Any) -> None:
    """The first person may add tokens."""
    person = former.get_model("auth.User").objects.earliest("pk")
    person.user_permissions.add(
        former.get_model("auth.Permission").objects.get(
            codename="add_token", content_type__app_label="ingest"
        )
    )


def test_renamed_columns_of_renamed_models_are_followed() -> None:
    names = Names({"a.pear": "a.pear"}, {("a.pear", "size"): "size", ("a.pear", "hue"): "hue"})

    names.follow("a", migrations.RenameField("Pear", "size", "girth"))
    names.follow("a", migrations.RenameModel("Pear", "Fruit"))
    names.follow("a", migrations.RenameField("Fruit", "girth", "girth_mm"))
    names.follow("b", migrations.RenameField("Fruit", "hue", "colour"))

    assert names.models == {"a.pear": "a.fruit"}
    assert names.fields == {("a.pear", "size"): "girth_mm", ("a.pear", "hue"): "hue"}


def test_every_former_model_had_rows(migrated: Former) -> None:
    assert [label for label, rows in migrated.rows.items() if len(rows) < ROWS] == []


def test_every_row_is_there_with_every_value(migrated: Former) -> None:
    for label, rows in migrated.rows.items():
        if label in REMOVED:
            continue
        found = stored(today.get_model(migrated.names.models[label]))

        # Columns that were added since are left out.
        kept = {
            pk: {
                column: found[pk].get(migrated.names.fields[label, column], "no such column")
                for column in row
            }
            for pk, row in rows.items()
            if pk in found and not _is_of_the_story(pk)
        }

        # Documents of the story hold words that are renamed; the pages below read them.
        made = {pk: row for pk, row in rows.items() if not _is_of_the_story(pk)}
        assert (label, kept) == (label, made)
        assert set(found) == set(rows)


def test_secrets_that_were_stored_in_clear_are_sealed(migrated: Former) -> None:
    sealed = {str(place): count(place) for place in places()}

    assert sealed["advisor_enforcer.signing_key"][SealedBy.NEWEST] >= ROWS
    assert [place for place, found in sealed.items() if found[SealedBy.NONE]] == []


def test_every_window_says_what_it_said(migrated: Former) -> None:
    names = {
        today: former
        for (label, former), today in migrated.names.fields.items()
        if label == "advisor.statepoint"
    }
    judged = {
        (row[names["resource"]], row[names["at"]]): row
        for row in migrated.rows["advisor.statepoint"].values()
    }

    found = {
        (resource, moment(one.at_us)): one
        for resource in {resource for resource, _ in judged}
        for one in read_windows(resource, since=EVER)
    }

    assert found.keys() == judged.keys()
    for key, row in judged.items():
        saying = found[key].saying
        told = (saying.state, moment(saying.since_us), saying.reason, *found[key].figures)
        columns = ("state", "since", "reason", "value", "threshold", "load", "device_load")
        assert told == tuple(row.get(names.get(name, "")) for name in columns)
        signals = row[names["signals"]]
        assert json.loads(saying.signals or "[]") == signals


def _is_of_the_story(pk: Any) -> bool:
    return isinstance(pk, int) and pk < FIRST_NUMBER


def test_new_rows_are_numbered_on(migrated: Former) -> None:
    newest = max(migrated.rows["ingest.organisation"])

    made = Organisation.objects.create(slug="later", name="Later")

    assert made.pk == newest + 1


def test_permission_stays_given_on_the_moved_model(migrated: Former) -> None:
    person = get_user_model().objects.earliest("pk")

    assert {
        f"{given.content_type.app_label}.{given.codename}"
        for given in person.user_permissions.select_related("content_type")
    } == {"accounts.add_token"}
    # Made by Django for each model: add, change, delete, view.
    assert Permission.objects.filter(content_type__app_label="accounts").count() == 9 * 4


def test_no_content_type_is_without_a_model(migrated: Former) -> None:
    assert [found for found in ContentType.objects.all() if found.model_class() is None] == []


@pytest.mark.parametrize(
    ("name", "scope"), [("telegraf", Scope.INGEST), ("agent of kvm-02", Scope.ENFORCE)]
)
def test_former_token_opens_the_same_door(migrated: Former, name: str, scope: Scope) -> None:
    token = authenticate(f"Token {SECRETS[name]}", scope=scope, now=datetime.now(UTC))

    assert (token.name, token.organisation.slug) == (name, "northgate")


def test_pages_show_the_former_story(migrated: Former) -> None:
    pages = _pages_from("/", client_of(get_user_model().objects.get(username=OWNER)))

    assert {path: page.status for path, page in pages.items() if page.status != 200} == {}
    # What a page says in place of reasons that it has no reader for.
    assert [path for path, page in pages.items() if "cannot read" in page.text] == []
    text = " ".join(page.text for page in pages.values())
    for label, column in (
        ("advisor.recommendation", "summary"),
        ("advisor.resource", "name"),
        ("advisor.workload", "name"),
        ("ingest.host", "name"),
    ):
        told = [row[column] for pk, row in migrated.rows[label].items() if pk < FIRST_NUMBER]
        assert [name for name in told if name not in text] == []


def _pages_from(path: str, client: Client) -> dict[str, Shown]:
    """Every page that links lead to, but those that show no stored row.

    Those are replays, and ways to log in, which take a password that nobody here has.
    """
    shown: dict[str, Shown] = {}
    waiting = [path]
    while waiting:
        path = waiting.pop()
        answer = client.get(path)
        page = page_of(answer) if "html" in answer["Content-Type"] else None
        shown[path] = Shown(status=answer.status_code, text=page.all_text() if page else "")
        for link in page.elements("a") if page else []:
            target = urlsplit(urljoin(path, link.get("href"))).path
            if not target.startswith(
                ("/replay/", "/second-factor/", "/password/", "/docs/")
            ) and target not in (
                *shown,
                *waiting,
            ):
                waiting.append(target)
    return shown


def test_models_fit_their_tables_at_each_step_to_accounts_and_back(
    django_db_setup: None, django_db_blocker: Any
) -> None:
    with own_database(django_db_blocker):
        former = migrate_to_former_state()
        fill(former)
        _permit(former)
        before = {model: stored(model) for model in models_of(former)}

        for app, migration in STEPS_TO_ACCOUNTS:
            call_command("migrate", app, migration, verbosity=0)
            rows = {model._meta.label: len(stored(model)) for model in models_of(present_state())}
            assert rows == dict.fromkeys(rows, ROWS)
        for app, migration in FORMER.items():
            call_command("migrate", app, migration, verbosity=0)

        assert {model: stored(model) for model in before} == before
