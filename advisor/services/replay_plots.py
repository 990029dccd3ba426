"""Draw the figures of replays as SVG files, one per figure."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, assert_never

from advisor.core.replay.experiment import Replay
from advisor.core.replay.figure import Figure, FigureKind, Series
from advisor.errors import PlottingUnavailable

SIZE_INCHES = (9.0, 4.5)
BAR_GROUP_WIDTH = 0.8
LABELLED_BARS, LEVEL_LABELS = 24, 17
"""More bars than that have no numbers, or have them upright."""
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#000000")
"""Okabe and Ito's, told apart by those who do not see all colours alike."""
DASHES: tuple[Any, ...] = ("-", (0, (6, 1.5)), (0, (2, 1)))
"""For the next round of colours."""
MARK_COLOUR = "0.35"
MARK_DASHES: tuple[Any, ...] = ((0, (5, 3)), (0, (1, 2)), (0, (8, 2, 1, 2)))
HEADROOM, LOGARITHMIC_HEADROOM = 1.15, 2.0
"""How much higher than the highest value the scale goes, for what is written at the top."""


def check_plotting(directory: Path) -> None:
    """PlottingUnavailable if Matplotlib is not installed, or nothing can be written there."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise PlottingUnavailable(
            "figures need Matplotlib; install it with: pip install 'sluice[plot]'"
        ) from error
    del mpl
    probe = directory / ".sluice-replay"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise PlottingUnavailable(
            f"no figures can be written to {directory}: {error.strerror}"
        ) from error


def draw(replays: Sequence[Replay], directory: Path) -> list[Path]:
    """Write every figure as `<experiment>-<figure>.svg`; the same numbers give the same file.

    PlottingUnavailable as in `check_plotting`, or if a figure cannot be written.
    """
    check_plotting(directory)
    import matplotlib as mpl

    written = []
    # Identifiers inside an SVG are random unless salted; text stays text.
    with mpl.rc_context({"svg.hashsalt": "sluice", "svg.fonttype": "none"}):
        for replay in replays:
            for figure in replay.figures:
                path = directory / f"{replay.experiment}-{_file_name(figure.name)}.svg"
                try:
                    _canvas(figure, replay).savefig(path, metadata={"Date": None})
                except OSError as error:
                    raise PlottingUnavailable(
                        f"{path} cannot be written: {error.strerror}"
                    ) from error
                written.append(path)
    return written


def _file_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _canvas(figure: Figure, replay: Replay) -> Any:
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=SIZE_INCHES, layout="constrained")
    axes = canvas.subplots()
    match figure.kind:
        case FigureKind.BARS:
            _bars(axes, figure)
        case FigureKind.LINES:
            _lines(axes, figure)
            axes.set_xscale("log", base=2)
            axes.set_xticks(figure.x, [f"{place:g}" for place in figure.x])
        case FigureKind.OVER_TIME:
            _lines(axes, figure)
            axes.set_xlim(0, float(figure.x[-1]))
        case _:
            assert_never(figure.kind)
    _scale(axes, figure)
    _marks(axes, figure)
    _phases(axes, figure)
    study = replay.experiment.partition("-")[0]
    axes.set_title(
        f"{figure.title}\n{replay.experiment}, {replay.title}; study {study}, {figure.name}",
        fontsize="medium",
        loc="left",
    )
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label)
    axes.grid(axis="y", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
    return canvas


def _styled(figure: Figure) -> Iterator[tuple[Series, str, Any]]:
    """Every series with its colour and dashes; what is printed has those of ours before it."""
    place = -1
    for series in figure.series:
        place += not series.is_printed
        yield series, COLOURS[place % len(COLOURS)], DASHES[place // len(COLOURS) % len(DASHES)]


def _bars(axes: Any, figure: Figure) -> None:
    """Ours are filled, the study's hatched."""
    width = BAR_GROUP_WIDTH / len(figure.series)
    count = len(figure.series) * len(figure.x)
    is_crowded = count > LEVEL_LABELS
    for index, (series, colour, _) in enumerate(_styled(figure)):
        offset = (index - (len(figure.series) - 1) / 2) * width
        drawn = axes.bar(
            [place + offset for place in range(len(figure.x))],
            [0.0 if value is None else value for value in series.values],
            width=width,
            label=series.label,
            edgecolor=colour,
            **({"color": "white", "hatch": "////"} if series.is_printed else {"color": colour}),
        )
        if count <= LABELLED_BARS:
            axes.bar_label(
                drawn,
                [_label(value) for value in series.values],
                fontsize="x-small",
                padding=2,
                rotation=90 if is_crowded else 0,
            )
    axes.set_xticks(range(len(figure.x)), [str(place) for place in figure.x])


def _label(value: float | None) -> str:
    if value is None:
        return "none"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _lines(axes: Any, figure: Figure) -> None:
    """Ours are drawn in full, the study's as dots of the same colour."""
    marker = "o" if figure.kind is FigureKind.LINES else None
    for series, colour, dashes in _styled(figure):
        axes.plot(
            figure.x,
            [float("nan") if value is None else value for value in series.values],
            label=series.label,
            color=colour,
            linewidth=2.2 if series.is_printed else 1.2,
            linestyle=":" if series.is_printed else dashes,
            marker=marker,
        )


def _scale(axes: Any, figure: Figure) -> None:
    """From 0, with room at the top for what is written there."""
    if figure.is_logarithmic:
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_ylim(top=axes.get_ylim()[1] * LOGARITHMIC_HEADROOM)
        return
    values = [value for series in figure.series for value in series.values if value is not None]
    levels = [mark.value for mark in figure.marks]
    axes.set_ylim(0, max([*values, *levels], default=0.0) * HEADROOM or 1.0)


def _marks(axes: Any, figure: Figure) -> None:
    """Levels across the figure; what they are stands in the legend, where it hides no line."""
    for index, mark in enumerate(figure.marks):
        axes.axhline(
            mark.value,
            color=MARK_COLOUR,
            linestyle=MARK_DASHES[index % len(MARK_DASHES)],
            linewidth=1.1,
            label=f"{mark.label} {mark.value:g}",
        )


def _phases(axes: Any, figure: Figure) -> None:
    for phase in figure.phases:
        axes.axvline(phase.at_s, color="0.7", linewidth=1)
        axes.annotate(
            phase.label,
            (phase.at_s, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(3, -2),
            textcoords="offset points",
            va="top",
            color="0.2",
            fontsize="small",
        )
