"""The testbed's plots: what was measured stands beside the studies' numbers, and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.lab.replay.player import NAMES
from bench.fleet.rows import Row, as_json, not_measured
from bench.testbed import __main__ as testbed
from bench.testbed import storage
from bench.testbed.network import kinds, study, web_pair
from bench.testbed.network.part import SHORT
from bench.testbed.network.pings import Pings
from bench.testbed.plots.scale import Scale
from bench.testbed.plots.sheet import Bar, Course, Panel, Sheet
from bench.testbed.plots.sheets import PLANS, sheets
from bench.testbed.plots.svg import draw
from bench.testbed.studies import EXPERIMENTS, Experiment
from tests.host.steady_rates import Rates

SVG = "{http://www.w3.org/2000/svg}"
REPEATED = [one for one in EXPERIMENTS if one.row]
NUMBERS = st.floats(min_value=0, max_value=1e6)
STEP_A = "netioc-reservations, step a, off ideal by"


def place_names(what: str) -> set[str]:
    """Names of values that the plots look for in a row."""
    return {
        place.value
        for plan in PLANS.values()
        for place in plan.places
        if place.what == what and place.value
    }


def measured(experiment: Experiment, number: float = 0.5, **values: float) -> Row:
    return Row(
        what=experiment.row,
        unit="ratio",
        asked="",
        measured=number,
        holds=True,
        values=dict.fromkeys(place_names(experiment.what), number) | values,
    )


def bars_of(rows: Sequence[Row]) -> dict[str, Bar]:
    """By the row that each bar is of, and its label."""
    found = [panel for sheet in sheets(rows) for panel in sheet.panels]
    places = [place for plan in map(PLANS.__getitem__, NAMES) for place in plan.places]
    bars = [bar for panel in found for bar in panel.bars]
    return {f"{place.what}: {bar.label}": bar for place, bar in zip(places, bars, strict=True)}


def root_of(*panels: Panel) -> ET.Element:
    return ET.fromstring(draw(Sheet(name="one", title="A study", panels=panels)))


def panel(*bars: Bar, **more: Any) -> Panel:
    return Panel(**({"title": "a", "unit": "part", "source": "table 1", "bars": bars} | more))


def widths(root: ET.Element) -> dict[str, float]:
    """Of each bar, by what is read where a pointer rests on it."""
    return {
        title: float(rect.attrib["width"])
        for rect in root.iter(f"{SVG}rect")
        if (title := rect.findtext(f"{SVG}title"))
    }


def texts(root: ET.Element) -> list[str]:
    return [one.text or "" for one in root.iter(f"{SVG}text")]


def test_every_replayed_experiment_has_a_panel_with_its_source() -> None:
    assert set(PLANS) == set(NAMES)
    assert all(plan.source for plan in PLANS.values())


def test_panels_look_for_rows_that_the_studies_part_has() -> None:
    assert {place.what for plan in PLANS.values() for place in plan.places} <= {
        one.what for one in EXPERIMENTS
    }


@given(st.lists(st.sampled_from(REPEATED), unique=True), NUMBERS)
def test_every_row_with_a_number_is_drawn_and_every_other_one_is_not_run(
    run: list[Experiment], number: float
) -> None:
    bars = bars_of([measured(one, number) for one in run])
    rows = {one.row for one in run}

    for one in EXPERIMENTS:
        own = [bar for name, bar in bars.items() if name.startswith(f"{one.what}: ")]
        assert own or one.what == "netioc-best-practices"
        for bar in own:
            assert (bar.ours is not None) == (one.row in rows)
            assert (bar.ours_text == "not run") == (one.row not in rows)


def test_nothing_run_draws_the_studies_numbers_alone() -> None:
    roots = [ET.fromstring(draw(sheet)) for sheet in sheets([])]

    drawn = [title for root in roots for title in widths(root)]
    assert "step a, VM 1, study: 0.862" in drawn
    assert not [title for title in drawn if ", ours: " in title]
    # 9 bars of SIOC on NFS, 10 on SSD, 29 of NetIOC, 1 and 4 of the others; and one course.
    assert sum(text.startswith("ours: not run") for root in roots for text in texts(root)) == 53
    assert sum(text == "not run" for root in roots for text in texts(root)) == 1


def test_zero_that_was_measured_is_a_number() -> None:
    (experiment,) = [one for one in REPEATED if one.replay == "sioc-ssd-uneven-hosts"]

    bar = bars_of([measured(experiment, 0.0)])[f"{experiment.what}: 12 and 4 workloads"]

    assert (bar.ours, bar.ours_text, bar.study_text) == (0.0, "0", "in words only")


def test_row_that_could_not_be_measured_leaves_its_reason() -> None:
    (experiment,) = [one for one in REPEATED if one.what == STEP_A]
    rows = [not_measured(experiment.row, "of the link", "<= 0.02", "only root can do it")]

    notes = [note for sheet in sheets(rows) for one in sheet.panels for note in one.notes]

    assert [note for note in notes if "only root" in note and note.startswith(STEP_A)]


@pytest.mark.parametrize(
    ("name", "study_part", "ideal"),
    [
        # 8.1, 0.6, 8.4, 0.9, 5.4 and 3.9 of 9.4 Gbit/s; 75 + 19 / 3 of 94 Mbit/s, and so on.
        (f"{STEP_A}: step a, VM 1", 0.8617, 0.8652),
        (f"{STEP_A}: step a, VM 2", 0.0638, 0.0674),
        ("netioc-reservations, step b, off ideal by: step b, VM 1", 0.8936, 0.8989),
        ("netioc-reservations, step b, off ideal by: step b, VM 3", 0.0957, 0.1011),
        ("netioc-reservations, step c, off ideal by: step c, VM 2", 0.5745, 0.5798),
        ("netioc-reservations, step c, off ideal by: step c, VM 3", 0.4149, 0.4202),
        # 500 of 9,400 Mbit/s; 3.75 of 94 are reserved.
        ("netioc-traffic-classes, below reservation: vm7", 0.0532, 0.0399),
        ("netioc-web-server, beside unloaded: with a reservation", 1.15, None),
        # 6,000 of 20,000 IOPS, and a seventh of the rest; shares of 3 and 1 of 10.
        ("sioc-ssd-shares: three times the shares", 0.3, 0.3),
        ("sioc-ssd-shares: each of the seven others", 0.1, 0.1),
        ("sioc-ssd-tiers, off 4:2:1 by: high : low, 12 workloads", 4.0, 4.0),
        ("sioc-nfs-shares: VM 4", 0.4, 0.4),
        ("sioc-nfs-day: default", 0.71, None),
        # 330 of 400, and 2,000 at a limit of 400.
        ("vdisk-limits-esx-5.0, two disks, one limit: two disks together", 0.825, 1.0),
        ("vdisk-limits-esx-5.5, workers: 1: 1 worker", 5.0, 1.0),
    ],
)
def test_number_of_the_study_is_a_part_of_its_own_hardware(
    name: str, study_part: float, ideal: float | None
) -> None:
    bar = bars_of([])[name]

    assert bar.study == pytest.approx(study_part, abs=1e-4)
    assert bar.mark == (None if ideal is None else pytest.approx(ideal, abs=1e-4))


def test_bars_are_as_long_as_their_numbers() -> None:
    root = root_of(
        panel(Bar(label="VM 1", study=0.8, ours=0.4, mark=0.6), mark_text="ideal"),
    )

    # 440 points are 1.05 times the largest number, and begin at 200.
    assert widths(root) == {
        "VM 1, study: 0.8": pytest.approx(419.0, abs=0.1),
        "VM 1, ours: 0.4": pytest.approx(209.5, abs=0.1),
    }
    marks = [line for line in root.iter(f"{SVG}line") if line.attrib["class"] == "mark"]
    assert float(marks[-1].attrib["x1"]) == pytest.approx(200 + 314.3, abs=0.1)


def test_logarithmic_bars_begin_at_one() -> None:
    bars = (Bar(label="a", ours=100.0), Bar(label="b", ours=10.0), Bar(label="c", ours=0.1))

    drawn = widths(root_of(panel(*bars, is_logarithmic=True)))

    # From 0.1 to 100 are three powers of ten: one, and two to the right of 1.
    assert [*drawn.values()] == pytest.approx([293.3, 146.7, 146.7], abs=0.1)


def test_course_has_gaps_where_nothing_was_measured_and_its_bound() -> None:
    course = Course(
        title="IOPS of it",
        unit="IOPS",
        values=[810.0, 790.0, None, None, 1000.0],
        bound=800.0,
        bound_text="reservation",
    )

    root = root_of(panel(course=course))

    pieces = [one.attrib["points"].split() for one in root.iter(f"{SVG}polyline")]
    assert [len(piece) for piece in pieces] == [2, 2]
    assert "reservation 800" in texts(root)
    assert "3 intervals, 790 to 1,000" in texts(root)


@given(st.text(), st.text(), st.text())
def test_any_text_makes_a_file_that_can_be_read(title: str, label: str, note: str) -> None:
    sheet = Sheet(name="a", title=title, panels=[panel(Bar(label=label, ours=1.0), notes=[note])])

    assert ET.fromstring(draw(sheet)).tag == f"{SVG}svg"


def test_screen_readers_are_told_the_title_and_every_number() -> None:
    root = root_of(
        panel(Bar(label="VM 1", study=0.8, printed="at least", mark=0.6), mark_text="i")
    )

    assert root.attrib["aria-labelledby"].split() == [root[0].attrib["id"], root[1].attrib["id"]]
    assert (root[0].tag, root[1].tag) == (f"{SVG}title", f"{SVG}desc")
    assert root[0].text == "A study: measured beside it"
    assert root[1].text == "a; part. VM 1: study at least 0.8, ours not run, i 0.6."


def test_file_needs_nothing_beside_it_and_follows_the_readers_ground() -> None:
    text = draw(Sheet(name="a", title="a", panels=[]))

    assert "prefers-color-scheme: dark" in text
    assert "href" not in text
    assert "url(" not in text


@given(st.lists(NUMBERS, max_size=5), st.booleans())
def test_scale_holds_every_number(values: list[float], is_logarithmic: bool) -> None:
    scale = Scale.over(values, start=200, end=640, is_logarithmic=is_logarithmic)

    assert all(200 <= scale.at(value) <= 640.001 for value in [*values, *scale.ticks()])
    assert len(scale.ticks()) >= 2


def test_run_writes_a_file_for_each_study_and_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "dist" / "testbed"
    monkeypatch.setattr(testbed, "clean_up_when_told_to_end", lambda: None)
    monkeypatch.setattr(sys, "argv", ["testbed", "--parts", "studies", "--plots", str(folder)])

    testbed.main()

    assert sorted(file.name for file in folder.iterdir()) == [
        "limits-of-virtual-disks-in-esx-5-0-and-5-5-2014.svg",
        "vmware-esx-server-3-5-scalable-storage-2008.svg",
        "vmware-netioc-in-vsphere-6-0-2015.svg",
        "vmware-sioc-on-nfs-2011.svg",
        "vmware-sioc-on-ssd-2017.svg",
    ]
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"plots beside the studies' numbers: 5 SVG files in {folder}"


def test_kept_row_has_what_is_drawn_only_where_there_is_something() -> None:
    plain = Row(what="a", unit="s", asked="", measured=1.0, holds=True)
    drawn = Row(what="a", unit="s", asked="", measured=1.0, holds=True, values={"VM 1": 0.0})

    first, second = as_json([plain, drawn])

    assert set(second) - set(first) == {"values"}
    assert second["values"] == {"VM 1": 0.0}


# --- What the parts measure has the names that the plots look for


class FakeGuest:
    """Answers every trial with this."""

    def __init__(self, **said: Any) -> None:
        self.said = {"outcomes": {"vm1": ("applied", "")}} | said

    def run(self, module: str, **how: object) -> dict[str, Any]:
        del module, how
        return self.said


class FakeHost:
    """A host on which everything is done at once."""

    counters = None

    def __getattr__(self, name: str) -> Any:
        return lambda *args: None


@contextmanager
def fake_host(*args: object) -> Iterator[FakeHost]:
    del args
    yield FakeHost()


def test_shares_are_parts_of_the_disk() -> None:
    guest: Any = FakeGuest(iops=[600.0, *[200.0] * 7])

    row, _ = storage._shares(guest, storage.SHORT, capacity=2000.0)

    assert row.measured == pytest.approx(3.0)
    assert row.values == pytest.approx({"first": 0.3, "others": 0.1})
    assert set(row.values) == place_names("sioc-ssd-shares")


def test_reservation_has_a_course_of_all_its_intervals() -> None:
    second = {"since_change_s": 1, "active": 8, "total_iops": 2000.0}
    guest: Any = FakeGuest(intervals=[second | {"first_iops": rate} for rate in (810.0, None)])

    row, *_ = storage._reservation(guest, storage.SHORT, capacity=2000.0)

    assert [*row.course] == [810.0, None]
    (sheet,) = [one for one in sheets([row]) if "ssd" in one.name]
    (course,) = [one.course for one in sheet.panels if one.course]
    assert ([*course.values], course.bound) == ([810.0, None], 800.0)


def test_steps_of_the_study_are_parts_of_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    def rates(look: object, classids: dict[str, str], window_s: float) -> Rates:
        del look, window_s
        return Rates(mbps=dict.fromkeys(classids, 47.0), windows=3, left_out=0)

    monkeypatch.setattr(study, "host", fake_host)
    monkeypatch.setattr(study, "median_rates", rates)

    rows = study.STUDY.measure(SHORT)

    for step, row in zip("abc", rows, strict=True):
        assert row.values == {"VM 1": 0.5, "VM 2": 0.5, "VM 3": 0.5}
        assert set(row.values) == place_names(f"netioc-reservations, step {step}, off ideal by")


def test_kinds_are_parts_of_the_link() -> None:
    rates = Rates(mbps=dict.fromkeys(kinds.RESERVATIONS_MBPS, 9.4), windows=3, left_out=0)
    quick = Pings(p50_ms=0.1, p99_ms=0.2)

    row, *_ = kinds._rows(rates, quick, quick)

    assert set(row.values) == place_names("netioc-traffic-classes, below reservation")
    assert [*row.values.values()] == pytest.approx([0.1] * 14)


def test_responses_are_beside_that_without_traffic(monkeypatch: pytest.MonkeyPatch) -> None:
    # Unloaded, one queue for all, without and with a reservation.
    times_ms = iter((0.4, 78.0, 58.0, 0.44))
    monkeypatch.setattr(web_pair, "host", fake_host)
    monkeypatch.setattr(
        web_pair,
        "_responses",
        lambda *args: web_pair._Responses(far_ms=next(times_ms), near_ms=0.4),
    )

    (row,) = web_pair.WEB_PAIR.measure(SHORT)

    assert row.values == pytest.approx(
        {"one queue for all": 195.0, "without a reservation": 145.0, "with a reservation": 1.1}
    )
    assert set(row.values) == place_names("netioc-web-server, beside unloaded")
