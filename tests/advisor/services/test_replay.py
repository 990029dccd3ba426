"""The replay service and its command, on experiments that take no time; no database."""

import json
import sys
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from advisor.errors import PlottingUnavailable, UnknownExperiment
from advisor.services.replay import (
    NAMES,
    counts_of,
    listing,
    play,
    quantity_of,
    rows_of,
    timeline_document,
    timelines_of,
)
from advisor.services.replay_document import markdown_of, number
from advisor.services.replay_plots import draw

pytestmark = pytest.mark.slow

QUICK = ["002-best-practices", "002-experiment-3"]
OVER_TIME = "002-experiment-1"
KEYS = ["experiment", "quantity", "unit", "seed_value", "value", "tolerance", "verdict", "why"]


def sluice(*words):
    out = StringIO()
    call_command("replay", *words, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_experiments_give_the_same_answer_alone_and_side_by_side():
    one_by_one = play(QUICK, processes=1)

    side_by_side = play(QUICK, processes=2)

    assert one_by_one == side_by_side
    assert [replay.experiment for replay in side_by_side] == QUICK


def test_rows_have_the_keys_that_programs_rely_on():
    rows = rows_of(play(QUICK, processes=1))

    assert {tuple(row) for row in rows} == {tuple(KEYS)}
    assert {row["verdict"] for row in rows} <= {"holds", "differs", "not modelled"}


def test_quantity_says_which_side_is_meant():
    (replay,) = play(["002-experiment-2"], processes=1)

    shown = [quantity_of(finding) for finding in replay.findings]

    assert shown[0].endswith("(at least)")
    assert shown[2].endswith("(at most)")


def test_counts_name_every_verdict():
    counts = counts_of(play(["002-experiment-3"], processes=1))

    # Eight numbers about the cost of one implementation.
    assert counts == {"holds": 0, "differs": 0, "not modelled": 8}


@pytest.mark.parametrize(
    "ask", [lambda name: play([name]), timeline_document], ids=["play", "timeline"]
)
def test_unknown_experiment_is_refused_with_the_names_there_are(ask):
    with pytest.raises(UnknownExperiment, match=r'no experiment "000-test-9".*000-test-1'):
        ask("000-test-9")


def test_timeline_is_json_with_panels_of_one_clock():
    document = timeline_document(OVER_TIME)

    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert list(document) == [
        "experiment", "title", "duration_s", "panels", "figures", "findings", "premises",
    ]  # fmt: skip
    assert document == timelines_of(play([OVER_TIME], processes=1))[OVER_TIME]
    (panel,) = document["panels"]
    assert document["duration_s"] == panel["times_s"][-1] == 120
    assert [phase["label"] for phase in panel["phases"]] == ["VMs", "+ NFS", "+ vMotion"]
    assert {len(series["values"]) for series in panel["series"]} == {len(panel["times_s"])}


def test_command_lists_what_can_be_replayed():
    assert json.loads(sluice("list", "--json")) == listing()
    assert all(name in sluice("LIST") for name in NAMES)
    assert sluice() == sluice("list")


def test_command_prints_rows_for_programs():
    rows = json.loads(sluice("002-best-practices,002-experiment-3", "--json"))

    assert {row["experiment"] for row in rows} == set(QUICK)
    assert [list(row) for row in rows] == [KEYS] * len(rows)


def test_command_prints_what_went_in_and_every_verdict():
    text = sluice("002-best-practices")

    assert "stated: what may be reserved of an uplink = 75 %" in text
    assert "part of an unused reservation that another port gets" in text
    assert text.rstrip().endswith("2 holds, 0 differs, 0 not modelled")


def test_command_prints_what_the_dashboard_plays():
    assert json.loads(sluice(OVER_TIME, "--timelines")) == {
        OVER_TIME: timeline_document(OVER_TIME)
    }


def test_command_prints_the_page():
    text = sluice(*QUICK, "--markdown")

    assert text == markdown_of(play(QUICK, processes=1))
    assert "## 002-best-practices: NetIOC: reservations that are unused, or do not fit" in text


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["000-test-9"], 'no experiment "000-test-9"'),
        (["--all", "000-test-1"], "say --all or names, not both"),
        (["000-test-1", "--processes", "0"], "must be at least 1"),
        (["--json", "--markdown", "list"], "not allowed with argument"),
    ],
    ids=["unknown", "all and one", "no process", "two forms"],
)
def test_command_refuses_in_one_line(words, complaint):
    with pytest.raises(CommandError, match=complaint):
        sluice(*words)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0"),
        (0.63816, "0.6382"),
        (1624.4, "1624"),
        (51000.0, "51000"),
        (1.03e9, "1.03e+09"),
    ],
)
def test_numbers_are_shown_with_four_digits(value, text):
    assert number(value) == text


def test_figures_are_drawn_the_same_every_time(tmp_path):
    pytest.importorskip("matplotlib", reason="Matplotlib (extra: plot) is not installed")
    replays = play(["002-best-practices", OVER_TIME], processes=1)

    first, second = (draw(replays, tmp_path / name) for name in ("a", "b"))

    assert [path.name for path in first] == [
        "002-best-practices-best-practices.svg",
        "002-experiment-1-figure-3.svg",
    ]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert "Throughput of every VM" in first[1].read_text()


def test_directory_that_cannot_be_made_is_refused(tmp_path):
    pytest.importorskip("matplotlib", reason="Matplotlib (extra: plot) is not installed")
    (tmp_path / "file").write_text("")

    with pytest.raises(PlottingUnavailable, match="cannot be made"):
        draw([], tmp_path / "file" / "figures")


def test_figures_without_matplotlib_are_refused_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(PlottingUnavailable, match=r"pip install 'sluice\[plot\]'"):
        draw([], tmp_path)
