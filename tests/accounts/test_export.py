"""An export sees one moment of the database."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import InternalError, connection, transaction

from accounts.models import Organisation
from accounts.services.export import export_organisation, export_parts
from tests.ingest.scenario import make_tenant


@pytest.mark.django_db(transaction=True)
def test_export_reads_one_moment_and_writes_nothing(tmp_path: Path) -> None:
    organisation = make_tenant("eastgate").organisation

    def told(_table: str, _rows: int) -> None:
        with pytest.raises(InternalError, match="read-only"), transaction.atomic():
            Organisation.objects.update(name="other")

    rows = export_organisation(
        organisation, tmp_path / "all.zip", now=datetime.now(UTC), on_table=told
    )

    assert rows["accounts_organisation"] == 1


@pytest.mark.django_db(transaction=True)
def test_export_has_more_time_than_other_statements(tmp_path: Path) -> None:
    """A table of a large organisation takes minutes, and who loads it may be slow."""
    limits = set()

    def told(_table: str, _rows: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            limits.update(cursor.fetchone())

    organisation = make_tenant("eastgate").organisation
    export_organisation(organisation, tmp_path / "all.zip", now=datetime.now(UTC), on_table=told)

    assert limits == {"6h"}


@pytest.mark.django_db(transaction=True)
def test_export_that_is_left_leaves_a_connection_that_works() -> None:
    organisation = make_tenant("eastgate").organisation
    parts = export_parts(organisation, now=datetime.now(UTC))

    assert next(parts).startswith(b"PK")
    parts.close()  # type: ignore[attr-defined]  # of a generator

    Organisation.objects.update(name="other")
    assert Organisation.objects.get().name == "other"
