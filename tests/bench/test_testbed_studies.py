"""Every experiment of the studies has a row in the testbed, measured or with the reason."""

from __future__ import annotations

import pytest

from advisor.lab.replay.player import listing
from bench.fleet.rows import Row
from bench.testbed import __main__ as testbed
from bench.testbed import studies
from bench.testbed.network import rows as network
from bench.testbed.studies import EXPERIMENTS, Experiment, study_rows

REPEATED = [one for one in EXPERIMENTS if one.row]


def test_every_replayed_experiment_is_repeated_or_says_why_not() -> None:
    assert {one.replay for one in EXPERIMENTS} == {one["experiment"] for one in listing()}
    assert all(bool(one.row) != bool(one.why_not) for one in EXPERIMENTS)
    assert all(bool(one.row) == bool(one.part) for one in EXPERIMENTS)


def test_rows_that_repeat_an_experiment_belong_to_parts_of_the_testbed() -> None:
    assert {one.part for one in REPEATED} <= set(testbed.PARTS) - {studies.PART}


@pytest.mark.parametrize(
    "experiment", [one for one in REPEATED if one.part in network.PARTS], ids=lambda one: one.what
)
def test_row_of_a_network_is_one_that_its_part_announces(experiment: Experiment) -> None:
    announced = [
        asked.what for part in network.ALL if part.name == experiment.part for asked in part.asked
    ]

    assert any(what.startswith(experiment.row) for what in announced)


def test_measured_row_stands_beside_what_the_study_printed() -> None:
    first, other = (
        Row(what=f"limit 500, reads, workers: 1, Linux {kernel}", unit="IOPS", asked="500 +-1 %",
            measured=value, holds=True, note="agent: applied")
        for kernel, value in (("6.12", 499.9), ("7.2", 501.0))
    )  # fmt: skip

    found = {row.what: row for row in study_rows([first, other])}["sioc-ssd-limit"]

    assert (found.measured, found.asked, found.holds) == (499.9, "500 +-1 %", True)
    assert found.note == (
        "study: within 1 %; row: limit 500, reads, workers: 1, Linux 6.12; agent: applied"
    )


def test_experiment_whose_part_was_not_run_is_not_measured() -> None:
    rows = {row.what: row for row in study_rows([])}

    assert len(rows) == len(EXPERIMENTS)
    assert not any(row.holds or row.measured is not None for row in rows.values())
    assert rows["sioc-ssd-limit"].note.endswith("this run has no row of the part limit")
    assert rows["sioc-nfs-day"].note.endswith("in simulation: sluice replay sioc-nfs-day")
