"""Rows that the generator commits on connections of its own, which no rollback undoes."""

from __future__ import annotations

from django.core.management import call_command
from django.db import connection

from accounts.models import Organisation
from advisor.history.stored.partitions import drop_organisation
from ingest.core.catalogue import MEASUREMENTS


def clear() -> None:
    """Remove all of them."""
    for organisation in Organisation.objects.values_list("pk", flat=True):
        drop_organisation(organisation)
    tables = [one.table for one in MEASUREMENTS]
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {', '.join(tables)}, ingest_keptrows")
    call_command("flush", verbosity=0, interactive=False)
