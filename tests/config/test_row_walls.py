"""What keeps the rows of organisations apart in the database; real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from django.db import connection, transaction
from django.db.utils import ProgrammingError
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from accounts.models import Membership, Organisation, Token
from accounts.row_wall import NOTHING, Seen, lifted, look_as, look_at, show_secret, walled
from advisor.models import FailedWork, Resource
from config.database_roles import EMBEDDED_USERS, OWN_TABLES, DatabaseRole
from config.row_walls import COLUMNS, Wall, build_walls, wall_of
from ingest.partitions import TABLES
from tests.config.roles import acting_as, make_roles
from tests.ingest.scenario import Tenant, make_tenant, now


@pytest.fixture
def tenants(db: None) -> list[Tenant]:
    found = [make_tenant(slug) for slug in ("first", "second")]
    make_roles()
    return found


@pytest.fixture
def web(tenants: list[Tenant]) -> Iterator[list[Tenant]]:
    with acting_as(DatabaseRole.WEB), walled():
        yield tenants


def slugs() -> set[str]:
    return set(Organisation.objects.values_list("slug", flat=True))


@pytest.mark.django_db
def test_every_table_has_a_wall_and_those_with_a_policy_hold_it() -> None:
    make_roles()
    with connection.cursor() as cursor:
        cursor.execute(OWN_TABLES)
        tables = [name for (name,) in cursor.fetchall()]
        walls = {}
        for table in tables:
            cursor.execute(COLUMNS, [table])
            walls[table] = wall_of(table, {name for (name,) in cursor.fetchall()}).wall
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
            " AND relrowsecurity AND relforcerowsecurity"
        )
        secured = {name for (name,) in cursor.fetchall()}

    assert Wall.CLOSED not in walls.values()
    assert secured == {table for table, wall in walls.items() if wall is Wall.POLICY}
    assert {table for table, wall in walls.items() if wall is Wall.FUNCTIONS} == set(TABLES)
    shared = {table for table, wall in walls.items() if wall is Wall.SHARED}
    ours = {"accounts_profile", "ingest_keptrows"}
    assert {table.partition("_")[0] for table in shared - ours} <= {
        "auth", "django", "account", "mfa", "socialaccount", "usersessions",
    }  # fmt: skip


def test_a_table_of_which_nothing_is_known_is_closed() -> None:
    found = wall_of("advisor_new", {"id", "name"})

    assert (found.wall, found.seen) == (Wall.CLOSED, "false")


def test_nobody_sees_nothing(web: list[Tenant]) -> None:
    assert slugs() == set()
    assert not Token.objects.exists()


def test_an_organisation_is_seen_alone(web: list[Tenant]) -> None:
    look_at(web[0].organisation.pk)

    assert slugs() == {"first"}
    assert {one.organisation_id for one in Token.objects.all()} == {web[0].organisation.pk}


def test_a_secret_opens_its_organisation(web: list[Tenant]) -> None:
    show_secret(web[1].token.digest)

    assert slugs() == {"second"}


def test_a_digest_that_is_none_is_refused(web: list[Tenant]) -> None:
    show_secret("' OR true --")

    with pytest.raises(ValueError, match="invalid literal"):
        slugs()


def test_a_row_of_another_organisation_cannot_be_written(web: list[Tenant]) -> None:
    look_at(web[0].organisation.pk)

    with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
        Membership.objects.create(organisation_id=web[1].organisation.pk, user_id=1)


def test_a_row_of_another_organisation_cannot_be_changed_or_deleted(web: list[Tenant]) -> None:
    look_at(web[0].organisation.pk)

    assert Organisation.objects.filter(slug="second").update(name="mine") == 0
    assert Token.objects.filter(organisation=web[1].organisation).delete()[0] == 0


def test_a_person_sees_the_organisations_of_their_memberships(
    tenants: list[Tenant], django_user_model: type
) -> None:
    person = django_user_model.objects.create_user("alice")  # type: ignore[attr-defined]
    Membership.objects.create(organisation=tenants[1].organisation, user=person)
    with acting_as(DatabaseRole.WEB), walled():
        look_as(person.pk)

        assert slugs() == {"second"}


def test_what_failed_for_the_installation_is_everybodys(tenants: list[Tenant]) -> None:
    for organisation in (None, *(one.organisation for one in tenants)):
        FailedWork.objects.create(
            organisation=organisation, task="t", reason="r", first_at=now(), last_at=now(), times=1
        )
    with acting_as(DatabaseRole.WEB), walled():
        look_at(tenants[0].organisation.pk)

        seen = set(FailedWork.objects.values_list("organisation", flat=True))

    assert seen == {None, tenants[0].organisation.pk}


def test_lifted_sees_all_and_then_what_was_seen_before(web: list[Tenant]) -> None:
    look_at(web[0].organisation.pk)

    with lifted():
        within = slugs()

    assert (within, slugs()) == ({"first", "second"}, {"first"})


class _Failure(Exception):
    pass


def test_what_was_told_in_a_savepoint_is_told_again_after_it_was_rolled_back(
    web: list[Tenant],
) -> None:
    with lifted():
        slugs()
        with suppress(_Failure), transaction.atomic():
            look_at(web[0].organisation.pk)
            slugs()
            raise _Failure

        assert slugs() == {"first"}


def test_a_savepoint_that_was_rolled_back_within_is_noticed_in_the_next(web: list[Tenant]) -> None:
    """Between the two there is no statement."""
    with lifted():
        slugs()
        for is_first in (True, False):
            with suppress(_Failure), transaction.atomic():
                look_at(web[0].organisation.pk)
                assert slugs() == {"first"}
                if is_first:
                    raise _Failure


@pytest.mark.django_db(transaction=True)
def test_what_was_told_in_a_transaction_is_told_again_unless_it_was_committed() -> None:
    with _in_a_request():
        for is_kept in (False, True, False):
            with suppress(_Failure), transaction.atomic():
                look_at(7)
                assert _told() == ("own", "7")
                if not is_kept:
                    raise _Failure
            assert _told() == ("own", "7")
            with lifted():
                _told()


@pytest.mark.django_db(transaction=True)
def test_a_new_connection_is_told_too() -> None:
    with _in_a_request():
        look_at(7)
        before = _told()
        connection.close()

        assert _told() == before == ("own", "7")


@pytest.mark.django_db(transaction=True)
def test_organisation_that_the_session_was_told_is_not_told_again_in_the_next_request() -> None:
    with _on_one_connection():
        with walled():
            look_at(7)
            _told()
        with walled(), CaptureQueriesContext(connection) as queries:
            look_at(7)
            assert _told() == ("own", "7")
        with walled():
            look_at(8)
            assert _told() == ("own", "8")

    assert not [one for one in queries if "set_config" in one["sql"]]


@pytest.mark.django_db(transaction=True)
def test_next_request_sees_nothing_of_the_one_before_until_it_says_who_asks() -> None:
    with _on_one_connection():
        with walled():
            look_at(7)
            _told()
        with walled():
            assert _told() == ("own", "")
        with walled():
            assert _told() == ("own", "")
            look_at(7)
            assert _told() == ("own", "7")


@pytest.mark.django_db(transaction=True)
def test_organisation_that_was_told_in_a_transaction_that_failed_is_told_again() -> None:
    with _on_one_connection():
        with suppress(_Failure), walled(), transaction.atomic():
            look_at(7)
            _told()
            raise _Failure
        with walled():
            look_at(7)
            assert _told() == ("own", "7")


@pytest.mark.django_db(transaction=True)
def test_person_is_told_anew_in_each_request_for_memberships_change(
    django_user_model: type,
) -> None:
    one, other = (make_tenant(slug).organisation for slug in ("first", "second"))
    person = django_user_model.objects.create_user("alice")  # type: ignore[attr-defined]
    Membership.objects.create(organisation=one, user=person)
    with _on_one_connection():
        with walled():
            look_as(person.pk)
            assert _told() == ("own", str(one.pk))
        Membership.objects.update(organisation=other)
        with walled():
            look_as(person.pk)
            assert _told() == ("own", str(other.pk))


@contextmanager
def _in_a_request() -> Iterator[None]:
    """With real transactions, so what was told may be kept."""
    with _on_one_connection(), walled():
        yield


@contextmanager
def _on_one_connection() -> Iterator[None]:
    """Which is closed in the end, for what was told stays with it."""
    try:
        with override_settings(HAS_ROW_WALLS=True):
            yield
    finally:
        connection.close()


def _told() -> tuple[str, str]:
    """What the database was told: whether all are seen, or which organisations."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('sluice.sees'), current_setting('sluice.organisations')"
        )
        found: tuple[str, str] = cursor.fetchone()
        return found


def test_a_worker_sees_all_whatever_it_says(tenants: list[Tenant]) -> None:
    with acting_as(DatabaseRole.WORKER), connection.cursor() as cursor:
        cursor.execute("SET sluice.sees = 'own'")

        assert slugs() == {"first", "second"}


def test_outside_of_a_request_nothing_is_narrowed(tenants: list[Tenant]) -> None:
    with acting_as(DatabaseRole.WEB):
        look_at(tenants[0].organisation.pk)
        show_secret(tenants[1].token.digest)

        assert slugs() == {"first", "second"}


def test_walls_are_built_once(tenants: list[Tenant]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT oid FROM pg_policy ORDER BY oid")
        before = cursor.fetchall()

        build_walls(connection, EMBEDDED_USERS)

        cursor.execute("SELECT oid FROM pg_policy ORDER BY oid")
        assert cursor.fetchall() == before
        assert len(before) > len(Wall)


def test_a_wall_that_somebody_took_down_is_built_again(tenants: list[Tenant]) -> None:
    table = Resource._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")

        build_walls(connection, EMBEDDED_USERS)

        cursor.execute("SELECT relforcerowsecurity FROM pg_class WHERE relname = %s", [table])
        assert cursor.fetchone() == (True,)


def test_nobody_is_who_is_not_named() -> None:
    assert Seen() == NOTHING
