"""Every experiment, played once: no printed number is forgotten, and the page is fresh."""

import json
import math
from pathlib import Path

import pytest

from advisor.lab.replay.catalogue import EXPERIMENTS, find_experiment
from advisor.lab.replay.document import markdown_of
from advisor.lab.replay.experiment import Basis
from advisor.lab.replay.finding import Verdict
from advisor.lab.replay.player import NAMES, play, rows_of, timeline_document, timelines_of

PAGE = Path(__file__).parents[4] / "docs" / "replay.md"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

# What the seeds print of their results, read by hand; directions are 0, "the same" is 1.
PRINTED = {
    "000-test-1": [22, 22, 22, 33, 40, 1624, 20, 20, 20, 40, 3, -10, 5, -12, 0, 0, 0, 0],
    "000-test-2": [65, 83, 4, 0, 0, 0, 0, 0],
    "000-test-3": [
        10, 15, round(2 / 3, 9), 100, 2, 2, 45, 60, 4, 256, 4, 0, 0, *[1] * 8,
    ],
    "000-test-4": [-8, -19, -29, 7, 11, 15, 15, -8, 83, 83, 0, 3, 11],
    "001-test-1-shares": [2500, 30, 30, 30, 30, 6000, 6743, 9415, 4030, 7670],
    "001-test-1-limit": [500, 1, 1] * 4,
    "001-test-1-reservation": [6843, 9515, 4130, 7770, 1, 1, 1, 1, 0, 0, 0, 0],
    "001-test-2": [4, 2, 100, 50, 10] * 4,
    "001-test-3": [1000, 1000, 1, 1, 1, 0, 2] * 4,
    "001-test-4": [1] * 8,
    "002-reservations": [
        9.4, 3.1, 3.1, 3.1, 8.1, 0.6, 0.6, 1.9, 8.4, 9.4, 0.9, 9.4, 5.4, 3.9, 15, 3, 75, 300, 7.5,
    ],
    "002-experiment-1": [400, 500, 1],
    "002-experiment-2": [500, 15, 1, 1],
    "002-experiment-3": [4, 5, 12, 4, 5, 1e6, 4000, 33],
    "002-best-practices": [100, 2],
    "003-hosts-per-lun": [256, 2048, 100, 0, 0, 0, 0, *[1] * 8],
    "004-esx-5.0": [4846, 7107, 330, 400, 330, 400],
    "004-esx-5.5": [1741, 3329, 400, 400, 400, 2000],
}  # fmt: skip


@pytest.fixture(scope="module")
def replays():
    return {replay.experiment: replay for replay in play(NAMES)}


def test_every_experiment_has_a_name_of_its_own_and_is_found_by_it():
    assert len(set(NAMES)) == len(NAMES)
    assert all(find_experiment(each.name) is each for each in EXPERIMENTS)
    assert find_experiment("000-test-9") is None


def test_all_five_seeds_are_replayed(replays):
    assert {name[:3] for name in replays} == {"000", "001", "002", "003", "004"}
    assert set(replays) == set(PRINTED)


@pytest.mark.parametrize("name", PRINTED)
def test_every_printed_number_has_a_finding(replays, name):
    left = [finding.seed_value for finding in replays[name].findings]

    missing = []
    for number in PRINTED[name]:
        if number in left:
            left.remove(number)
        else:
            missing.append(number)

    assert missing == []


def test_every_number_that_does_not_hold_says_why(replays):
    for replay in replays.values():
        for finding in replay.findings:
            assert finding.why
            assert finding.verdict is not Verdict.DIFFERS or "; " in finding.why, finding.quantity


# Figures with results; the others of the seeds are test beds.
DRAWN = {
    "000-test-1": ["2", "3a", "3b", "4a", "4b", "5"],
    "000-test-2": ["6"],
    "000-test-3": ["7", "8", "9", "10", "11"],
    "000-test-4": ["12", "13", "14"],
    "001-test-1-shares": ["2"],
    "001-test-1-limit": ["3"],
    "001-test-1-reservation": ["4"],
    "001-test-2": ["5"],
    "001-test-3": [
        "6, sequential write",
        "6, sequential read",
        "6, random write",
        "6, random read",
    ],
    "001-test-4": ["7"],
    "002-reservations": ["2"],
    "002-experiment-1": ["3"],
    "002-experiment-2": ["4"],
    "002-experiment-3": ["5", "6"],
    "003-hosts-per-lun": ["1", "2"],
}


@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_of_a_seed_has_its_plot(replays, name):
    names = [figure.name for figure in replays[name].figures]

    missing = [
        number
        for number in DRAWN[name]
        if not any(each.startswith(f"figure {number}") for each in names)
    ]
    assert missing == []
    assert len(set(names)) == len(names)


def test_values_are_finite_or_absent(replays):
    rows = rows_of(list(replays.values()))

    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    for replay in replays.values():
        for figure in replay.figures:
            values = [value for series in figure.series for value in series.values]
            assert all(value is None or math.isfinite(value) for value in values)


def test_what_went_in_names_its_source(replays):
    for replay in replays.values():
        for premise in replay.premises:
            assert premise.source
            assert math.isfinite(premise.value)
            assert premise.basis in Basis


def test_no_number_is_compared_that_the_model_was_calibrated_on(replays):
    # The throughputs and loads that went in, by experiment.
    calibrated_on = {
        "000-test-1": {22.0, 33.0, 1624.0},
        "001-test-1-shares": {2500.0, 9415.0, 4030.0, 7670.0},
        "002-reservations": {75.0, 300.0},
        "004-esx-5.0": {4846.0, 7107.0},
        "004-esx-5.5": {1741.0, 3329.0},
    }

    for name, numbers in calibrated_on.items():
        compared = {
            finding.seed_value
            for finding in replays[name].findings
            if finding.verdict is not Verdict.NOT_MODELLED
        }
        assert compared.isdisjoint(numbers)
        went_in = {
            finding.seed_value
            for finding in replays[name].findings
            if finding.why.startswith("calibrated: ")
        }
        assert numbers <= went_in


def test_page_is_what_the_replays_say_now(replays):
    assert markdown_of(list(replays.values())) == PAGE.read_text(), (
        "docs/replay.md is stale; write it with: sluice replay --all --markdown > docs/replay.md"
    )


def test_recorded_timelines_are_what_the_replays_say_now(replays):
    recorded = {name: timeline_document(name) for name in NAMES}

    assert timelines_of(list(replays.values())) == recorded, (
        "advisor/lab/replay/timelines.json is stale; write it with: "
        "sluice replay --all --timelines > advisor/lab/replay/timelines.json"
    )
