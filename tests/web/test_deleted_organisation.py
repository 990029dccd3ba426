"""An organisation is exported whole, and deleted with all that it has, and no other."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.template.defaultfilters import filesizeformat
from django.test import Client

from accounts.models import AuditEntry, Organisation, Token
from accounts.services.export import SECRETS, export_organisation, paths_to_organisation
from advisor.history.stored.partitions import organisations_with_partitions
from advisor.models import Enforcer, FailedWork, NotificationChannel
from advisor.pipeline import organisation_deletion
from advisor.tasks import (
    delete_organisation,
    detect_resource,
    discover_organisation,
    recommend_resource,
)
from config.database_roles import OWN_TABLES, DatabaseRole
from config.row_walls import COLUMNS, Wall, wall_of
from ingest.models import Series
from tests.config.roles import acting_as, make_roles
from tests.ingest.scenario import Tenant, disk_line, make_tenant, post
from tests.web.api.asking import program_of
from tests.web.conftest import client_of
from tests.web.fleet import Fleet

PAGE = "/settings/organisation/"


@pytest.fixture
def neighbour(fleet: Fleet, client: Client) -> Tenant:
    """Another organisation with samples."""
    tenant = make_tenant("eastgate")
    assert post(client, disk_line(fleet.now), secret=tenant.secret).status_code == 204
    return tenant


def owner(fleet: Fleet) -> Client:
    return client_of(fleet.people.owner)


def due(fleet: Fleet) -> Any:
    return Organisation.objects.get(pk=fleet.organisation.pk).deletion_due_at


def rows_of(organisation: Organisation) -> Mapping[str, int]:
    found = {}
    for model, path in paths_to_organisation().items():
        rows = model._base_manager.filter(**{path: organisation.pk})
        found[model._meta.db_table] = rows.count()
    return found


def run(*words: str) -> str:
    out = io.StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def begin_deletion(organisation: Organisation) -> None:
    run("organisation", "delete", organisation.slug, "--now", "--yes")


@pytest.mark.django_db
def test_every_table_of_organisations_is_exported_and_deleted() -> None:
    """The walls of the database say which those are."""
    with connection.cursor() as cursor:
        cursor.execute(OWN_TABLES)
        tables = [name for (name,) in cursor.fetchall()]
        walls = {}
        for table in tables:
            cursor.execute(COLUMNS, [table])
            walls[table] = wall_of(table, {name for (name,) in cursor.fetchall()}).wall
    owned = {table for table, wall in walls.items() if wall is not Wall.SHARED}

    assert {one._meta.db_table for one in paths_to_organisation()} == owned


def test_export_has_every_row_and_no_secret(
    fleet: Fleet, neighbour: Tenant, tmp_path: Path
) -> None:
    token, secret = Token.objects.issue(
        organisation=fleet.organisation, scope="ingest", name="exported"
    )
    shares = Enforcer.objects.filter(host__organisation=fleet.organisation).first()
    assert shares is not None
    Enforcer.objects.filter(pk=shares.pk).update(signing_key="shared with an agent")
    chat = NotificationChannel.objects.create(
        organisation=fleet.organisation, name="chat", kind="service", secret="between the two",
        address="slack://TokenA/TokenB/TokenC",
    )  # fmt: skip
    path = tmp_path / "all.zip"

    told = export_organisation(fleet.organisation, path, now=fleet.now)

    with ZipFile(path) as file:
        text = {name.removesuffix(".csv"): file.read(name).decode() for name in file.namelist()}
    about = json.loads(text.pop("about.json"))
    rows = {name: list(csv.DictReader(io.StringIO(one))) for name, one in text.items()}
    counted = rows_of(fleet.organisation)
    assert {name: len(found) for name, found in rows.items() if name != "people"} == counted
    assert about["rows"] == told == {name: len(found) for name, found in rows.items()}
    members = fleet.organisation.memberships.values_list("user__username", flat=True)
    assert {one["username"] for one in rows["people"]} == set(members)
    assert counted["ingest_diskio_sample"] > 100
    whole = "".join(text.values())
    for hidden in (token.digest, secret, chat.address, chat.secret, *_stored_keys()):
        assert hidden not in whole
    assert path.stat().st_mode & 0o077 == 0
    assert list(tmp_path.iterdir()) == [path]


def test_owner_loads_the_same_file_in_a_browser_and_by_the_api(
    fleet: Fleet, neighbour: Tenant
) -> None:
    make_roles()
    program = program_of(fleet.people.owner, fleet.organisation)
    files = []
    with acting_as(DatabaseRole.WEB):
        # The wall of the request has ended when its answer is read.
        for answer in (
            owner(fleet).post(f"{PAGE}export/"), program("POST", "organisation/export"),
        ):  # fmt: skip
            assert (answer.status_code, answer["Content-Type"]) == (200, "application/zip")
            files.append(ZipFile(io.BytesIO(answer.getvalue())))

    counted = rows_of(fleet.organisation)
    for file in files:
        assert file.testzip() is None
        about = json.loads(file.read("about.json"))
        audit = {"accounts_auditentry", "accounts_audithead"}
        same = counted.keys() - audit
        assert {name: about["rows"][name] for name in same} == {
            name: counted[name] for name in same
        }
        assert b"eastgate" not in b"".join(map(file.read, file.namelist()))
    told = [one.action for one in AuditEntry.objects.filter(organisation=fleet.organisation)]
    assert sorted(told) == ["begin export"] * 2 + ["export the organisation"] * 2


def test_page_says_how_large_the_last_export_was_and_how_long_it_took(fleet: Fleet) -> None:
    before = owner(fleet).get(PAGE).content.decode()

    size = len(owner(fleet).post(f"{PAGE}export/").getvalue())

    entry = AuditEntry.objects.get(action="export the organisation")
    page = owner(fleet).get(PAGE).content.decode()
    assert entry.details["size_bytes"] == size
    assert entry.details["took_ms"] > 0
    assert "The last one" not in before
    assert f"took {round(entry.details['took_ms'] / 1000)} s for {filesizeformat(size)}" in page


@pytest.mark.parametrize("who", ["operator", "viewer"])
def test_only_an_owner_loads_all(fleet: Fleet, who: str) -> None:
    person = getattr(fleet.people, who)
    program = program_of(person, fleet.organisation)

    assert client_of(person).post(f"{PAGE}export/").status_code == 403
    assert program("POST", "organisation/export").status_code == 403
    assert "Download all" not in client_of(person).get(PAGE).content.decode()


def test_export_takes_no_key(fleet: Fleet) -> None:
    program = program_of(fleet.people.owner, fleet.organisation)

    answer = program("POST", "organisation/export", idempotency_key="k")

    assert answer.status_code == 422
    assert not AuditEntry.objects.exists()


def _stored_keys() -> list[str]:
    """What agents share, sealed, as it is stored."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT signing_key FROM advisor_enforcer WHERE signing_key <> ''")
        found = [key for (key,) in cursor.fetchall()]
    assert found
    return ["shared with an agent", *found]


def test_columns_that_sound_secret_are_left_out_or_known_to_be_none() -> None:
    sounds = ("secret", "digest", "password", "signing", "private")
    found = {
        (model._meta.db_table, field.attname)
        for model in paths_to_organisation()
        for field in model._meta.concrete_fields
        if any(one in field.attname for one in sounds)
    }
    left_out = {(table, name) for table, names in SECRETS.items() for name in names}

    # That of a file says whether it was imported before.
    assert found - left_out <= {("ingest_import", "digest")}


def test_deletion_leaves_nothing_and_nothing_of_others_goes(
    fleet: Fleet, neighbour: Tenant
) -> None:
    before, people = rows_of(neighbour.organisation), get_user_model().objects.count()
    make_roles()
    begin_deletion(fleet.organisation)

    with acting_as(DatabaseRole.WORKER):
        delete_organisation.apply((fleet.organisation.pk,), throw=True)

    assert {table for table, rows in rows_of(fleet.organisation).items() if rows} == set()
    assert not Organisation.objects.filter(pk=fleet.organisation.pk).exists()
    assert fleet.organisation.pk not in organisations_with_partitions()
    assert rows_of(neighbour.organisation) == before
    assert get_user_model().objects.count() == people


def test_organisation_whose_time_has_not_come_cannot_be_deleted(fleet: Fleet) -> None:
    owner(fleet).post(PAGE + "delete/", {"slug": fleet.organisation.slug})
    Organisation.objects.update(deletion_due_at=datetime.now(UTC) + timedelta(minutes=1))

    delete_organisation(fleet.organisation.pk)
    with pytest.raises(DatabaseError, match="is not due"), transaction.atomic():
        organisation_deletion.delete_organisation(fleet.organisation.pk, limit_s=0.0)

    assert fleet.organisation.memberships.exists()


def test_deletion_goes_on_where_its_time_ended(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(organisation_deletion, "SERIES_AT_A_TIME", 3)
    begin_deletion(fleet.organisation)
    counts = []
    for _ in range(1000):
        counts.append(Series.objects.filter(organisation=fleet.organisation).count())
        if organisation_deletion.delete_organisation(fleet.organisation.pk, limit_s=0.0):
            break

    assert counts == sorted(counts, reverse=True)
    assert len(counts) > 3
    assert not Organisation.objects.filter(slug=fleet.organisation.slug).exists()


def test_nothing_comes_in_once_it_began(fleet: Fleet, neighbour: Tenant, client: Client) -> None:
    _, secret = Token.objects.issue(organisation=fleet.organisation, scope="ingest", name="late")
    begin_deletion(fleet.organisation)

    organisation_deletion.delete_organisation(fleet.organisation.pk, limit_s=0.0)

    assert post(client, disk_line(fleet.now), secret=secret).status_code == 401
    assert post(client, disk_line(fleet.now), secret=neighbour.secret).status_code == 204


def test_tasks_that_waited_for_it_end_quietly(fleet: Fleet) -> None:
    resource = fleet.resources["nfs-07"].pk
    begin_deletion(fleet.organisation)
    delete_organisation(fleet.organisation.pk)

    discover_organisation(fleet.organisation.pk)
    delete_organisation(fleet.organisation.pk)
    detect_resource(resource)
    recommend_resource(resource)

    assert not FailedWork.objects.filter(solved_at=None).exists()
    assert not Organisation.objects.filter(slug=fleet.organisation.slug).exists()


def test_owner_plans_it_by_its_short_name_and_takes_it_back(fleet: Fleet) -> None:
    browser = owner(fleet)

    wrong = browser.post(PAGE + "delete/", {"slug": "else"}, follow=True)
    nothing_yet = due(fleet)
    planned = browser.post(PAGE + "delete/", {"slug": fleet.organisation.slug}, follow=True)
    until = due(fleet)
    shown = client_of(fleet.people.viewer).get("/").content.decode()
    kept = browser.post(PAGE + "keep/", follow=True)

    assert "type its short name" in wrong.content.decode()
    assert nothing_yet is None
    assert timedelta(days=6) < until - fleet.now <= timedelta(days=7)
    assert "is deleted with all its data from" in planned.content.decode()
    assert "is deleted with all its data from" in shown
    assert due(fleet) is None
    assert "is deleted with all its data from" not in kept.content.decode()
    told = AuditEntry.objects.filter(organisation=fleet.organisation).order_by("-number")[:2]
    assert [one.action for one in told] == ["take the deletion back", "plan the deletion"]


@pytest.mark.parametrize("path", ["delete/", "keep/"])
def test_operator_can_neither_delete_nor_keep_it(fleet: Fleet, path: str) -> None:
    browser = client_of(fleet.people.operator)

    answer = browser.post(PAGE + path, {"slug": fleet.organisation.slug})

    assert answer.status_code == 403
    assert due(fleet) is None


def test_planning_it_twice_keeps_the_first_time(fleet: Fleet) -> None:
    browser = owner(fleet)
    for _ in range(2):
        browser.post(PAGE + "delete/", {"slug": fleet.organisation.slug})

    assert AuditEntry.objects.filter(action="plan the deletion").count() == 1


def test_deletion_that_began_cannot_be_taken_back(fleet: Fleet) -> None:
    begin_deletion(fleet.organisation)

    answer = owner(fleet).post(PAGE + "keep/", follow=True)

    assert "its deletion has begun, so it cannot be kept" in answer.content.decode()
    with pytest.raises(CommandError, match="its deletion has begun"):
        run("organisation", "keep", fleet.organisation.slug)
    assert due(fleet) is not None


def test_nobody_who_can_be_asked_deletes_nothing(fleet: Fleet) -> None:
    with pytest.raises(CommandError, match="nobody can be asked"):
        run("organisation", "delete", fleet.organisation.slug)

    assert due(fleet) is None


def test_page_shows_quotas_with_their_use(fleet: Fleet) -> None:
    run("quota", "set", "--hosts", "6", "--series", "none", "--organisation",
        fleet.organisation.slug)  # fmt: skip

    page = client_of(fleet.people.viewer).get(PAGE).content.decode()

    assert "83 % <strong>nearly used up</strong>" in page
    assert "An owner can delete it." in page
    assert "Type <code>" not in page


def test_file_that_cannot_be_written_is_told(fleet: Fleet, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file or directory; nothing was written"):
        run("organisation", "export", fleet.organisation.slug, str(tmp_path / "no" / "all.zip"))
