"""The replay service and its command, on experiments that take no time; no database."""

import json
import re
import signal
import sys
from io import StringIO
from multiprocessing import active_children

import pytest
from django.core.management import CommandError, call_command

from advisor.errors import PlottingUnavailable, UnknownExperiment
from advisor.lab.replay.document import markdown_of, number
from advisor.lab.replay.player import (
    LONGEST,
    NAMES,
    listing,
    play,
    quantity_of,
    rows_of,
    timeline_document,
    timelines_of,
)
from advisor.lab.replay.plots import draw

pytestmark = pytest.mark.slow

QUICK = ["netioc-best-practices", "netioc-scheduler-cost"]
OVER_TIME = "netioc-traffic-classes"
KEYS = [
    "experiment", "quantity", "unit", "number", "kind", "study_value", "value", "tolerance",
    "verdict", "why",
]  # fmt: skip


def sluice(*words):
    out = StringIO()
    call_command("replay", *words, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_experiments_give_the_same_answer_alone_and_side_by_side():
    one_by_one = play(QUICK, processes=1)

    side_by_side = play(QUICK, processes=2)

    assert one_by_one == side_by_side
    assert [replay.experiment for replay in side_by_side] == QUICK


@pytest.mark.parametrize(
    ("stop", "raised"),
    [
        (lambda: signal.raise_signal(signal.SIGINT), KeyboardInterrupt),
        (lambda: sys.stdout.write(1), TypeError),
    ],
    ids=["Ctrl-C", "an error"],
)
def test_what_is_half_played_ends_with_an_interruption(stop, raised):
    before, playing = set(active_children()), []

    def tell(_):
        # The quick one has been played, the long one has not.
        playing.extend(set(active_children()) - before)
        stop()

    earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(raised):
            play([QUICK[0], LONGEST[0]], processes=2, tell=tell)
    finally:
        signal.signal(signal.SIGINT, earlier)

    assert set(active_children()) == before
    assert [process.exitcode for process in playing] == [-signal.SIGTERM] * 2


def test_rows_have_the_keys_that_programs_rely_on():
    rows = rows_of(play(QUICK, processes=1))

    assert {tuple(row) for row in rows} == {tuple(KEYS)}
    assert {row["verdict"] for row in rows} <= {"holds", "differs", "not modelled"}


def test_quantity_says_which_side_is_meant():
    (replay,) = play(["netioc-web-server"], processes=1)

    shown = [quantity_of(finding) for finding in replay.findings]

    assert shown[0].endswith("(at least)")
    assert shown[3].endswith("(at most)")


@pytest.mark.parametrize(
    "ask", [lambda name: play([name]), timeline_document], ids=["play", "timeline"]
)
def test_unknown_experiment_is_refused_with_the_names_there_are(ask):
    with pytest.raises(
        UnknownExperiment, match=r'no experiment "sioc-nfs-night".*sioc-nfs-shares'
    ):
        ask("sioc-nfs-night")


def test_timeline_is_json_with_panels_of_one_clock():
    document = timeline_document(OVER_TIME)

    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert list(document) == [
        "experiment", "study", "title", "duration_s", "panels", "figures", "findings", "premises",
    ]  # fmt: skip
    assert document == timelines_of(play([OVER_TIME], processes=1))[OVER_TIME]
    panel, by_class = document["panels"]
    assert document["duration_s"] == panel["times_s"][-1] == by_class["times_s"][-1] == 120
    assert [phase["label"] for phase in panel["phases"]] == ["VMs", "+ NFS", "+ vMotion"]
    assert {len(series["values"]) for series in panel["series"]} == {len(panel["times_s"])}


def test_command_lists_what_can_be_replayed():
    assert json.loads(sluice("list", "--json")) == listing()
    assert all(name in sluice("LIST") for name in NAMES)
    assert sluice() == sluice("list")


def test_command_prints_rows_for_programs():
    rows = json.loads(sluice("netioc-best-practices,netioc-scheduler-cost", "--json"))

    assert {row["experiment"] for row in rows} == set(QUICK)
    assert [list(row) for row in rows] == [KEYS] * len(rows)


def test_old_name_works_and_the_new_one_is_told():
    out, told = StringIO(), StringIO()

    call_command("replay", "002-best-practices", "--json", stdout=out, stderr=told)

    assert json.loads(out.getvalue()) == json.loads(sluice("netioc-best-practices", "--json"))
    assert told.getvalue() == "002-best-practices is now called netioc-best-practices\n"


def test_command_takes_names_apart_and_plays_each_once():
    rows = json.loads(sluice(*QUICK, QUICK[0], "--json"))

    assert rows == rows_of(play(QUICK, processes=1))


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("sioc-nfs-share", "did you mean sioc-nfs-shares "),
        ("Lun", "did you mean vmfs-hosts-per-lun?"),
        ("zzz", r'"zzz"; there are: sioc-nfs-shares'),
    ],
    ids=["typed wrongly", "part of a name", "nothing like it"],
)
def test_unknown_name_is_refused_with_those_near_to_it(word, meant):
    with pytest.raises(CommandError, match=meant) as refused:
        sluice(word)

    assert refused.value.returncode == 2


class Terminal(StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "told"),
    [(Terminal, "1 of 2: netioc-best-practices\n2 of 2: netioc-scheduler-cost\n"), (StringIO, "")],
    ids=["terminal", "file"],
)
def test_progress_is_told_on_a_terminal_only(stream, told):
    out, err = StringIO(), stream()

    call_command("replay", *QUICK, "--json", "--processes", "1", stdout=out, stderr=err)

    assert re.sub(r"\x1b\[[0-9;]*m", "", err.getvalue()) == told
    assert {row["experiment"] for row in json.loads(out.getvalue())} == set(QUICK)


def test_command_prints_what_went_in_and_every_verdict():
    text = sluice("netioc-best-practices")

    assert "stated: what may be reserved of an uplink = 75 %" in text
    assert "part of an unused reservation that another port gets" in text
    # The study says all three in words.
    assert text.rstrip().endswith(
        "Each counted once: of 3 statements without a number 3 hold, 0 differ"
    )
    assert "[100]" in text


def test_command_prints_what_the_dashboard_plays():
    assert json.loads(sluice(OVER_TIME, "--timelines")) == {
        OVER_TIME: timeline_document(OVER_TIME)
    }


def test_command_prints_the_page():
    text = sluice(*QUICK, "--markdown")

    assert text == markdown_of(play(QUICK, processes=1))
    assert "## netioc-best-practices: NetIOC: reservations that are unused, or do not fit" in text


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["sioc-nfs-night"], 'no experiment "sioc-nfs-night"'),
        (["--all", "sioc-nfs-shares"], "give --all or names, not both"),
        (["sioc-nfs-shares", "--processes", "0"], "must be at least 1"),
        (["--json", "--markdown", "list"], "not allowed with argument"),
        (["list", "--plot", "x"], "--plot needs --all or names"),
    ],
    ids=["unknown", "all and one", "no process", "two forms", "a list of figures"],
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
    replays = play(["netioc-best-practices", OVER_TIME], processes=1)

    first, second = (draw(replays, tmp_path / name) for name in ("a", "b"))

    assert [path.name for path in first] == [
        "netioc-best-practices-best-practices.svg",
        "netioc-traffic-classes-figure-3.svg",
        "netioc-traffic-classes-figure-3-by-class.svg",
    ]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert "Throughput of each of the twelve VMs" in first[1].read_text()


def test_directory_that_cannot_be_made_is_refused(tmp_path):
    pytest.importorskip("matplotlib", reason="Matplotlib (extra: plot) is not installed")
    (tmp_path / "file").write_text("")

    with pytest.raises(
        PlottingUnavailable, match=r"no figures can be written to .*figures: Not a"
    ):
        draw([], tmp_path / "file" / "figures")


def test_figures_that_cannot_be_written_are_refused_before_anything_is_played(
    tmp_path, monkeypatch
):
    pytest.importorskip("matplotlib", reason="Matplotlib (extra: plot) is not installed")
    (tmp_path / "file").write_text("")
    played = []
    monkeypatch.setattr(
        "advisor.management.commands.replay.play", lambda *a, **k: played.append(a)
    )

    with pytest.raises(CommandError, match="no figures can be written"):
        sluice(OVER_TIME, "--plot", str(tmp_path / "file"))

    assert played == []


def test_file_that_cannot_be_written_is_named(tmp_path):
    pytest.importorskip("matplotlib", reason="Matplotlib (extra: plot) is not installed")
    (tmp_path / "netioc-best-practices-best-practices.svg").mkdir()

    with pytest.raises(PlottingUnavailable, match=r"practices\.svg cannot be written: Is a dir"):
        draw(play(["netioc-best-practices"], processes=1), tmp_path)


def test_figures_without_matplotlib_are_refused_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(PlottingUnavailable, match=r"pip install 'sluice\[plot\]'"):
        draw([], tmp_path)
