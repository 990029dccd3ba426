"""Rows for which the product's database is there: the package's, and those of two hosts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.fleet.rows import Row, not_measured
from bench.private_server import private_server
from bench.testbed import package, shared_datastore
from bench.testbed.asked import why_nothing
from bench.testbed.rungs import Rung, on_rung
from tests.testbed.programs import missing_for_guests

RUNGS = {package.PART: Rung.PACKAGE, shared_datastore.PART: Rung.TWO_HOSTS}
PARTS = tuple(RUNGS)


def rows_with_database(parts: Sequence[str], *, is_short: bool) -> list[Row]:
    """The rows of these parts, or of each the one that says why it has none."""
    wanted = [part for part in PARTS if part in parts]
    if not wanted:
        return []
    why = missing_for_guests()
    if why is not None:
        return [row for part in wanted for row in _none(part, why)]
    # PostgreSQL's user must reach what is below.
    with tempfile.TemporaryDirectory(prefix="sluice-testbed-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        measures = {
            package.PART: lambda: package.package_rows(folder),
            shared_datastore.PART: lambda: shared_datastore.shared_datastore_rows(
                folder, is_short=is_short
            ),
        }
        with private_server(folder, timescaledb=False, durable=False):
            from django.db import connection

            try:
                return [row for part in wanted for row in _measured(part, measures[part])]
            finally:
                connection.close()


def _measured(part: str, measure: Callable[[], Sequence[Row]]) -> list[Row]:
    why = package.missing_debian() if part == package.PART else None
    if why is not None:
        return _none(part, why)
    try:
        return on_rung(RUNGS[part], part, measure())
    except Exception as error:  # noqa: BLE001  (one part must not cost the others' rows)
        return _none(part, why_nothing(error))


def _none(part: str, why: str) -> list[Row]:
    return on_rung(RUNGS[part], part, [not_measured(f"all rows of {part}", "rows", "all", why)])
