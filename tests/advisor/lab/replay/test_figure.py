"""Figures and the timelines made of them."""

import pytest

from advisor.lab.replay.experiment import Replay
from advisor.lab.replay.figure import FigureKind, bars, lines, over_time
from advisor.lab.replay.timeline import timeline_of


def replay_with(*figures):
    return Replay(
        experiment="x",
        study="A study",
        title="An experiment",
        premises=(),
        findings=(),
        figures=figures,
    )


def test_series_must_have_a_value_for_every_place():
    with pytest.raises(ValueError, match="figure 1, IOPS: 1 values for 2 places"):
        bars("figure 1", "", "IOPS", places=["a", "b"], series={"IOPS": [1.0]})


def test_printed_values_follow_ours_and_say_so():
    pair = bars(
        "figure 1", "", "IOPS", places=["a"], series={"before": [1.0], "after": [2.0]},
        printed={"after": [None]},
    )  # fmt: skip
    alone = bars(
        "figure 2", "", "IOPS", places=["a"], series={"ours": [1.0]}, printed={"ours": [3.0]}
    )

    assert [(one.label, one.values, one.is_printed) for one in pair.series] == [
        ("before", (1.0,), False),
        ("after", (2.0,), False),
        ("after, study", (None,), True),
    ]
    assert [one.label for one in alone.series] == ["ours", "study"]


def test_timeline_has_the_figures_over_time_and_their_longest_duration():
    replay = replay_with(
        bars("figure 1", "Bars", "IOPS", places=["a"], series={"IOPS": [1.0]}),
        lines("figure 2", "Lines", x_label="hosts", y_label="ms", x=[1], series={"ms": [2.0]}),
        over_time("figure 3", "Short", "ms", times_s=[1, 2], series={"ms": [None, 2.0]}),
        over_time(
            "figure 4",
            "Long",
            "IOPS",
            times_s=[5, 10],
            series={"vm": [1.0, 2.0]},
            marks={"study": 3.0},
            phases={5.0: "idle", 0.0: "busy"},
        ),
    )

    timeline = timeline_of(replay)

    assert [figure.kind for figure in replay.figures[:2]] == [FigureKind.BARS, FigureKind.LINES]
    assert [panel.name for panel in timeline.panels] == ["figure 3", "figure 4"]
    assert timeline.duration_s == 10
    assert timeline.panels[0].series[0].values == (None, 2.0)
    assert [(phase.at_s, phase.label) for phase in timeline.panels[1].phases] == [
        (0.0, "busy"),
        (5.0, "idle"),
    ]
    assert timeline.panels[1].marks[0].value == 3.0


def test_experiment_in_which_nothing_changes_has_an_empty_timeline():
    timeline = timeline_of(replay_with())

    assert (timeline.duration_s, timeline.panels) == (0.0, ())
