"""Each row says on which rung of the testbed it was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.fleet.rows import Row, as_json, as_table, not_measured
from bench.testbed import __main__ as testbed
from bench.testbed import package, storage, with_database
from bench.testbed.network import rows as network
from bench.testbed.network.part import SHORT
from bench.testbed.rungs import Rung, on_rung
from bench.testbed.studies import study_rows
from tests.testbed.storage.guest import KERNELS

LIMIT = Row(what="limit 500, reads, workers: 1", unit="IOPS", asked="", measured=499.9, holds=True)


def seen(**more: Any) -> dict[str, Any]:
    """What a guest says of the package's life where all holds."""
    return {
        "shares": [999.0, 333.0, 333.0, 333.0],
        "reservation": [1200.0, 267.0, 266.0, 267.0],
        "limit": {"iops": 400.0, "outcomes": {"vm1.service": ["applied", "holds"]}},
        "purged": ["", "", "", ""],
    } | more


def test_table_and_json_say_the_rung() -> None:
    rows = [*on_rung(Rung.STORAGE, "limit", [LIMIT]), not_measured("look", "ms", "", "left out")]

    assert as_table(rows).splitlines()[0].startswith("rung  what")
    assert [line[0] for line in as_table(rows).splitlines()[1:]] == ["A", "-"]
    first, other = as_json(rows)
    assert (first["rung"], first["part"]) == ("A", "limit")
    assert "rung" not in other


def test_table_of_rows_without_a_rung_has_no_column_for_it() -> None:
    assert as_table([LIMIT]).startswith("what")


def test_storage_is_on_rung_a_also_where_no_guest_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(testbed, "missing_for_guests", lambda: "not root")

    rows = testbed._measured(KERNELS[0], storage.SHORT, ["limit"])

    assert [(row.rung, row.note) for row in rows] == [("A", "not root")]


def test_network_is_on_rung_b(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "missing_for_networks", lambda: "not root")

    assert {row.rung for row in network.network_rows(SHORT, network.PARTS)} == {"B"}


def test_two_hosts_are_on_rung_c_and_the_package_on_d(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(with_database, "missing_for_guests", lambda: "not root")

    rows = with_database.rows_with_database(testbed.PARTS, is_short=True)

    assert {row.part: row.rung for row in rows} == {"package": "D", "two-hosts": "C"}
    assert not any(row.holds for row in rows)


def test_experiment_of_a_study_is_on_the_rung_of_its_row() -> None:
    rows = {row.what: row for row in study_rows(on_rung(Rung.STORAGE, "limit", [LIMIT]))}

    assert (rows["sioc-ssd-limit"].rung, rows["sioc-ssd-limit"].part) == ("A", "studies")


def test_package_has_rows_of_limit_shares_and_reservation() -> None:
    rows = package.rows_of(seen())

    assert all(row.holds for row in rows)
    for what in ("limit", "shares", "reservation"):
        assert any(what in row.what for row in rows)


@pytest.mark.parametrize(
    ("what", "more"),
    [
        ("limit 400", {"limit": {"iops": 409.0, "outcomes": {"vm1.service": ["drifted", ""]}}}),
        ("shares 3:1", {"shares": [900.0, 366.0, 366.0, 366.0]}),
        ("reservation 1200", {"reservation": [1100.0, 300.0, 300.0, 300.0]}),
        ("limits left", {"purged": ["252:0 riops=400", "", "", ""]}),
    ],
)
def test_row_of_the_package_misses_where_it_is_not_held(what: str, more: dict[str, Any]) -> None:
    missed = [row.what for row in package.rows_of(seen(**more)) if not row.holds]

    assert len(missed) == 1
    assert what in missed[0]


def test_package_is_not_measured_without_a_debian(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(package, "debian13", lambda: tmp_path)

    assert package.missing_debian() is not None
    assert "make testbed-programs" in str(package.missing_debian())
