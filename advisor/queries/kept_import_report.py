"""The report of an import is kept for a minute: it judges and advises, and a page is loaded often.

Late samples may judge its time again, which is shown a minute later.
"""

from __future__ import annotations

from datetime import datetime

from django.core.cache import cache

from advisor.queries.import_report import ImportReport, import_report
from ingest.models import ImportRun

KEPT_S = 60


def kept_import_report(run: ImportRun, *, now: datetime) -> ImportReport | None:
    """The report of a run that has ended; None of one that goes on."""
    if run.ended_at is None:
        return None
    key = f"import-report:{run.pk}:{run.ended_at.timestamp()}"
    found: ImportReport | None = cache.get(key)
    if found is None:
        found = import_report(run, now=now)
        cache.set(key, found, KEPT_S)
    return found
