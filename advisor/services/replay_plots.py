"""Draw the figures of replays as SVG files, one per figure."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, assert_never

from advisor.core.replay.experiment import Replay
from advisor.core.replay.figure import Figure, FigureKind
from advisor.errors import PlottingUnavailable

SIZE_INCHES = (9.0, 4.5)
BAR_GROUP_WIDTH = 0.8
FEW_SERIES = 10
LABELLED_BARS = 16


def draw(replays: Sequence[Replay], directory: Path) -> list[Path]:
    """Write every figure as `<experiment>-<figure>.svg`; the same numbers give the same file.

    PlottingUnavailable if Matplotlib is not installed, or the directory cannot be made.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise PlottingUnavailable(
            "figures need Matplotlib; install it with: pip install 'sluice[plot]'"
        ) from error
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PlottingUnavailable(f"{directory} cannot be made: {error.strerror}") from error
    written = []
    # Identifiers inside an SVG are random unless salted; text stays text.
    with mpl.rc_context({"svg.hashsalt": "sluice", "svg.fonttype": "none"}):
        for replay in replays:
            for figure in replay.figures:
                canvas = Canvas(figsize=SIZE_INCHES, layout="constrained")
                axes = canvas.subplots()
                axes.set_prop_cycle(color=mpl.color_sequences[_palette(figure)])
                _fill(axes, figure, replay.title)
                path = directory / f"{replay.experiment}-{_file_name(figure.name)}.svg"
                canvas.savefig(path, metadata={"Date": None})
                written.append(path)
    return written


def _palette(figure: Figure) -> str:
    """A Matplotlib palette with a colour for every series."""
    return "tab10" if len(figure.series) <= FEW_SERIES else "tab20"


def _file_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _fill(axes: Any, figure: Figure, title: str) -> None:
    match figure.kind:
        case FigureKind.BARS:
            _bars(axes, figure)
        case FigureKind.LINES:
            _lines(axes, figure)
            axes.set_xscale("log", base=2)
            axes.set_xticks(figure.x, [f"{place:g}" for place in figure.x])
        case FigureKind.OVER_TIME:
            _lines(axes, figure)
            _phases(axes, figure)
        case _:
            assert_never(figure.kind)
    for mark in figure.marks:
        axes.axhline(mark.value, color="0.4", linestyle="--", linewidth=1)
        axes.annotate(
            f"{mark.label} {mark.value:g}",
            (1.0, mark.value),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            color="0.3",
            fontsize="small",
        )
    axes.set_title(f"{figure.title}\n{title}, {figure.name}", fontsize="medium", loc="left")
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label)
    if figure.is_logarithmic:
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter("{x:g}")
    else:
        axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")


def _bars(axes: Any, figure: Figure) -> None:
    width = BAR_GROUP_WIDTH / len(figure.series)
    for index, series in enumerate(figure.series):
        offset = (index - (len(figure.series) - 1) / 2) * width
        places = [place + offset for place in range(len(figure.x))]
        heights = [0.0 if value is None else value for value in series.values]
        drawn = axes.bar(places, heights, width=width, label=series.label)
        if len(figure.series) * len(figure.x) <= LABELLED_BARS:
            axes.bar_label(drawn, [_label(value) for value in series.values], fontsize="x-small")
    axes.set_xticks(range(len(figure.x)), [str(place) for place in figure.x])


def _label(value: float | None) -> str:
    if value is None:
        return "none"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _lines(axes: Any, figure: Figure) -> None:
    marker = "o" if figure.kind is FigureKind.LINES else None
    for series in figure.series:
        values = [float("nan") if value is None else value for value in series.values]
        axes.plot(figure.x, values, label=series.label, linewidth=1.2, marker=marker)


def _phases(axes: Any, figure: Figure) -> None:
    for phase in figure.phases:
        axes.axvline(phase.at_s, color="0.8", linewidth=1)
        axes.annotate(
            phase.label,
            (phase.at_s, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, -2),
            textcoords="offset points",
            va="top",
            color="0.3",
            fontsize="small",
        )
